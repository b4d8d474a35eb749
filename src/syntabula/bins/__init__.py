"""Bins of numbers and times: pure geometry, without data."""
