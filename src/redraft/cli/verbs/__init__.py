"""One module a verb. Each has `register(app)`, or an `app` of its own where the verb has sub-verbs."""
