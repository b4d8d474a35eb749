"""Tuning: the options of a method that score best on validation rows.

`space` has what the options of a method declare that is tried, `presets` the spaces of SynMeter, `objective` what is
minimised, `search` the search, and `result` what it found.
"""
