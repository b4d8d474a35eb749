"""One run of a study: everything that its result depends on, and the key that hashes it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

from syntabula.bench.candidate import Binning, binning_of

_KEY_LENGTH = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """A method on a table at a budget, with one binning and one seed; see `Study` for the other attributes.

    Two cells are equal if their keys are: the label is only a name.

    Attributes:
        dataset: Name of the table or path of its file, and "@" with a number of rows if not all are taken.
        method: Method, pair, table of known quality or peer.
        label: Name of the row that it belongs to.
        options: Options of the method, those of its preset included.
        epsilon: Budget; infinity for none.
        seed: Seed of noise and rows.
        task_options: Options of the task.
        content: Digest of the file of rows; empty for a named table.
    """

    task: str
    dataset: str
    split: str
    method: str
    label: str
    options: Mapping[str, Any] = field(default_factory=dict)
    binning: Binning = field(default_factory=Binning)
    epsilon: float = 1.0
    delta: float = 1e-5
    seed: int = 0
    scores: tuple[str, ...] = ()
    score_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    against: tuple[str, ...] = ()
    target: str | None = None
    overall: str = ""
    task_options: Mapping[str, Any] = field(default_factory=dict)
    content: str = ""

    @cached_property
    def key(self) -> str:
        """Hash of everything that the result depends on, in hexadecimal digits."""
        return _hash(self.to_json())

    @cached_property
    def question(self) -> str:
        """Hash of what is asked, whatever the file of rows holds; the key itself for a named table."""
        return _hash({name: value for name, value in self.to_json().items() if name != "content"})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and (self.key, self.label) == (other.key, other.label)

    def __hash__(self) -> int:
        # Studies have thousands of cells; their keys are made only where these facts are the same.
        return hash((self.dataset, self.label, self.epsilon, self.seed, self.binning.label))

    def to_json(self) -> dict[str, Any]:
        """Return the fields as values of JSON."""
        facts = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        # Keys of named tables are those of stores that were written before files had digests.
        return facts if self.content else {k: v for k, v in facts.items() if k != "content"}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Cell:
        """Return the cell that `to_json` wrote; raises KeyError or TypeError for something else."""
        given = dict(facts)
        given |= {name: tuple(given[name]) for name in ("scores", "against")}
        given["binning"], given["epsilon"] = binning_of(given["binning"]), float(given["epsilon"])
        return cls(**given)


def _hash(facts: Mapping[str, Any]) -> str:
    written = json.dumps(
        {name: value for name, value in facts.items() if name != "label"},
        sort_keys=True,
        ensure_ascii=True,
        allow_nan=False,
    )
    return hashlib.sha256(written.encode()).hexdigest()[:_KEY_LENGTH]


def plain(value: Any) -> Any:
    """Return a value with types of JSON only; an infinite number becomes "inf"."""
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, Binning):
        return value.to_json()
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, float):
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return None if math.isnan(value) else value
    return value if isinstance(value, str | int | bool | None) else str(value)


def n_cells(n: int, kind: str = "", verb: tuple[str, str] = ("", "")) -> str:
    """Return how many cells there are in words, such as "1 cell is"; kind and verb are words of the caller."""
    return f"{n:,} {kind}{('cells', 'cell')[n == 1]}{verb[n != 1]}"
