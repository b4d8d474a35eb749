"""Schemas, reading and writing of tables, and the codec between values and codes."""
