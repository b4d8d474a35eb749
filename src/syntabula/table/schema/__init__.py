"""Kinds of columns, their domains, and the schema that declares them."""
