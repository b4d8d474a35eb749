"""Where memory runs out in the middle of a training or of a draw, the error says what to do and nothing is lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.cli.console import in_flags
from syntabula.errors import ResourceError
from syntabula.privacy.journal import Journal
from syntabula.privacy.training import records
from syntabula.record_models import loop
from syntabula.record_models.any_order_sampling import Drawing
from syntabula.record_models.astray import is_astray
from syntabula.record_models.tabular_diffusion import TabularDiffusion
from syntabula.record_models.training_memory import to_lower, training_memory

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")

N = 400
SCHEMA = st.Schema({"a": st.Categorical(("x", "y", "z")), "b": st.Numeric(0, 9, integer=True)})
ON_A_GPU = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
ON_A_PROCESSOR = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"
)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.choice(["x", "y", "z"], N), "b": rng.integers(0, 10, N)})


def fit(journal: Path, epsilon: float, **changes: Any) -> st.Release:
    options = {"units": 8, "steps": 10} | changes.pop("options", {})
    method = st.ARGN(epsilon=epsilon, seed=3, journal=journal, **changes).with_options(**options)
    return method.fit(table(), SCHEMA)


@contextmanager
def fails_after(n: int, module: Any, name: str, error: BaseException) -> Iterator[None]:
    """Let a function of a module fail when it was called n times."""
    real: Callable[..., Any] = getattr(module, name)
    calls = 0

    def failing(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > n:
            raise error
        return real(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, failing)
        yield


class TestTraining:
    def test_with_a_budget_goes_on_with_what_was_paid_for(self, tmp_path: Path) -> None:
        path, whole = tmp_path / "journal", tmp_path / "whole"
        uninterrupted = fit(whole, 1.0)

        wanted = r"not enough memory to train on device 'cpu'.*pays for nothing twice, with resume"
        with fails_after(7, records, "clipped_sum", ON_A_GPU), pytest.raises(ResourceError, match=wanted):
            fit(path, 1.0)
        kept = Journal.read(path)
        resumed = fit(path, 1.0, resume=True)

        assert kept.records[-1].checkpoint is not None
        assert 0 < kept.records[-1].checkpoint.steps < 10
        assert len(Journal.read(path).records) == len(kept.records)
        assert resumed.privacy.epsilon_spent == uninterrupted.privacy.epsilon_spent
        assert resumed.sample(50, seed=1).equals(uninterrupted.sample(50, seed=1))

    def test_without_a_budget_goes_on_from_its_checkpoint_also_where_it_computes_otherwise(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "journal"
        # One call is the trial of the plan.
        with (
            fails_after(8, loop, "warmth", ON_A_GPU),
            pytest.raises(ResourceError, match=r"lower batch, which is 512.*goes on from what it kept last"),
        ):
            fit(path, math.inf)

        resumed = fit(path, math.inf, resume=True, options={"device": "cpu", "threads": 2})

        assert resumed.privacy.replayed > 0
        assert len(resumed.sample(5)) == 5

    def test_the_remedy_names_what_can_go_on(self) -> None:
        for device, batch, wanted in [
            (
                "cuda:0",
                512,
                r'lower batch, which is 512, or use device="cpu"\. .*or with device="cpu", a run',
            ),
            ("cuda:0", None, r'; use device="cpu"\. .*pays for nothing twice, with resume'),
            ("cpu", None, r"; end other programs\. Once memory is free, a run with a journal"),
        ]:
            room = training_memory(torch.device(device), batch=batch)
            with pytest.raises(ResourceError, match=wanted) as caught, room:
                raise ON_A_GPU
            shown = in_flags(str(caught.value))
            assert "with --resume" in shown
            assert ("--option device=cpu" in shown) == (device != "cpu")

    def test_any_other_step_of_a_fit_says_so_too(self, tmp_path: Path) -> None:
        from syntabula.record_models.population import Population

        method = st.TabPE(epsilon=1.0, seed=3, journal=tmp_path / "journal").with_options(rounds=2)
        with (
            fails_after(0, Population, "told", MemoryError()),
            pytest.raises(ResourceError, match=r"learn the table.*a run with a journal goes on"),
        ):
            method.fit(table(), SCHEMA)


class TestRows:
    def test_of_a_release_can_be_drawn_again(self, tmp_path: Path) -> None:
        release = fit(tmp_path / "journal", math.inf)

        for error in (ON_A_PROCESSOR, MemoryError()):
            for what in (lambda: release.sample(5), lambda: release.sample(5, where={"a": "x"})):
                refused = pytest.raises(
                    ResourceError, match=r"not enough memory to .* the rows.*loses nothing"
                )
                with fails_after(0, Drawing, "chances", error), refused:
                    what()
        assert len(release.sample(5)) == 5

    def test_that_do_not_fit_into_memory_are_no_sign_of_a_training_that_diverged(
        self, tmp_path: Path
    ) -> None:
        model = fit(tmp_path / "journal", math.inf).model

        with fails_after(0, Drawing, "chances", ON_A_GPU), pytest.raises(type(ON_A_GPU)):
            is_astray(model, {})


class TestWhatToLower:
    def test_an_option_beyond_the_usual_is_named_with_the_batch(self) -> None:
        large = st.TVAE(epsilon=math.inf, seed=0, memory_mb=50.0).with_options(units=2048)

        with pytest.raises(
            ResourceError, match=r"lower units, which is 2,048, or batch, which is 500, or raise"
        ):
            large.fit(table(), SCHEMA)

    def test_teachers_are_named_where_they_take_the_memory(self) -> None:
        many = st.PATEGAN(epsilon=1.0, seed=0, memory_mb=2000.0).with_options(teachers=1_000_000)

        with pytest.raises(ResourceError, match=r"lower teachers, which is 1,000,000, or raise memory_mb"):
            many.fit(table(), SCHEMA)

    def test_the_generator_of_teachers_is_named_where_it_is_large(self) -> None:
        large = st.PATEGAN(epsilon=1.0, seed=0, memory_mb=100.0).with_options(units=2048)

        with pytest.raises(ResourceError, match=r"lower units, which is 2,048, or raise memory_mb"):
            large.fit(table(), SCHEMA)

    def test_what_is_small_is_not_named(self) -> None:
        assert to_lower(TabularDiffusion(units=16, layers=1), 300) == "lower batch, which is 300"
        assert to_lower(object()) == ""
