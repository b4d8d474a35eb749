"""The method that auto chooses for a table: its options are searched, which auto does not have."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from typing import Any

from syntabula._register import synthesizer
from syntabula.synthesizers.settings import Settings, default_of
from syntabula.synthesizers.synthesizer import Synthesizer
from syntabula.tuning.job import Tables

AUTO = "auto"


def chosen_by(auto: Synthesizer, tables: Tables, seed: int) -> tuple[Synthesizer, str]:
    """Fit auto once to the rows that a search learns; return the method that it chose, with auto's settings, and why."""
    seeded = replace(auto, seed=seed if auto.seed is None else auto.seed, progress=None)
    with warnings.catch_warnings():
        # What a fit warns of concerns the release, and this one is not kept.
        warnings.simplefilter("ignore")
        choice = seeded.fit(tables.train, tables.schema).privacy.choice
    assert choice is not None
    shared = {f.name for f in fields(Settings)}
    # Settings that were left as they are become those of the chosen method.
    given: dict[str, Any] = {
        f.name: getattr(auto, f.name)
        for f in fields(auto)
        if f.name in shared and getattr(auto, f.name) != default_of(f)
    }
    return synthesizer(choice.method)(**given), choice.reason
