"""The named systems."""
