"""Domains, encoded tables, noisy marginals and exact counting."""
