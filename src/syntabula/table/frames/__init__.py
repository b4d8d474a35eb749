"""Data frames in and out."""
