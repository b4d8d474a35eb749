"""Membership disclosure: how much nearer synthetic records are to a record that was in the original."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from syntabula._arguments import count, even, with_method
from syntabula._planning import Progress
from syntabula.attacks.base import Knowledge, Synthesizer
from syntabula.attacks.baselines import BASELINES, take_rows
from syntabula.attacks.shadows import STEP, Floats, drawn, fitted, identity_of, run_shadows, seeded, seeds_of
from syntabula.errors import ArgumentError
from syntabula.metrics.features import Coordinates
from syntabula.metrics.score import Baseline, Score
from syntabula.table.draft import whole_schema
from syntabula.table.raw import RawTable
from syntabula.table.read import read
from syntabula.table.schema.schema import Schema, SchemaSource, as_schema

_ASSIGNMENTS = 20
"""Random ones, over which the score by chance is a mean."""


def membership_disclosure(
    table: Any,
    synthesizer: Synthesizer,
    schema: SchemaSource | None = None,
    *,
    n_shadows: int = 20,
    n_draws: int = 10,
    max_records: int | None = None,
    workers: int = 1,
    folder: str | os.PathLike[str] | None = None,
    seed: int = 0,
    baselines: bool = True,
    progress: Progress | None = None,
) -> Score:
    """Return the membership disclosure score of a synthesizer, MDS (Du and Li, SynMeter, Section 4.2).

    Shadow models are fitted to random halves of the table such that every record is in exactly half of them.
    A record's disclosure is |mean closeness with it - mean closeness without it|, where closeness is the
    distance to the nearest synthetic record; the score is the largest disclosure of any record. A synthesizer
    that ignores its data has a score of zero up to chance: with few shadow models the largest difference of
    many records is well above zero. What chance alone makes of it is the fact `by_chance`: the score of the same
    synthetic tables if the halves are assigned to them at random. The score is not private: protect it like the
    table.

    Where the paper's formula and the authors' code differ (the formula takes the distance between nearest
    points, the code the difference of distances), this follows the code, which produced the printed figures;
    see `Coordinates` for the distance. The paper fits 80 shadow models; the code fits 20, and draws 100 tables
    from each.

    If the schema names a unit, such as a person, halves are of units, with all of their rows; the disclosure of a unit
    is the largest of its records', and the mean and the percentile are over units.

    Args:
        table: Data frame, Arrow table or path of a file; repeated records (of the same unit) are dropped first.
        synthesizer: Anything with `fit`.
        schema: Passed to the fits.
        n_shadows: Number of shadow models, even.
        n_draws: Synthetic tables per shadow model, each as large as its half; closeness is averaged over them.
        max_records: Most records to score, drawn at random if there are more; shadow models are always
            fitted to all. Time grows with the records times the synthetic ones, so a long table needs this;
            the largest of fewer records is smaller. None for all.
        workers: Processes.
        folder: Where shadow models are kept, so that an interrupted run can resume.
        seed: Seed of all random choices.
        baselines: Whether to compute the score of SELF, HALF and HISTOGRAM too. HALF returns half of the
            records it was given.
        progress: Called with the name of a step and the fraction done.

    Returns:
        The score; its facts include the mean and the 99th percentile over records, the standard error of
        the largest over shadow models (0 for two models, which cannot show it), which says nothing of the chance by
        which that record is the largest, and the score by chance.

    Raises:
        ArgumentError: If a number is out of range, or the folder holds other results.
        DataError: If the table cannot be read.
        SchemaError: If the schema does not match the table.
        MissingExtraError: If scikit-learn is not installed.
    """
    game = _game(table, synthesizer, schema, n_shadows, n_draws, seed, max_records)
    found = _disclosures(game, workers, folder, progress)
    records, units = found.records, game.largest_of_units(found.records)
    scale: dict[Baseline, float] = {}
    if baselines:
        names: tuple[Baseline, ...] = ("SELF", "HALF", "HISTOGRAM")
        for name in names:
            known = replace(game, synthesizer=BASELINES[name]())
            scale[name] = float(_disclosures(known, workers, None, _named(progress, name)).records.max())
    return Score(
        metric="mds",
        value=float(records.max()),
        direction="lower",
        facts={
            "shadows": n_shadows,
            "draws": n_draws,
            "records": records.size,
            **({} if game.knowledge.kinds.unit is None else {"units": units.size}),
            "mean": float(units.mean()),
            "percentile_99": float(np.percentile(units, 99)),
            "standard_error": float(found.errors[records.argmax()]),
            "by_chance": found.by_chance,
            "seconds_per_shadow": found.seconds,
        },
        baselines=scale,
    )


def record_disclosures(
    table: Any,
    synthesizer: Synthesizer,
    schema: SchemaSource | None = None,
    *,
    n_shadows: int = 20,
    n_draws: int = 10,
    max_records: int | None = None,
    workers: int = 1,
    folder: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Floats:
    """Return the disclosure of every distinct record, or of `max_records`, in the order of first occurrence.

    Arguments and errors are those of `membership_disclosure`.
    """
    game = _game(table, synthesizer, schema, n_shadows, n_draws, seed, max_records)
    return _disclosures(game, workers, folder, progress).records


@dataclass(frozen=True, kw_only=True, eq=False)
class DisclosureGame:
    """One shadow model: called with its number, it returns the closeness of each scored record.

    Attributes:
        knowledge: The distinct records.
        schema: Passed to the fit.
        synthesizer: The synthesizer to score.
        n_shadows: Number of shadow models.
        n_draws: Synthetic tables per shadow model.
        max_records: Most records to score; None for all.
        seed: Seed of all shadow models together.
    """

    knowledge: Knowledge
    schema: Schema | None
    synthesizer: Synthesizer
    n_shadows: int
    n_draws: int
    max_records: int | None
    seed: int

    def members(self) -> Any:
        """Return which record is in which shadow model [shadows, records]; each unit is in exactly half."""
        rng = np.random.default_rng([self.seed, self.n_shadows])
        units = self.knowledge.units
        ranks = rng.random((self.n_shadows, int(units.max()) + 1)).argsort(axis=0)
        return (ranks < self.n_shadows // 2)[:, units]

    def largest_of_units(self, disclosures: Floats) -> Floats:
        """Return the largest disclosure [units] of the scored records of each unit."""
        found, places = np.unique(self.knowledge.units[self.scored()], return_inverse=True)
        largest = np.zeros(found.size)
        np.maximum.at(largest, places, disclosures)
        return largest

    def scored(self) -> Any:
        """Return the rows of the scored records [records], ascending."""
        n_rows = self.knowledge.table.n_rows
        if self.max_records is None or self.max_records >= n_rows:
            return np.arange(n_rows)
        rng = np.random.default_rng([self.seed, self.n_shadows, self.max_records])
        return np.sort(rng.choice(n_rows, size=self.max_records, replace=False))

    def __call__(self, number: int) -> Floats:
        """Fit, sample and return the mean distance of each record to the nearest synthetic one [records]."""
        noise_seed, sample_seed, _ = seeds_of(self.seed, number)
        raw, rows = self.knowledge.raw, np.flatnonzero(self.members()[number])
        release = fitted(self.synthesizer, take_rows(raw, rows), self.schema, noise_seed)
        axes = Coordinates(self.knowledge.bounds, self.knowledge.sizes)
        records = self.knowledge.table.take(self.scored())
        closeness = np.zeros(records.n_rows)
        for draw in range(self.n_draws):
            synthetic = drawn(release, raw, rows.size, (sample_seed + draw) % 2**32)
            closeness += axes.nearest(records, self.knowledge.read(synthetic))
        return closeness / self.n_draws

    def identity(self) -> str:
        """Return a digest of everything that closeness depends on."""
        chosen = () if self.max_records is None else (self.max_records,)
        settings = (seeded(self.synthesizer, self.seed), self.n_shadows, self.n_draws, self.seed, *chosen)
        return identity_of(self.knowledge.raw, self.schema, *settings)


def _game(
    table: Any,
    synthesizer: Synthesizer,
    schema: SchemaSource | None,
    n_shadows: int,
    n_draws: int,
    seed: int,
    max_records: int | None = None,
) -> DisclosureGame:
    n_shadows, n_draws = even(2)("n_shadows", n_shadows), count()("n_draws", n_draws)
    synthesizer = with_method("fit", "an object with a method fit, such as syntabula.MST()")(
        "synthesizer", synthesizer
    )
    max_records, seed = count().or_none("max_records", max_records), count(0)("seed", seed)
    declared = None if schema is None else as_schema(schema)
    raw = read(table, declared)
    kinds = whole_schema(raw, declared)
    knowledge = Knowledge(_distinct(Knowledge(raw, kinds)), kinds)
    game = DisclosureGame(
        knowledge=knowledge,
        schema=declared,
        synthesizer=synthesizer,
        n_shadows=n_shadows,
        n_draws=n_draws,
        max_records=max_records,
        seed=seed,
    )
    if not game.members().any(axis=1).all():
        raise ArgumentError("the table has too few records: a random half of it would be empty")
    return game


@dataclass(frozen=True, kw_only=True, eq=False)
class _Disclosures:
    """What shadow models say of records.

    Attributes:
        records: Disclosure of each [records].
        errors: Its standard error over shadow models [records].
        by_chance: The largest disclosure if halves are assigned to shadow models at random.
        seconds: Per shadow model.
    """

    records: Floats
    errors: Floats
    by_chance: float
    seconds: float


def _disclosures(
    game: DisclosureGame,
    workers: int,
    folder: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> _Disclosures:
    shadows = run_shadows(
        game, game.n_shadows, workers=workers, folder=folder, identity=game.identity, progress=progress
    )
    members, half = game.members()[:, game.scored()], game.n_shadows / 2
    squares = [np.square(v - _mean(v, c)) for v, c in ((shadows.values, members), (shadows.values, ~members))]
    variances = [_mean(s, c) / max(half - 1, 1) for s, c in zip(squares, (members, ~members), strict=True)]
    rng = np.random.default_rng([game.seed, game.n_shadows, 0])
    others = [
        np.abs(_difference(shadows.values, rng.permutation(members))).max() for _ in range(_ASSIGNMENTS)
    ]
    return _Disclosures(
        records=np.abs(_difference(shadows.values, members)),
        errors=np.sqrt(sum(variances)),
        by_chance=float(np.mean(others)),
        seconds=float(np.median(shadows.seconds)),
    )


def _difference(values: Floats, members: Any) -> Floats:
    """Return the mean with each record less that without it [records], of numbers [shadows, records]."""
    return _mean(values, members) - _mean(values, ~members)


def _mean(values: Floats, chosen: Any) -> Floats:
    mean: Floats = np.where(chosen, values, 0).sum(axis=0) / chosen.sum(axis=0)
    return mean


def _named(progress: Progress | None, name: str) -> Progress | None:
    """Return a progress function that names the baseline being computed."""
    return (
        None
        if progress is None
        else lambda step, done: progress(step.replace(STEP, f"{STEP} of the baseline {name}", 1), done)
    )


def _distinct(knowledge: Knowledge) -> RawTable:
    """Return the table without repeated records; those of different units are different."""
    view = knowledge.table
    whose = [] if knowledge.kinds.unit is None else [knowledge.units.astype(np.float64)]
    cells = [*whose, *view.numbers.values(), *(codes.astype(np.float64) for codes in view.codes.values())]
    _, first = np.unique(np.stack(cells, axis=1), axis=0, return_index=True, equal_nan=False)
    return take_rows(knowledge.raw, np.sort(first))
