"""Columns, their kinds and domains, and the schema that declares them."""
