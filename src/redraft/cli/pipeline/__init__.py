"""From a recipe to a bundle: small steps, each skipped while its inputs stay the same."""
