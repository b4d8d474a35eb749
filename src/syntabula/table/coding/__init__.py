"""Encoding of values as codes, and decoding."""
