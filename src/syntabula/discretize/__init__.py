"""From raw columns to bins and merged categories."""
