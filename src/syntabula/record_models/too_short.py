"""Trainings that are too short: which option makes them longer, and what is said of them."""

from __future__ import annotations

from syntabula.errors import TrainingWarning, warn_caller

_FEW_STEPS = 0.1
"""Part of the steps below which a limit of time is warned of."""
_SHORT = 200
"""Steps below which a training may not have come to learn: at the usual rate 11 of 60 of TabDDPM, of 10 to 150 steps on
one number, left its records less probable, by .03 to .28 of the loss, and none of six of 400 steps."""


def raised(seconds: float | None, *, steps_given: bool) -> str:
    """Return the options of a training that must be raised for it to go on for longer."""
    if seconds is None:
        return "steps"
    return "steps and seconds" if steps_given else "seconds"


def steps_within(wanted: int, seconds: float, whole: float) -> int:
    """Return how many steps a limit of time leaves, one at least.

    Args:
        wanted: How many there are without the limit.
        seconds: The limit; infinite for none.
        whole: How long those take.
    """
    return max(int(wanted * min(seconds / max(whole, 1e-9), 1.0)), 1)


def warn_if_few(
    steps: int,
    wanted: int,
    seconds: float,
    whole: float,
    *,
    planned_rows: int | None = None,
    unit: str = "step",
) -> None:
    """Warn of a training with a budget that a limit of time leaves next to nothing of, though all of its budget is spent.

    Args:
        steps: How many it takes.
        wanted: How many it takes without the limit.
        seconds: The limit.
        whole: How long those would take by the trial.
        planned_rows: Of the table by which that is planned, before anything is paid; None once it is.
        unit: What a step is called.
    """
    if steps >= wanted * _FEW_STEPS:
        return
    several = f"1 {unit}" if steps == 1 else f"{steps:,} {unit}s"
    of, holds = (
        f"leaves {several} of {wanted:,}",
        "holds little beside one-way marginals; the whole budget is spent",
    )
    again = ". Another run has to be paid for anew"
    if planned_rows is not None:
        rows = "1 row" if planned_rows == 1 else f"{planned_rows:,} rows"
        of = f"leaves about {several} of {wanted:,} on a table of {rows}"
        holds, again = "would hold little beside one-way marginals, for the whole budget", ""
    warn_caller(
        TrainingWarning(
            f"seconds is {seconds:g}, which {of}, so that the release {holds}. All {unit}s take about {whole:,.0f} s: "
            f"raise seconds, or take method aim{again}"
        )
    )


def less_probable(steps: int, most: int | None, seconds: float | None) -> str:
    """Say that records became less probable by a training, up to the advice to lower the rate.

    Args:
        steps: How many it took.
        most: How many it was to take; None if that was not said.
        seconds: After which it was to end; None for no limit.
    """
    if steps >= _SHORT or (seconds is None and (most is None or most >= _SHORT)):
        return "the training diverged: records are less probable than before its first step;"
    after = "1 step" if steps == 1 else f"{steps} steps"
    longer = raised(seconds, steps_given=most is not None)
    return f"records are less probable after {after}, as the training is too short or diverged: raise {longer}, or"
