"""A genetic algorithm over the cells of a synthetic table."""

from syntabula.models.genetic.model import Genetic

__all__ = ["Genetic"]
