"""The battery that our own parts pass, for plug-ins: each check raises AssertionError with what does not hold.

A plug-in's test is one line for each of its parts:

Examples:
    >>> from syntabula import testing
    >>> from syntabula.select.fixed_marginals import OneWay
    >>> testing.check_selector(OneWay())
"""

from __future__ import annotations

from syntabula.testing.learners import check_model, check_selector
from syntabula.testing.tables import check_discretizer, check_metric, check_synthesizer

__all__ = ["check_discretizer", "check_metric", "check_model", "check_selector", "check_synthesizer"]
