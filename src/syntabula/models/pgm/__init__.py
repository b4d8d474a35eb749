"""Private-PGM: a factor graph over a junction tree."""
