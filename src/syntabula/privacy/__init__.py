"""The only room where noise is drawn and where exact counts are seen."""
