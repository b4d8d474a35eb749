"""Private tuning: the best of a random number of trials, with a guarantee for all of them together.

Each trial draws options at random, which needs no look at the table, learns the table with them, and measures the
distance between pairs of columns of its rows and of the table with noise. Options, release and score of the best trial
are what is given out; `privacy.conversion` has the cost, and the proof (Papernot and Steinke 2022).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._arguments import count, function, share
from syntabula._planning import Progress
from syntabula._register import synthesizer
from syntabula._spaces import Range, Value
from syntabula.errors import ArgumentError, SchemaError, SyntabulaError, warn_caller
from syntabula.marginals.counting import engine_for
from syntabula.marginals.domain import Clique
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.noise import number_of_trials
from syntabula.synthesizers.fitting import Judging, fit
from syntabula.synthesizers.synthesizer import Synthesizer
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import RawTable
from syntabula.table.rules.at_work import learned_part
from syntabula.table.schema.schema import Schema, SchemaSource, as_schema, columns_listed, is_whole
from syntabula.tuning.presets import space_for
from syntabula.tuning.space import check_space, with_values

if TYPE_CHECKING:
    from syntabula.models.base import Model
    from syntabula.privacy.ledger import Ledger
    from syntabula.privacy.noise import NoiseSource
    from syntabula.synthesizers.release import Release

_STEP = "score the trial"
_BINS = 24
"""Uniform bins, the same in all trials, of the columns that scores compare."""

_MOST_PAIRS = 300
_MOST_ROWS = 200_000
_RANDOM_BITS = 2**63


@dataclass(frozen=True, kw_only=True)
class PrivateTuning:
    """The best trial of a private search; all of it may be published, unlike the number of trials.

    Attributes:
        release: Its release, whose statement covers the search.
        options: The options that it drew.
        distance: Its score: the mean total variation distance of pairs of columns, with noise.
    """

    release: Release
    options: Mapping[str, Value]
    distance: float


def tune_privately(
    method: Synthesizer | str,
    table: Any,
    schema: SchemaSource,
    *,
    space: str | Mapping[str, Any] = "usual",
    trials: int = 10,
    score_share: Fraction | float = Fraction(1, 10),
    progress: Progress | None = None,
) -> PrivateTuning:
    """Fit a method with options drawn at random, again and again, and return the best release within its budget.

    The number of trials is random, `trials` on average, and must not be published: the guarantee rests on it. At
    epsilon 1 and 10 trials each of them has about a fifth of the budget (in rho) of a single fit, so that this pays only
    where options matter more than noise.

    Args:
        method: A method with an approximate budget, which covers the whole search, or the key of one (epsilon 1).
        table: The sensitive table, as `fit` takes it.
        schema: Declares all columns, as public facts.
        space: "usual", or what to try for each option, by name, as in `tune`. For auto, which chooses its method anew in
            each trial, the usual space has its bins alone and how they are chosen.
        trials: Average number of trials, at least 2.
        score_share: Fraction of each trial's budget that measures how good it is.
        progress: Called with a step and 0; how many trials there will be is not told.

    Returns:
        The best trial.

    Raises:
        ArgumentError: If an argument is invalid, the method has no approximate budget, or a journal, or the space has
            epochs, which depend on the number of records.
        SchemaError: If the schema does not declare all columns, or was read off the table.
        SyntabulaError: If all trials fail, the error of the last.
    """
    given = synthesizer(method)() if isinstance(method, str) else method
    if not isinstance(given, Synthesizer):
        raise ArgumentError(f"method must be a method or the key of one, not {type(method).__name__}")
    budget = given.whole_budget
    if budget.kind != "approximate":
        raise ArgumentError(
            "a private search needs a method with epsilon and delta; without privacy, use `tune` instead"
        )
    if given.seed is not None and given.noise is not None:
        raise ArgumentError(
            "leave out seed: whoever knows it knows the number of trials, whatever noise the fits have"
        )
    if given.journal is not None:
        raise ArgumentError("a private search takes no journal; leave it out")
    declared = as_schema(schema)
    _check_public(declared)
    tried = space_for(given, space)
    check_space(given, tried)
    if "epochs" in tried:
        raise ArgumentError("epochs depend on the number of records, which is private; give steps instead")
    of_score = share("score_share", score_share)
    every = Budget.best_of(budget.epsilon, budget.delta, count(2)("trials", trials))
    report = function("a function of a step's name and the fraction done").or_none("progress", progress)
    rng = np.random.default_rng(given.seed)
    scored = _Scored(codec=Codec.plan(learned_part(declared), bins=_BINS), memory_mb=given.memory_mb)
    best: PrivateTuning | None = None
    failed: SyntabulaError | None = None
    with _told_once():
        for _ in range(number_of_trials(trials, given.seed)):
            if report is not None:
                report("fit one of the trials", 0.0)
            values = {name: drawn(of, rng) for name, of in tried.items()}
            seed = None if given.seed is None else int(rng.integers(_RANDOM_BITS))
            # A budget stands beside no other epsilon and delta than the usual ones.
            of = type(given)
            usual = replace(given, epsilon=of.epsilon, delta=of.delta, budget=every)
            alone = replace(usual, seed=seed, progress=None)
            try:
                trial = with_values(alone, values, 0)
                release = fit(trial, table, declared, strict=False, judging=scored.judging(of_score, rng))
            except SyntabulaError as error:
                # To fail is an outcome of a trial like any other, and the worst.
                failed = error
                continue
            found = PrivateTuning(release=release, options=values, distance=scored.last)
            if best is None or found.distance < best.distance:
                best = found
    if best is None:
        assert failed is not None
        raise failed
    return best


def _check_public(schema: Schema) -> None:
    """Refuse a schema that leaves domains to be found, or has some that were read off the table.

    Scores of trials are comparable only on one domain, and a domain found in each trial would differ from the others.
    """
    lacks = []
    if not is_whole(schema):
        lacks.append("it has `others: find`; declare these columns too")
    if schema.observed_columns:
        lacks.append(
            f"the domains of {columns_listed(schema.observed_columns)} were read off the table; replace them with public "
            "facts and mark them `provenance: public`"
        )
    if lacks:
        raise SchemaError(
            "a private search needs a schema that declares all columns independently of the table, as all trials are "
            f"scored on the same domain, but {', and '.join(lacks)}. `syntabula schema` drafts all columns of a table"
        )


@contextmanager
def _told_once() -> Iterator[None]:
    """Give each warning once, at the end: those of every trial would tell how many there were."""
    told: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as told:
            yield
    finally:
        for warning in {str(one.message): one.message for one in told}.values():
            warn_caller(warning if isinstance(warning, Warning) else UserWarning(warning))


def drawn(tried: Any, rng: np.random.Generator) -> Value:
    """Draw one of the values that an option may have, evenly, or evenly in the logarithm."""
    if not isinstance(tried, Range):
        value: Value = tried.values[int(rng.integers(len(tried.values)))]
        return value
    if tried.log:
        number = math.exp(rng.uniform(math.log(tried.low), math.log(tried.high)))
    elif tried.integer:
        return int(rng.integers(int(tried.low), int(tried.high) + 1))
    else:
        number = float(rng.uniform(tried.low, tried.high))
    number = min(max(number, tried.low), tried.high)
    return round(number) if tried.integer else number


@dataclass(kw_only=True, eq=False)
class _Scored:
    """Measures how far pairs of columns of a model's rows are from the table's, in the same bins for all trials."""

    codec: Codec
    memory_mb: float
    last: float = field(default=math.inf, init=False)

    def judging(self, of_budget: Fraction, rng: np.random.Generator) -> Judging:
        """Return what scores the next trial, for a share of its budget."""

        def judge(table: RawTable, codec: Codec, model: Model, ledger: Ledger, noise: NoiseSource) -> None:
            self.last = self._distance(table, codec, model, ledger, noise, rng)

        return Judging(share=of_budget, judge=judge)

    def _distance(
        self,
        table: RawTable,
        codec: Codec,
        model: Model,
        ledger: Ledger,
        noise: NoiseSource,
        rng: np.random.Generator,
    ) -> float:
        total = max(float(model.total), 1.0)
        n_rows = int(min(total, _MOST_ROWS))
        codes = model.sample(max(n_rows, 1), rng)
        rows = codec.decode(codes, rng, drawn_apart=model.drawn_apart)
        synthetic, _ = self.codec.encode(RawTable(rows, max(n_rows, 1), table.origin))
        real, _ = self.codec.encode(table)
        domain = self.codec.domain
        pairs: list[Clique] = list(itertools.combinations(domain.columns, 2))
        pairs = pairs or [(column,) for column in domain.columns]
        # Which pairs are compared is public, and the same in all trials.
        pairs = pairs[:: -(-len(pairs) // _MOST_PAIRS)]
        engines = [engine_for(coded, limit_mb=self.memory_mb) for coded in (real, synthetic)]
        weight = total / max(n_rows, 1)
        estimates = [counts.astype(np.float64) * weight for counts in engines[1].counts(pairs)]
        curator = Curator(engines[0], ledger, noise)
        far = curator.measure_distance(pairs, estimates, share=ledger.remaining_share, step=_STEP)
        return far / (2 * len(pairs) * total)
