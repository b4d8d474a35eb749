"""What tells one run from another: a fingerprint for each option and each declared column, by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from syntabula._version import __version__
from syntabula.privacy.budget import Budget
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.resume import fingerprint
from syntabula.table.schema.schema import Schema


def run_facts(
    method: str,
    budget: Budget,
    noise: NoiseSource,
    seed: int | None,
    options: Mapping[str, object],
    schema: Schema | None,
) -> dict[str, str]:
    """Return what tells a run from others before it asks for anything; spends tell the rest."""
    said = {
        "version": __version__,
        "method": method,
        "budget": json.dumps(budget.to_json(), sort_keys=True),
        "noise": noise.name,
        "seed": str(seed),
    }
    return said | _option_facts(options) | _schema_facts(schema)


def _option_facts(options: Mapping[str, object]) -> dict[str, str]:
    """Return fingerprints of options; those of an option that is a dataclass, such as a model, one by one.

    Objects without a lasting repr of their own make each run another one.
    """
    return {f"option {name}": text for name, value in options.items() for name, text in _facts(name, value)}


def _schema_facts(schema: Schema | None) -> dict[str, str]:
    """Return fingerprints of the declarations of columns, of their order and of what is to be found; None: all."""
    if schema is None:
        return {"schema": "to be found"}
    declared = schema.to_json()["columns"]
    columns = {f"declaration of column {name!r}": fingerprint(text) for name, text in declared.items()}
    found = {} if schema.others is None else {"domain of other columns": "to be found"}
    return columns | {"schema": fingerprint([*schema.columns, schema.label])} | found


def _facts(name: str, value: object) -> list[tuple[str, str]]:
    if is_dataclass(value) and not isinstance(value, type):
        inner = [_facts(f"{name}.{f.name}", getattr(value, f.name)) for f in fields(value)]
        return [(name, fingerprint(type(value).__qualname__)), *(fact for facts in inner for fact in facts)]
    # The text of a long array leaves out its middle.
    shown = value if isinstance(value, np.ndarray) else repr(value)
    return [(name, fingerprint([type(value).__qualname__, shown]))]
