"""What all models store alike: their domain, their options and the estimated number of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from syntabula.errors import ReleaseFileError
from syntabula.marginals.domain import Domain
from syntabula.models.base import MarginalModel

_MOST_RECORDS = 1e18


def stored_facts(model: MarginalModel) -> dict[str, Any]:
    """Return the domain, the estimated number of records and the options of a dataclass of a model."""
    return {
        "columns": list(model.domain.columns),
        "sizes": list(model.domain.sizes),
        "total": model.total,
        **{name: getattr(model, name) for name in _options(type(model))},
    }


def read_facts(kind: type, facts: Mapping[str, Any]) -> tuple[Domain, float, dict[str, Any]]:
    """Return the same of facts that were read from a file.

    Raises:
        KeyError, TypeError, ValueError: If some are missing or wrong.
    """
    domain, total = Domain(tuple(facts["columns"]), tuple(facts["sizes"])), float(facts["total"])
    if not 0 < total < _MOST_RECORDS:
        raise ValueError("no number of records")
    return domain, total, {name: facts[name] for name in _options(kind)}


@contextmanager
def whole_model() -> Iterator[None]:
    """Raise ReleaseFileError, which tells nothing of the contents, where parts of a stored model do not fit together."""
    try:
        yield
    except (KeyError, TypeError, ValueError):
        raise ReleaseFileError("the model in this file is incomplete or inconsistent") from None


def _options(kind: type) -> list[str]:
    """Return the names of a model's public fields: all others are its state."""
    return [field.name for field in fields(kind) if not field.name.startswith("_")]
