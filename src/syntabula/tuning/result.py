"""What a search found: its trials, the best options, a YAML file and a picture of them."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from syntabula._figures import short
from syntabula._files import whole_file
from syntabula._spaces import Value
from syntabula.errors import ArgumentError
from syntabula.synthesizers.synthesizer import Synthesizer
from syntabula.table.schema.plain_yaml import write_yaml
from syntabula.tuning.space import with_values

State = Literal["done", "pruned", "failed"]

NOT_PRIVATE = (
    "The options were chosen by looking at the validation rows again and again, without noise. If these rows are "
    "sensitive, no privacy guarantee covers the choice: tune on a public table of the same kind, or state it"
)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One set of options, fitted and scored.

    Attributes:
        number: Its place in the search; -1 for the method as it was given.
        values: The values tried, by option; empty for the method as it was given.
        state: "done"; "pruned" if it was given up after some of its repeats; "failed".
        value: The objective, a mean over repeats; NaN if it failed. Lower is better.
        scores: Score of each metric, a mean over repeats.
        seconds: Time to fit, draw and score. The first fit of a process also imports libraries.
        reason: Why it failed; empty otherwise.
    """

    number: int
    values: Mapping[str, Value]
    state: State
    value: float
    scores: Mapping[str, float]
    seconds: float
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able facts; NaN becomes null."""
        return {
            "number": self.number,
            "values": dict(self.values),
            "state": self.state,
            "value": None if math.isnan(self.value) else self.value,
            "scores": {key: None if math.isnan(score) else score for key, score in self.scores.items()},
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
        }


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The result of `tune`.

    Attributes:
        method: Name of the method: its key, or for a pair without one those of its parts, such as adaptive+pgm.
        objective: The objective in words.
        default: The method as it was given.
        trials: The sets of options that were tried, in their order.
        options: The best options as the method takes them, with epochs as steps; empty if none is better.
        finals: The method as it was given and the best trials, with the means of further fits that took no part in their
            choice; empty if there were none.
        unit: Column whose values name units, with all rows of each on one side of the split; None if rows are split.
        chosen_because: Why auto chose the method; empty if it was named.
    """

    method: str
    objective: str
    default: Trial
    trials: tuple[Trial, ...]
    options: Mapping[str, Any]
    finals: tuple[Trial, ...] = ()
    unit: str | None = None
    chosen_because: str = ""

    @property
    def given(self) -> Trial:
        """The method as it was given, as what is best was compared with it: with its means in the finals, if any."""
        return self.finals[0] if self.finals else self.default

    @property
    def best(self) -> Trial:
        """The trial with the least objective, which may be the default: of the finals, or of all without finals."""
        compared = self.finals or (self.default, *self.trials)
        return min((t for t in compared if t.state == "done"), key=lambda trial: trial.value)

    @property
    def gain(self) -> float:
        """Part of the default's objective that tuning removed: 0 if nothing was better, 1 if all was removed."""
        return 1 - self.best.value / self.given.value if self.given.value else 0.0

    def apply(self, method: Synthesizer) -> Synthesizer:
        """Return a method with the best options, those of its preprocessing included; its budget stays.

        Raises:
            ArgumentError: If it is another method than the one that was tuned.
        """
        if method.name != self.method:
            raise ArgumentError(f"these options are of {self.method!r}, and the method is {method.name!r}")
        return with_values(method, self.options, 0)

    def text(self) -> str:
        """Return the result for a terminal."""
        best, failed = self.best, [t for t in self.trials if t.state == "failed"]
        lines = [
            f"{self.method}: {_sets(len(self.trials))} of options tried, least {self.objective}",
            f"  as given   {self.given.value:.4g}   {_scores(self.given)}",
            f"  best       {best.value:.4g}   {_scores(best)}   ({100 * self.gain:.1f} % less)",
        ]
        if self.chosen_because:
            lines.insert(0, f"auto chose {self.method}: {self.chosen_because}")
        lines += [f"    {name} = {_shown(value)}" for name, value in self.options.items()]
        if not self.options:
            lines.append("    nothing tried was better than the method as it was given")
        if self.finals:
            lines.append(
                "  these are means of further fits with other seeds, which took no part in the choice"
            )
        if n_lost := sum(trial.state == "failed" for trial in self.finals):
            lines.append(f"  {n_lost} of the best failed in these fits")
        if self.unit is not None:
            lines.append(
                f"  validation rows are those of other units: all rows with one {self.unit!r} are on one side"
            )
        pruned = sum(t.state == "pruned" for t in self.trials)
        if pruned:
            lines.append(f"  {pruned} given up early")
        if failed:
            lines.append(f"  {len(failed)} failed, the first because: {failed[0].reason}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able facts, with a warning."""
        return {
            "warning": NOT_PRIVATE,
            "method": self.method,
            "chosen_because": self.chosen_because,
            "objective": self.objective,
            "unit": self.unit,
            "options": dict(self.options),
            "gain": None if math.isnan(self.gain) else self.gain,
            "default": self.default.to_json(),
            "trials": [trial.to_json() for trial in self.trials],
            "finals": [trial.to_json() for trial in self.finals],
        }

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the best options as YAML for `syntabula synth --options`, or all trials as JSON, by the suffix.

        Both say that the choice of the options is not private.

        Raises:
            ArgumentError: If the name ends in neither .yaml, .yml nor .json.
            OSError: If the file cannot be written; an existing file is left unchanged.
        """
        suffix = os.fspath(path).rpartition(".")[2].lower()
        if suffix == "json":
            text = json.dumps(self.to_json(), indent=1)
        elif suffix in ("yaml", "yml"):
            options = write_yaml({"method": self.method, "options": dict(self.options)})
            text = f"# {NOT_PRIVATE}.\n{options}"
        else:
            raise ArgumentError(f"{os.fspath(path)!r} must end in .yaml (options) or .json (all trials)")
        with whole_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _sets(n: int) -> str:
    return "1 set" if n == 1 else f"{n} sets"


def _shown(value: object) -> str:
    # The file has all digits.
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _scores(trial: Trial) -> str:
    return ", ".join(f"{name} {short(value)}" for name, value in trial.scores.items())
