"""Models: the distributions that a release samples from, fitted to noisy marginals."""
