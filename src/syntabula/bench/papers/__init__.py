"""Studies by name: every numbered table and figure of the papers, why some are not run, and our own."""
