"""Foundations that every layer may use: errors, tensor specifications, randomness, digests, atomic files."""
