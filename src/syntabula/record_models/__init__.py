"""Models that are trained on records; they see them through a door of `privacy` alone."""
