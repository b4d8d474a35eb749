"""The membership inference game: was the target in the table that a synthetic one was made from?"""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from syntabula._arguments import Rule, count, even, path, several, with_method
from syntabula._memory import ran_out
from syntabula._planning import Progress
from syntabula._register import entries, load
from syntabula.attacks.base import Attack, Knowledge, Synthesizer
from syntabula.attacks.baselines import take_rows
from syntabula.attacks.bounds import CONFIDENCE
from syntabula.attacks.result import AttackResult, judge
from syntabula.attacks.shadows import Floats, drawn, fitted, identity_of, run_shadows, seeded, seeds_of
from syntabula.errors import ArgumentError, PrivateDomainError, SyntabulaError
from syntabula.metrics.comparison import View
from syntabula.metrics.features import Coordinates, nearest
from syntabula.table.draft import whole_schema
from syntabula.table.read import read
from syntabula.table.schema.schema import Schema, SchemaSource, as_schema
from syntabula.table.unit_rows import chosen_units

LEAST_SHADOWS = 8
_ATTACK = with_method("features", "the key of an attack, or an object with a method features")
_TARGET = Rule("'outlier' or the number of a row, counted from 0", count(0).or_word("outlier").read)


def list_attacks() -> dict[str, str]:
    """Return a one-sentence description of each attack by its key."""
    return {entry.key: entry.summary for entry in entries("attack")}


def attack(
    table: Any,
    synthesizer: Synthesizer,
    schema: SchemaSource | None = None,
    *,
    attacks: Sequence[str | Attack] = ("groundhog", "querybased"),
    target: int | Literal["outlier"] = "outlier",
    n_shadows: int = 200,
    n_records: int | None = None,
    n_synthetic: int | None = None,
    confidence: float = 0.95,
    workers: int = 1,
    folder: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, AttackResult]:
    """Attack a synthesizer: does a synthetic table reveal whether one record was present?

    Shadow models are fitted to the other records, every second one with the target added. Each attack is
    trained on half of their synthetic tables to tell the two apart, and evaluated on the other half (Stadler,
    Oprisanu, Troncoso 2022; settings of Ganev et al., "The Importance of Being Discrete", PS1, which fits 200
    shadow models of each sort and does not name the classifier: here a random forest of 200 trees). All attacks
    share the shadow models. The result is not private: it depends on the sensitive table.

    Args:
        table: Data frame, Arrow table or path of a file.
        synthesizer: Anything with `fit`, such as `syntabula.MST(epsilon=1.0)`. Its noise has a new seed for each
            shadow model, as this is an experiment.
        schema: Passed to the fits. Without one, each fit finds domains as the synthesizer is configured. If it names a
            unit, such as a person, the target is a unit: each shadow model has all of its rows, or none.
        attacks: Attacks, or keys as in `list_attacks`.
        target: Row of the record to attack, or "outlier" for the one furthest from all others. The unit that is attacked
            is that of this row.
        n_shadows: Number of shadow models of both sorts together, even and at least 8. It limits the epsilon
            that they can show: about 2.6 for 200, 5.6 for 4000.
        n_records: Number of other records (of other units, with all of their rows, if the schema names a unit) for each
            shadow model, drawn again each time; all if None, the setting that differential privacy protects against.
        n_synthetic: Rows of each synthetic table; the number of records if None.
        confidence: Probability that the lower bound on epsilon holds, for one attack.
        workers: Processes.
        folder: Where shadow models are kept, so that an interrupted run can resume; None keeps none. Its
            files are as sensitive as the table.
        seed: Seed of all random choices.
        progress: Called with the name of a step and the fraction done.

    Returns:
        The result of each attack, by its key.

    Raises:
        ArgumentError: If an argument is out of range, an attack cannot be mounted on the target, or the folder
            holds other results.
        DataError: If the table cannot be read.
        SchemaError: If the schema does not match the table.
        MissingExtraError: If scikit-learn is not installed.
    """
    n_shadows = even(LEAST_SHADOWS)("n_shadows", n_shadows)
    n_records = count().or_none("n_records", n_records)
    n_synthetic = count().or_none("n_synthetic", n_synthetic)
    confidence = CONFIDENCE("confidence", confidence)
    target = _TARGET("target", target)
    workers, folder = count()("workers", workers), path.or_none("folder", folder)
    seed = count(0)("seed", seed)
    synthesizer = with_method("fit", "an object with a method fit, such as syntabula.MST()")(
        "synthesizer", synthesizer
    )
    listed = several(f"some of {', '.join(list_attacks())}, or attacks of your own")("attacks", attacks)
    chosen = [load("attack", item)() if isinstance(item, str) else _ATTACK("attack", item) for item in listed]
    if not chosen or len({item.key for item in chosen}) < len(chosen):
        raise ArgumentError("attacks must name at least one attack, and none of them twice")
    declared = None if schema is None else as_schema(schema)
    raw = read(table, declared)
    kinds = whole_schema(raw, declared)
    knowledge = Knowledge(raw, kinds)
    row = _row(knowledge, target)
    knowledge = replace(knowledge, target=row)
    others = np.unique(knowledge.units).size - 1
    if n_records is not None and n_records > others:
        what = "records" if kinds.unit is None else "units"
        raise ArgumentError(
            f"n_records is {n_records}, more than the table's other {what}; name fewer, or none for all"
        )
    game = Game(
        knowledge=knowledge,
        schema=declared,
        synthesizer=synthesizer,
        attacks=tuple(chosen),
        n_records=others if n_records is None else n_records,
        n_synthetic=raw.n_rows if n_synthetic is None else n_synthetic,
        seed=seed,
    )
    lengths = game.lengths
    shadows = run_shadows(
        game,
        n_shadows,
        workers=workers,
        folder=folder,
        identity=game.identity,
        progress=progress,
    )
    # Ours state the budget of epsilon and delta there; others may have one of their own.
    budget = getattr(synthesizer, "whole_budget", getattr(synthesizer, "budget", None))
    features = np.split(shadows.values, np.cumsum(lengths)[:-1], axis=1)
    return {
        item.key: judge(
            item,
            part,
            np.arange(n_shadows) % 2 == 0,
            epsilon=None if budget is None else float(budget.epsilon),
            delta=0.0 if budget is None else float(budget.delta),
            confidence=confidence,
            seed=seed,
            seconds_per_shadow=float(np.median(shadows.seconds)),
            unit=kinds.unit,
        )
        for item, part in zip(chosen, features, strict=True)
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class Game:
    """One shadow model: called with its number, it returns the features of its synthetic table.

    Attributes:
        knowledge: The records and the target.
        schema: Passed to the fit.
        synthesizer: The synthesizer to attack.
        attacks: The attacks whose features to compute.
        n_records: Number of other records, or units, in the original.
        n_synthetic: Rows of the synthetic table.
        seed: Seed of all shadow models together.
    """

    knowledge: Knowledge
    schema: Schema | None
    synthesizer: Synthesizer
    attacks: tuple[Attack, ...]
    n_records: int
    n_synthetic: int
    seed: int

    def __call__(self, number: int) -> Floats:
        """Fit, sample and return the features of all attacks; even-numbered models include the target."""
        noise_seed, sample_seed, rng = seeds_of(self.seed, number)
        raw, rows = self.knowledge.raw, self.knowledge.other_rows
        if self.n_records < np.unique(self.knowledge.units[rows]).size:
            rows = chosen_units(self.n_records, rows, self.knowledge.units, rng)
        if number % 2 == 0:
            rows = np.append(rows, self.knowledge.target_rows)
        try:
            release = fitted(self.synthesizer, take_rows(raw, np.sort(rows)), self.schema, noise_seed)
        except PrivateDomainError:
            # A fit that fails because noise hid a domain is also an answer that the attacker sees.
            return np.zeros(sum(self.lengths))
        synthetic = self.knowledge.read(drawn(release, raw, self.n_synthetic, sample_seed))
        pairs = zip(self.attacks, self.lengths, strict=True)
        return np.concatenate([_features(item, synthetic, self.knowledge, n) for item, n in pairs])

    @cached_property
    def lengths(self) -> list[int]:
        """The number of features of each attack; raises ArgumentError if one cannot be mounted."""
        return [_features(item, self.knowledge.table, self.knowledge).size for item in self.attacks]

    def identity(self) -> str:
        """Return a digest of everything that the features depend on."""
        method = seeded(self.synthesizer, self.seed)
        settings = (self.knowledge.target, method, self.attacks, self.n_records, self.n_synthetic)
        return identity_of(self.knowledge.raw, self.schema, *settings, self.seed)


def _features(attack: Attack, synthetic: View, knowledge: Knowledge, length: int | None = None) -> Floats:
    """Return an attack's features of a table; refuses what is none.

    Args:
        attack: The attack.
        synthetic: The table.
        knowledge: What the attacker knows.
        length: How many features the attack has of other tables; None before that is known.

    Raises:
        ArgumentError: If the attack breaks, or returns something else than so many finite numbers.
    """
    try:
        found: Any = attack.features(synthetic, knowledge)
    except SyntabulaError:
        raise
    except Exception as error:
        if ran_out(error):
            raise
        # Its words may show a cell of the table.
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise ArgumentError(
            f"the attack {attack.key!r} broke with {type(error).__name__} at line {at.lineno} of {at.name}; repair it, "
            "and try it with syntabula.testing.check_attack"
        ) from None
    is_array = isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype.kind in "fiub"
    if not is_array or not found.size or not np.isfinite(found).all():
        raise ArgumentError(
            f"`features` of attack {attack.key!r} must return an array of finite numbers [features], at least one; "
            "repair it, and try it with syntabula.testing.check_attack"
        )
    if not attack.learns and found.size > 1:
        raise ArgumentError(
            f"`features` of attack {attack.key!r} returned {found.size} numbers, and one that does not learn must return "
            "a single one, larger if the target was there; set `learns = True` to have a classifier trained on them"
        )
    if length is not None and found.size != length:
        raise ArgumentError(
            f"`features` of attack {attack.key!r} returned {found.size} numbers of one table and {length} of another; "
            "return equally many of every table"
        )
    features: Floats = found.astype(np.float64)
    return features


def _row(knowledge: Knowledge, target: int | str) -> int:
    n_rows = knowledge.table.n_rows
    if np.unique(knowledge.units).size < 2:
        raise ArgumentError("the table needs at least one record besides the target's")
    if target == "outlier":
        # Records of the unit that has most of them have the fewest others.
        others = n_rows - int(np.bincount(knowledge.units).max())
        return int(outlier_scores(knowledge, n_neighbours=min(5, others)).argmax())
    if not isinstance(target, int) or target >= n_rows:
        raise ArgumentError(
            f"target is {target}, but the table has no such row; give the number of a row, counted from 0, or 'outlier'"
        )
    return target


def outlier_scores(knowledge: Knowledge, *, n_neighbours: int = 5) -> Floats:
    """Return how far each record is from the others, with columns scaled to 0 .. 1.

    The score of Meeus, Guepin, Cretu and de Montjoye ("Achilles' Heels", 2023): the mean distance to the
    nearest records; they use a cosine distance, here it is the Euclidean one of `Coordinates`. Other records of the same
    unit are no neighbours.

    Args:
        knowledge: The table.
        n_neighbours: Number of nearest other records.

    Returns:
        Scores [rows], larger for more vulnerable records.

    Raises:
        ArgumentError: If a record does not have `n_neighbours` others.
        MissingExtraError: If scikit-learn is not installed.
    """
    units = knowledge.units
    n_rows, most = knowledge.table.n_rows, int(np.bincount(units).max())
    if count()("n_neighbours", n_neighbours) > n_rows - most:
        raise ArgumentError(f"n_neighbours is {n_neighbours}; each record must have so many others")
    points = Coordinates(knowledge.bounds, knowledge.sizes).of(knowledge.table)
    means, rows, searched = np.zeros(n_rows), np.arange(n_rows), n_neighbours + 1
    while rows.size:
        # Few records have more of their own unit nearby than others: only those are searched further.
        searched = min(searched, n_rows)
        distances, found = nearest(points[rows], points, searched)
        others = units[found] != units[rows, None]
        enough = others.sum(axis=1) >= n_neighbours
        first = others & (others.cumsum(axis=1) <= n_neighbours)
        means[rows[enough]] = np.where(first, distances, 0)[enough].sum(axis=1) / n_neighbours
        rows, searched = rows[~enough], 4 * searched
    return means
