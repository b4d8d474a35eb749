"""Every public constructor, field by field: numbers of any type work, and anything else is refused by its name.

The fields are read off the classes, so that a new selector, model, metric or method is tested without a word here.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

import syntabula as st
from syntabula._register import entries, load
from syntabula.attacks import GroundHog, Half, QueryBased
from syntabula.errors import SyntabulaError
from syntabula.prepare.privtree import PrivTreeBins
from syntabula.record_models.adversarial import Adversarial
from syntabula.record_models.autoregressive import Autoregressive
from syntabula.record_models.circuit import Circuit
from syntabula.record_models.loop import Training
from syntabula.record_models.tabular_diffusion import TabularDiffusion
from syntabula.record_models.variational import Variational
from syntabula.select.automatic import Automatic

# What a class cannot be made without.
NEEDED: dict[type, dict[str, Any]] = {
    st.Numeric: {"lower": 0, "upper": 9},
    st.Categorical: {"categories": ("a", "b")},
    st.Date: {"lower": np.datetime64("2024-01-01"), "upper": np.datetime64("2024-12-31")},
    st.Datetime: {"lower": np.datetime64("2024-01-01T00"), "upper": np.datetime64("2024-12-31T00")},
    st.Boolean: {},
    st.Time: {},
    st.Identifier: {},
    st.ARGN: {"epsilon": math.inf},
    st.TabDDPM: {"epsilon": math.inf},
    TabularDiffusion: {},
    st.GReaT: {"epsilon": math.inf},
    st.TVAE: {"epsilon": math.inf},
    st.CTGAN: {"epsilon": math.inf},
    st.Synthpop: {"epsilon": math.inf},
    Autoregressive: {},
    Adversarial: {},
    Variational: {},
    st.Circuit: {"epsilon": math.inf},
    Circuit: {},
    Training: {},
    st.Marginal: {"selector": "spanning_tree", "model": "pgm"},
}
# Fields that are looked at only beside another one.
BESIDE = {
    ("Numeric", "decimals"): {"lower": 0.0, "upper": 9.0},
    ("Categorical", "other_label"): {"open": True},
}
GOOD: dict[str, Any] = {"count": 4, "lower": 1, "upper": 8, "theta": 0.5, "one_way_share": 0.25}


def public_classes() -> list[type]:
    grid = [load(kind, entry.key) for kind in ("selector", "model") for entry in entries(kind)]
    methods = [st.synthesizer(info.key) for info in st.list_synthesizers()]
    metrics = {type(info.make()) for info in st.list_metrics()}
    own = [Automatic, PrivTreeBins, st.Preprocessing, st.RareCategories, GroundHog, QueryBased, Half]
    return [
        *dict.fromkeys([*grid, *methods, *own, *NEEDED, *sorted(metrics, key=lambda kind: kind.__name__)])
    ]


def differing_classes() -> list[type]:
    """Return the classes without those whose checks are another's, and whose fields are too."""
    seen: set[tuple[type, str]] = set()
    chosen = []
    for kind in public_classes():
        checker = next((base for base in kind.__mro__ if "__post_init__" in vars(base)), kind)
        checked = {(checker, field.name) for field in fields(kind)}
        if not checked <= seen:
            chosen.append(kind)
        seen |= checked
    return chosen


def public_fields() -> Iterator[tuple[type, str, set[type]]]:
    """Yield each class, the name of each of its fields that takes plain values, and the types of these."""
    for kind in differing_classes():
        hints = get_type_hints(kind)
        for field in fields(kind):
            types = {*get_args(hints[field.name])} or {hints[field.name]}
            if field.init and not field.name.startswith("_") and field.name not in ("key", "needs_count"):
                yield kind, field.name, types


FIELDS = {f"{kind.__name__}.{name}": (kind, name, types) for kind, name, types in public_fields()}
# A budget says no more than what it read; `test_budget` has its numbers.
NUMBERS = {
    key: field
    for key, field in FIELDS.items()
    if field[2] & {int, float, Fraction} and not key.endswith((".epsilon", ".delta", "other_label"))
}
FLAGS = {key: field for key, field in FIELDS.items() if bool in field[2] and "other_label" not in key}
OTHERS = {key: field for key, field in FIELDS.items() if key not in NUMBERS and key not in FLAGS}

# Nothing of this is a number, a flag, or None.
NEVER = (
    math.nan,
    np.float32("nan"),
    Decimal("NaN"),
    "odd-7731",
    b"3",
    3j,
    [],
    {},
    np.array([1, 2]),
    object(),
)


def made(kind: type, **given: Any) -> Any:
    beside = BESIDE.get((kind.__name__, next(iter(given), "")), {})
    return kind(**(NEEDED.get(kind, {}) | beside | given))


def good(kind: type, name: str) -> Any:
    """Return a value that a field takes."""
    value = getattr(made(kind), name)
    return value if isinstance(value, int | float | Fraction) else GOOD.get(name, 4)


def twins(value: Any) -> list[Any]:
    """Return the same number as numpy, decimals and fractions have it."""
    if isinstance(value, int):
        return [np.int64(value), np.uint64(value)]
    number = float(value)
    return [number, np.float64(number), np.longdouble(number), Decimal(number), Fraction(number)]


def test_numbers_of_any_type_are_kept_as_pythons_own():
    for kind, name, _ in NUMBERS.values():
        plain = good(kind, name)
        expected = getattr(made(kind, **{name: plain}), name)

        for twin in twins(plain):
            kept = getattr(made(kind, **{name: twin}), name)

            assert type(kept) in (int, float, Fraction), (kind, name, twin, kept)
            assert math.isclose(kept, expected, rel_tol=1e-15), (kind, name, twin, kept)


@pytest.mark.thorough
def test_what_is_no_number_is_refused_by_the_name_of_its_field():
    for kind, name, types in NUMBERS.values():
        texts = {"auto"} if "auto" in {text for t in types for text in get_args(t)} else set()

        for value in (True, np.True_, *NEVER, *([] if NoneType in types else [None])):
            if isinstance(value, str) and value in texts:
                continue
            if isinstance(value, list) and name == "workload":
                continue
            with pytest.raises(SyntabulaError) as caught:
                made(kind, **{name: value})
            assert name in str(caught.value), (kind, value)
            assert "array(" not in str(caught.value), (kind, name)


@pytest.mark.thorough
def test_flags_are_true_or_false_of_python_or_numpy():
    for kind, name, types in FLAGS.values():
        # What else a flag needs to be made, such as the journal of a run that is resumed.
        beside = {"journal": "spends.journal"} if name == "resume" else {}
        beside |= {"lower": 0, "upper": 9} if kind is st.Numeric else {}

        for value in (np.True_, np.False_):
            assert getattr(made(kind, **{name: value}, **beside), name) is bool(value)
        for value in (0, 1, "true", *NEVER, *([] if NoneType in types else [None])):
            with pytest.raises(SyntabulaError) as caught:
                made(kind, **{name: value}, **beside)
            assert name in str(caught.value), (kind, value)


@pytest.mark.thorough
def test_no_field_takes_an_object_that_means_nothing():
    for kind, name, _ in OTHERS.values():
        for value in (object(), 3j, np.array([[1.5, 2.5]])):
            with pytest.raises(SyntabulaError) as caught:
                made(kind, **{name: value})
            assert "array(" not in str(caught.value), (kind, name)
            assert "object at" not in str(caught.value), (kind, name)


def test_all_public_classes_are_here():
    names = {kind.__name__ for kind in public_classes()}
    exported = {
        name
        for name in st.__all__
        if inspect.isclass(getattr(st, name)) and hasattr(getattr(st, name), "__dataclass_fields__")
    }
    # Results and facts, which the library makes, and what has a file of tests of its own.
    results = {
        "Choice",
        "Entry",
        "Objective",
        "Range",
        "Rules",
        "Synthesizer",
        "Budget",
        "Schema",
        "Release",
        "Report",
        "Evaluation",
        "Plan",
        "PrivacyStatement",
        "MethodInfo",
        "PartInfo",
    }

    assert exported - results <= names
    assert len(NUMBERS) > 100
