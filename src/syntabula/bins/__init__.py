"""Bins of numbers and times: geometry that looks at no data."""
