"""Soft rows made by a neural network."""

from syntabula.models.neural.model import NeuralRows

__all__ = ["NeuralRows"]
