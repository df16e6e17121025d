"""The mathematics: vocabulary maps, priors, redistribution, acceptance."""
