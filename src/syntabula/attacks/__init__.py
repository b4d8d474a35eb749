"""Attacks on synthesizers: whether a synthetic table reveals who was in the original.

The results of an attack on a sensitive table are not private: protect them like the table.

Examples:
    >>> import syntabula
    >>> from syntabula import attacks
    >>> frame = syntabula.datasets.census(n_rows=60)
    >>> schema = syntabula.datasets.schema_of("census")
    >>> found = attacks.attack(frame, attacks.Self(), schema, n_shadows=40)
    >>> found["querybased"].auc
    1.0
"""

from __future__ import annotations

from syntabula.attacks.base import Attack, Fitted, Knowledge, Synthesizer
from syntabula.attacks.baselines import BASELINES, Half, Histogram, Self
from syntabula.attacks.bounds import auc_ceiling, epsilon_lower_bound
from syntabula.attacks.disclosure import membership_disclosure, record_disclosures
from syntabula.attacks.groundhog import GroundHog
from syntabula.attacks.membership import attack, list_attacks, outlier_scores
from syntabula.attacks.querybased import QueryBased
from syntabula.attacks.result import AttackResult
from syntabula.attacks.value_range import ValueRange

__all__ = [
    "BASELINES",
    "Attack",
    "AttackResult",
    "Fitted",
    "GroundHog",
    "Half",
    "Histogram",
    "Knowledge",
    "QueryBased",
    "Self",
    "Synthesizer",
    "ValueRange",
    "attack",
    "auc_ceiling",
    "epsilon_lower_bound",
    "list_attacks",
    "membership_disclosure",
    "outlier_scores",
    "record_disclosures",
]
