"""Private-PGM: a factor graph over a junction tree."""

from syntabula.models.pgm.junction_tree import junction_tree_memory_mb
from syntabula.models.pgm.model import PGM

__all__ = ["PGM", "junction_tree_memory_mb"]
