"""Checks for plug-ins, the same that our own parts pass: each raises AssertionError that says what is wrong.

A plug-in's test needs one line for each of its parts:

Examples:
    >>> from syntabula import testing
    >>> from syntabula.select.fixed_marginals import OneWay
    >>> testing.check_selector(OneWay())
"""

from __future__ import annotations

from syntabula.testing.attacks import check_attack
from syntabula.testing.learners import check_model, check_selector
from syntabula.testing.record_models import check_record_model
from syntabula.testing.tables import check_discretizer, check_metric, check_synthesizer

__all__ = [
    "check_attack",
    "check_discretizer",
    "check_metric",
    "check_model",
    "check_record_model",
    "check_selector",
    "check_synthesizer",
]
