"""Schemas, tables in and out, and the codec between values and codes."""
