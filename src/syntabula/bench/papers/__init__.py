"""The studies of the papers: every numbered table and figure, and why some of them are not run."""
