"""What a study compares: a method with its options, and how tables are binned before it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Literal

from syntabula._arguments import count, near, normalise, one_of, refusal, share, text
from syntabula._register import load
from syntabula.bench.fields import NAMED, WORDS
from syntabula.errors import ArgumentError, BudgetError, SyntabulaError

BASELINES = ("SELF", "HALF", "HISTOGRAM", "BINS")
"""Tables of known quality in place of a method: the learned rows, half of them, each column resampled on its own, and
the learned rows after binning, which is the best that a method over these bins can do."""

FEW = {"iterations": 50, "levels": 200, "n_thresholds": 2000, "threshold_rounds": 5}
"""Options of quick studies, which would otherwise be larger."""

Domain = Literal["public", "observed", "found"]
Within = Literal["even", "normal"]


@dataclass(frozen=True, kw_only=True)
class Binning:
    """How columns are prepared before a method learns them.

    Attributes:
        bins: Most bins of a column; "auto", the library's rule; or "pairs", so few that pairs of columns stand out from
            their noise (see `splits.bins_of_pairs`); or one of `bin_rules.RULES`, none of which is private.
        discretizer: Name of a discretizer, such as "privtree" or "uniform".
        options: Its options, such as `threshold: fraction` for "privtree".
        domain: Where bounds and categories come from: "public" declares those of the whole table, "observed" reads
            them off it without privacy, "found" pays to find them. The scores of the first two are the same.
        within: Distribution of values within a bin.
        share: Fraction of the budget for what must be found.
    """

    bins: int | str = "auto"
    discretizer: str = "privtree"
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    domain: Domain = "public"
    within: Within = "even"
    share: float = 0.1

    def __post_init__(self) -> None:
        from syntabula.bench.bin_rules import RULES
        from syntabula.prepare.preprocessing import Preprocessing

        words = ("auto", "pairs", *RULES)
        if isinstance(self.bins, str) and self.bins not in words:
            raise ArgumentError(
                f"bins must be an integer of at least 2, or a word; there is no word {self.bins!r}"
                f"{near(self.bins, words) or ';'} words are {', '.join(words)}"
            )
        if not isinstance(self.bins, str):
            normalise(self, bins=count(2))
        normalise(
            self,
            discretizer=text,
            domain=one_of("public", "observed", "found"),
            within=one_of("even", "normal"),
            share=share,
        )
        object.__setattr__(self, "share", float(self.share))
        object.__setattr__(self, "options", NAMED("the options of a discretizer", self.options))
        Preprocessing(discretizer=self.made())

    @property
    def label(self) -> str:
        """Its name in tables: the discretizer and the number of bins, and whatever else is not as usual."""
        place = "" if self.domain == "public" else f", domain {self.domain}"
        spread = "" if self.within == "even" else f", {self.within} within"
        options = "".join(f", {name} {value}" for name, value in self.options.items())
        part = "" if self.share == Binning.share else f", share {self.share:g}"
        return f"{self.discretizer} {self.bins}{options}{place}{spread}{part}"

    def made(self) -> Any:
        """Return the discretizer with its options, or its name if it has none.

        Raises:
            ArgumentError: If it does not have one of them.
        """
        if not self.options:
            return self.discretizer
        if self.discretizer == "uniform":
            raise ArgumentError("uniform bins have no options")
        kind = load("discretizer", self.discretizer)
        known = [f.name for f in fields(kind)]
        for name in self.options:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise ArgumentError(
                    f"the discretizer {self.discretizer!r} has no option {name!r}{near(name, known) or ';'} its options "
                    f"are {listed}"
                )
        return kind(**self.options)

    def to_json(self) -> dict[str, Any]:
        """Return its fields."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"options": dict(self.options)}


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A method with its options: one row of a study.

    Attributes:
        method: Key of a method, "selector+model" ("random_pairs" is a selector here too), one of `BASELINES`, or
            "peer:NAME" for code of others.
        options: Options of its parts, as `syntabula methods METHOD` lists them.
        preset: Paper whose hyper-parameters are set before `options`, as `presets` has them; empty for ours.
        binning: Replaces the study's binning for this row.
        epsilons: Budgets of this row, such as infinity alone for a method without a private form; empty for the
            study's.
        label: Its name in tables; by default the method, and the preset in brackets.
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    preset: str = ""
    binning: Binning | None = None
    epsilons: tuple[float, ...] = ()
    label: str = ""

    def __post_init__(self) -> None:
        from syntabula.bench.presets import check_preset

        normalise(self, method=text, options=NAMED, preset=WORDS, label=WORDS)
        if self.preset:
            check_preset(self.preset)
        object.__setattr__(self, "epsilons", budgets(self.epsilons))
        if not self.label:
            object.__setattr__(self, "label", self.method + (f" ({self.preset})" if self.preset else ""))

    @property
    def is_baseline(self) -> bool:
        """Whether it is a table of known quality, which has no budget."""
        return self.method in BASELINES

    @property
    def peer(self) -> str | None:
        """Name of the adapter for code of others; None for a method of this library."""
        return self.method.partition(":")[2] if self.method.startswith("peer:") else None

    def check(self, epsilon: float) -> None:
        """Raise an error unless the method and its options exist and take this budget; suggests similar names."""
        if self.peer is not None:
            from syntabula.bench.peers import check_peer

            check_peer(self.peer, epsilon, self.options)
        elif not self.is_baseline:
            try:
                self.synthesizer(epsilon=epsilon)
            except BudgetError as error:
                if not (0 < epsilon < math.inf and self.synthesizer(epsilon=math.inf).why_not_private):
                    raise
                own = f"{{method: {self.method}, epsilons: [inf]}}"
                raise BudgetError(f"{error}. A study takes {own}") from None
        elif self.options and self.method != "BINS":
            raise ArgumentError(f"{self.method} is a table of known quality and has no options")

    def synthesizer(self, **settings: Any) -> Any:
        """Return the method with its options; `settings` are those of every method, such as `epsilon`.

        Raises:
            ArgumentError: If there is no such method, pair or option; suggests similar names.
        """
        selector, _, model = self.method.partition("+")
        if model.strip("+"):  # and not a name such as rap++
            from syntabula.synthesizers.marginal import Marginal

            made: Any = Marginal(selector=_selector(selector), model=model, **settings)
        else:
            if self.method.upper() in BASELINES:
                raise ArgumentError(f"write {self.method.upper()!r} for the table of known quality")
            made = load("synthesizer", self.method)(**settings)
        return made.with_options(**self.options) if self.options else made

    def quicker(self, dataset: str, epsilon: float, steps: int) -> Candidate:
        """Return the row with few iterations, where its method has such options and the row does not set them.

        Args:
            dataset: Table that its preset may depend on.
            epsilon: Budget that it may depend on.
            steps: Most steps of training.
        """
        from syntabula.synthesizers.settings import method_options

        if self.is_baseline or self.peer is not None:
            return self
        try:
            made = self.with_settings(dataset, epsilon).synthesizer(epsilon=epsilon)
        except SyntabulaError:
            return self  # `check` says what is wrong
        known = {name: value for part in method_options(made).values() for name, value in part.items()}
        few = {
            name: most
            for name, most in {**FEW, "steps": steps}.items()
            if known.get(name, 0) is None or known.get(name, 0) > most
        }
        return replace(self, options={**few, **self.options})

    def with_settings(self, dataset: str, epsilon: float) -> Candidate:
        """Return the candidate whose options hold those of its preset, which may depend on the table and budget."""
        from syntabula.bench.presets import options_of

        if not self.preset:
            return self
        chosen = {**options_of(self.preset, self.method, dataset, epsilon), **self.options}
        return replace(self, options=chosen, preset="")


def _selector(name: str) -> Any:
    """Return the name of a selector, or that which studies alone have."""
    from syntabula.bench.random_pairs import RandomPairs

    return RandomPairs() if name == RandomPairs.key else name


def candidate_of(entry: Any) -> Candidate:
    """Return a candidate from the entry of a study file: the name of a method, or its fields.

    Raises:
        ArgumentError: If a field is unknown (suggests similar names) or wrong.
    """
    if isinstance(entry, Candidate):
        return entry
    if isinstance(entry, str):
        return Candidate(method=entry)
    facts = fields_of(entry, "a method", tuple(f.name for f in fields(Candidate)))
    if "method" not in facts:
        raise ArgumentError("a method of a study must have a `method`, such as `method: mst`")
    if facts.get("binning") is not None:
        facts["binning"] = binning_of(facts["binning"])
    return Candidate(**facts)


def binning_of(entry: Any) -> Binning:
    """Return a binning from the entry of a study file: its fields, or a number of bins.

    Raises:
        ArgumentError: If a field is unknown (suggests similar names) or wrong.
    """
    if isinstance(entry, Binning):
        return entry
    if isinstance(entry, int | str) and not isinstance(entry, bool):
        return Binning(bins=entry)
    return Binning(**fields_of(entry, "preprocessing", tuple(f.name for f in fields(Binning))))


def budgets(given: Any) -> tuple[float, ...]:
    """Return budgets as numbers; "inf" stands for infinity. Raises ArgumentError for anything else."""
    listed = given if isinstance(given, list | tuple) else (given,)
    return tuple(math.inf if value in ("inf", "Inf") else _budget(value) for value in listed)


def _budget(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise refusal("epsilons", "numbers above 0, or inf for none", value)
    return float(value)


def fields_of(entry: Any, what: str, known: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of an entry of a study file, or raise ArgumentError if one is unknown."""
    if not isinstance(entry, Mapping):
        raise ArgumentError(f"{what} in a study must have named fields: {', '.join(known)}")
    for name in entry:
        if name not in known:
            raise ArgumentError(
                f"{what} in a study has no field {name!r}{near(name, known) or ';'} fields are {', '.join(known)}"
            )
    return dict(entry)


def fraction_of(value: float) -> Fraction:
    """Return the exact fraction that a decimal number was meant as."""
    return Fraction(str(value))
