"""Domains, cliques, measurements and exact counting."""
