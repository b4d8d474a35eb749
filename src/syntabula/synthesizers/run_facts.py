"""What identifies a run in its journal before its first spend: the method, its options and the declared columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from syntabula._version import __version__
from syntabula.privacy.budget import Budget
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.resume import fingerprint
from syntabula.synthesizers.plan import unit_of
from syntabula.synthesizers.settings import Settings
from syntabula.table.schema.schema import Schema

_WHERE_IT_COMPUTES = ("device", "threads")
"""Options of parts with which another machine, or the processor of the same one, may go on with a run. What was paid for
stays as it was; what is computed from then on may be rounded otherwise."""


def run_facts(method: Settings, budget: Budget, noise: NoiseSource, schema: Schema | None) -> dict[str, str]:
    """Return facts that identify a run before its first spend; the spends identify the rest.

    Each option and declared column has its own fingerprint, so that a message can name those that differ.
    """
    said = {
        "version": __version__,
        "method": method.name,
        "budget": json.dumps(budget.to_json(), sort_keys=True),
        "noise": noise.name,
        "seed": str(method.seed),
    }
    options = {f.name: getattr(method, f.name) for f in fields(method) if f.name not in _HOW_A_RUN_GOES}
    return said | _option_facts(options) | _schema_facts(schema)


_HOW_A_RUN_GOES = {
    "epsilon", "delta", "budget", "seed", "noise", "allow_observed", "memory_mb", "workers", "journal", "resume",
    "progress",
}  # fmt: skip
"""Fields of every method that do not change what is asked of the table, or that a run states in plain text."""


def _option_facts(options: Mapping[str, object]) -> dict[str, str]:
    """Return fingerprints of options; for an option that is a dataclass, such as a model, one for each field.

    An object without a stable repr makes every run look different.
    """
    return {f"option {name}": text for name, value in options.items() for name, text in _facts(name, value)}


def _schema_facts(schema: Schema | None) -> dict[str, str]:
    """Return fingerprints of the declared columns, their order and what is to be found; everything if None."""
    if schema is None:
        return {"schema": "to be found"}
    declared = schema.to_json()["columns"]
    columns = {f"declaration of column {name!r}": fingerprint(text) for name, text in declared.items()}
    found = {} if schema.others is None else {"domain of other columns": "to be found"}
    rules = {} if schema.rules is None else {"rules of the schema": fingerprint(schema.rules.to_json())}
    unit = {"unit": fact} if (fact := unit_of(schema).fact) else {}
    return columns | {"schema": fingerprint([*schema.columns, schema.label])} | found | rules | unit


def _facts(name: str, value: object) -> list[tuple[str, str]]:
    if is_dataclass(value) and not isinstance(value, type):
        told = [f.name for f in fields(value) if f.name not in _WHERE_IT_COMPUTES]
        inner = [_facts(f"{name}.{field}", getattr(value, field)) for field in told]
        return [(name, fingerprint(type(value).__qualname__)), *(fact for facts in inner for fact in facts)]
    # The repr of a long array omits its middle.
    shown = value if isinstance(value, np.ndarray) else repr(value)
    return [(name, fingerprint([type(value).__qualname__, shown]))]
