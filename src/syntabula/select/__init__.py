"""Selectors, which decide which marginals to measure."""
