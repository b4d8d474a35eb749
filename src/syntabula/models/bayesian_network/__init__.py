"""A Bayesian network fitted to noisy marginals."""

from __future__ import annotations

from syntabula.models.bayesian_network.model import BayesianNetwork as BayesianNetwork

__all__ = ["BayesianNetwork"]
