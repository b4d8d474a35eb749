"""Exact statistics of which a record moves no part by more than is stated."""
