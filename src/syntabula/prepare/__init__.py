"""Everything that spends budget on raw columns before codes are counted."""
