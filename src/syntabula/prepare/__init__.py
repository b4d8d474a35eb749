"""The steps that spend budget on raw columns before codes are counted."""
