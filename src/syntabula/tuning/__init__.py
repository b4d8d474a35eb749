"""Tuning: the options of a method that score best on validation rows.

`space` has the values that an option may take, `presets` the spaces of our methods and of SynMeter, `objective` what is
minimised, `search` the search, and `result` what it found.
"""
