"""Utility: how well models trained on the synthetic table predict real records."""
