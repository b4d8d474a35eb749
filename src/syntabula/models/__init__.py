"""Distributions that releases sample: fitted to noisy marginals, or seen through a recoding."""
