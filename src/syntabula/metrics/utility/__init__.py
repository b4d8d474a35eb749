"""Utility: what models that learned from the synthetic table are worth on real records."""
