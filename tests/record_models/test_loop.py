"""The training loop: it learns, ends when it should, is repeatable, and says what goes wrong."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from syntabula import _threads
from syntabula.errors import ArgumentError, ReleaseFileError, TrainingError
from syntabula.privacy.journal import Checkpoint
from syntabula.record_models import loop, noisy_loop
from syntabula.record_models.loop import Descent, Training, seconds_per_step, train
from syntabula.record_models.noisy_loop import NoisyTraining

torch = pytest.importorskip("torch")

RECORDS = np.random.default_rng(0).choice(4, (500, 1), p=[0.1, 0.2, 0.3, 0.4])


class Marginal:
    """The logits of one column."""

    def __init__(self, device: Any, random: Any) -> None:
        self.parameters: Mapping[str, Any] = {"logits": torch.randn(4, generator=random, device=device)}
        self.seen: list[int] = []

    def losses(self, records: Any, random: Any) -> Any:
        del random
        if torch.is_grad_enabled():
            self.seen.append(len(records))
        return -torch.log_softmax(self.parameters["logits"], 0)[records[:, 0]]


class Broken(Marginal):
    def losses(self, records: Any, random: Any) -> Any:
        return super().losses(records, random) * math.nan


class Passing:
    """Training always moves its one weight on; when it is looked at, 3 is best."""

    def __init__(self, device: Any, random: Any) -> None:
        del random
        self.parameters: Mapping[str, Any] = {"place": torch.zeros(1, device=device)}

    def losses(self, records: Any, random: Any) -> Any:
        del random
        place = self.parameters["place"]
        return (-place if torch.is_grad_enabled() else (place - 3) ** 2).expand(len(records))


class Counting(Marginal):
    """Moves its weights itself, towards the shares in a batch."""

    def __init__(self, device: Any, random: Any) -> None:
        super().__init__(device, random)
        self.rates: list[float] = []

    def moved(self, records: Any, rate: float) -> Any:
        loss = self.losses(records, None).detach()
        shares = torch.bincount(records[:, 0], minlength=4) / len(records)
        with torch.no_grad():
            self.parameters["logits"].lerp_((shares + 1e-3).log(), rate)
        self.rates.append(rate)
        return loss


def trained(training: Training, *, seed: int = 0, records: np.ndarray = RECORDS) -> np.ndarray:
    return train(Marginal, records, training, lambda step, done: None, seed=seed)["logits"]


def steps_taken(training: Training, records: np.ndarray = RECORDS) -> list[int]:
    networks: list[Marginal] = []

    def make(device: Any, random: Any) -> Marginal:
        networks.append(Marginal(device, random))
        return networks[0]

    train(make, records, training, lambda step, done: None, seed=0)
    return networks[0].seen


class TestLearning:
    def test_what_is_learned_is_the_distribution_of_the_records(self) -> None:
        logits = trained(Training(steps=400, batch=200, learning_rate=0.05))

        shares = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(shares, np.bincount(RECORDS[:, 0]) / 500, atol=0.06)

    def test_a_model_that_moves_itself_is_told_the_rate_instead_of_given_gradients(self) -> None:
        made: list[Counting] = []

        def make(device: Any, random: Any) -> Counting:
            made.append(Counting(device, random))
            return made[0]

        training = Training(steps=200, batch=200, learning_rate=0.3)
        logits = train(make, RECORDS, training, lambda step, done: None, seed=0)["logits"]

        shares = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(shares, np.bincount(RECORDS[:, 0]) / 500, atol=0.06)
        assert 0.2 < max(made[0].rates) <= 0.3
        assert min(made[0].rates) < 0.02

    def test_the_same_seed_gives_the_same_weights_and_another_one_others(self) -> None:
        few = Training(steps=20)

        assert (trained(few, seed=1) == trained(few, seed=1)).all()
        assert (trained(few, seed=1) != trained(few, seed=2)).any()

    def test_the_generator_and_threads_of_others_stay_as_they_were(self) -> None:
        state, threads = torch.random.get_rng_state(), torch.get_num_threads()

        trained(Training(steps=5, threads=3))

        assert (torch.random.get_rng_state() == state).all()
        assert torch.get_num_threads() == threads

    def test_more_threads_than_help_are_not_used(self) -> None:
        with _threads.training_threads(1000):
            used = torch.get_num_threads()

        assert used == max(64, _threads.processors())

    def test_products_of_others_stay_as_they_were(self) -> None:
        torch.set_float32_matmul_precision("medium")
        try:
            trained(Training(steps=5))

            assert torch.get_float32_matmul_precision() == "medium"
        finally:
            torch.set_float32_matmul_precision("highest")

    @pytest.mark.parametrize(("precision", "kept"), [("auto", "high"), ("float32", "highest")])
    def test_a_gpu_rounds_products_unless_told_not_to(self, precision: Any, kept: str) -> None:
        training = Training(precision=precision)

        with training.products(torch.device("cuda")):
            assert torch.get_float32_matmul_precision() == kept
        with training.products(torch.device("cpu")):
            assert torch.get_float32_matmul_precision() == "highest"

    def test_no_records_leave_the_network_as_it_was_made(self) -> None:
        first = Marginal("cpu", torch.Generator().manual_seed(4)).parameters["logits"].numpy()

        assert (trained(Training(device="cpu"), seed=4, records=RECORDS[:0]) == first).all()

    def test_next_to_no_records_are_enough(self) -> None:
        for n in [1, 2, 10]:
            assert np.isfinite(trained(Training(steps=5), records=RECORDS[:n])).all()


class TestEnd:
    def test_a_batch_is_never_larger_than_the_table(self) -> None:
        assert max(steps_taken(Training(steps=3, batch=10_000, held_out=0.0))) == 500

    def test_as_many_steps_are_taken_as_said(self) -> None:
        assert len(steps_taken(Training(steps=7, held_out=0.0))) == 7

    def test_a_pass_over_the_records_counts_those_that_are_trained_on(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loop, "_LEAST_STEPS", 1)
        training = Training(batch=100, held_out=0.5, patience=10**6)

        # 30 times 250 records; what is looked at has more than 100 of them at once.
        assert steps_taken(training).count(100) == 75

    def test_training_ends_when_held_out_records_gain_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # No step moves anything, so looks find what they did before: one, and then twice two that gain nothing.
        monkeypatch.setattr(loop, "warmth", lambda done, step: 0.0)
        training = Training(steps=500, batch=64, patience=2)

        batches = [n for n in steps_taken(training) if n == 64]

        assert len(batches) == 5 * 500 // 25

    def test_the_weights_are_kept_that_held_out_records_liked_best(self) -> None:
        training = Training(steps=200, learning_rate=0.1, patience=100, average=0.0)

        kept = train(Passing, RECORDS, training, lambda step, done: None, seed=0)["place"]

        # A look every 8 steps of at most 0.1 each.
        assert abs(kept.item() - 3) < 0.5

    def test_time_runs_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = itertools.count()
        monkeypatch.setattr(loop, "perf_counter", lambda: float(next(clock)))

        # One second a step by this clock.
        assert len(steps_taken(Training(steps=1_000, seconds=12.0, held_out=0.0))) == 12

    def test_steps_follow_from_rows_within_bounds(self) -> None:
        assert [Training().steps_for(n) for n in (0, 100, 20_000, 10**7)] == [1000, 1000, 1055, 6000]
        assert Training(steps=3).steps_for(10**7) == 3

    def test_an_interrupt_passes_and_threads_are_given_back(self) -> None:
        threads = torch.get_num_threads()

        def interrupt(step: str, done: float) -> None:
            if done > 0:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(Marginal, RECORDS, Training(threads=3), interrupt, seed=0)
        assert torch.get_num_threads() == threads


class TestTold:
    def test_progress_grows_to_one_and_tells_loss_and_time(self) -> None:
        told: list[tuple[str, float]] = []

        train(Marginal, RECORDS, Training(steps=50), lambda *words: told.append(words), seed=0)

        done = [part for _, part in told]
        assert done == sorted(done)
        assert (done[0], done[-1]) == (0.0, 1.0)
        assert any("loss 1." in step and "s left" in step for step, _ in told)

    def test_a_loss_that_is_no_number_is_an_error_that_says_what_to_do(self) -> None:
        with pytest.raises(
            TrainingError, match=r"no finite number any more at step 1 .* lower learning_rate"
        ):
            train(Broken, RECORDS, Training(steps=20), lambda step, done: None, seed=0)

    def test_a_step_is_timed_on_a_made_up_batch(self) -> None:
        assert 0 < seconds_per_step(Marginal, (4,), Training(), 8, n_weights=4) < 60

    @pytest.mark.parametrize(("threads", "seconds"), [(1, 1.0), (2, 0.5), (8, 0.5)])
    def test_threads_beyond_the_processors_make_no_step_faster(
        self, monkeypatch: pytest.MonkeyPatch, threads: int, seconds: float
    ) -> None:
        ticks = itertools.count()
        monkeypatch.setattr(_threads, "processors", lambda: 2)
        for module in (loop, noisy_loop):
            monkeypatch.setattr(module, "process_time", lambda: float(next(ticks)))
        training, noisy = Training(threads=threads), NoisyTraining()

        exact = seconds_per_step(Marginal, (4,), training, 8, n_weights=4)
        summed_and_noise = noisy_loop.seconds_per_noisy_step(LookedUp, (4,), training, noisy, 8, n_weights=4)

        assert exact == seconds
        assert summed_and_noise == 2 * seconds


class LookedUp:
    """Has a number for each code, of which the gradient of a single record is known."""

    def __init__(self, device: Any, random: Any) -> None:
        self._table = torch.zeros((4, 1), device=device)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"table": self._table}

    def losses(self, records: Any, random: Any) -> Any:
        return torch.nn.functional.embedding(records[:, 0], self._table).sum(1)


class Two(Marginal):
    """Pulls apart what no loss of the other moves."""

    def __init__(self, device: Any, random: Any) -> None:
        super().__init__(device, random)
        self.parameters = {"one": torch.zeros(1, device=device), "two": torch.zeros(1, device=device)}

    def losses(self, records: Any, random: Any) -> Any:
        del random
        if torch.is_grad_enabled():
            self.seen.append(len(records))
        one, two = self.parameters["one"], self.parameters["two"]
        return torch.stack([(one - 1) ** 2, (two + 2) ** 2], 1).expand(len(records), 2)


class TestSeveralLosses:
    @pytest.mark.thorough
    def test_they_are_added_up_and_shown_one_by_one(self) -> None:
        told: list[str] = []

        found = train(
            Two,
            RECORDS,
            Training(steps=500, learning_rate=0.05, held_out=0.0, average=0.9),
            lambda step, done: told.append(step),
            seed=0,
        )

        assert found["one"].item() == pytest.approx(1, abs=0.05)
        assert found["two"].item() == pytest.approx(-2, abs=0.05)
        assert any(re.search(r"loss \S+ and \S+, at most", step) for step in told)

    def test_one_that_is_no_number_is_an_error(self) -> None:
        class Half(Two):
            def losses(self, records: Any, random: Any) -> Any:
                return super().losses(records, random) * torch.tensor([1.0, math.nan], device=records.device)

        with pytest.raises(TrainingError, match="no finite number"):
            train(Half, RECORDS, Training(steps=5, held_out=0.0), lambda step, done: None, seed=0)


class Kept:
    """Holds all states of a training, and goes on from one of them."""

    def __init__(self, resumed: Checkpoint | None = None) -> None:
        self.resumed, self.all = resumed, []

    def checkpoint(self, steps: int, values: np.ndarray) -> None:
        self.all.append(Checkpoint(steps, values))


class TestCheckpoints:
    def kept(self, make: Any, training: Training, resumed: Checkpoint | None = None) -> tuple[Any, Kept]:
        kept = Kept(resumed)
        found = train(make, RECORDS, training, lambda step, done: None, seed=0, checkpoints=kept)
        return found, kept

    @pytest.mark.parametrize("make", [Marginal, Passing, Counting, Two])
    def test_a_training_that_goes_on_from_any_ends_as_one_that_was_never_stopped(self, make: Any) -> None:
        held_out = 0.0 if make is Two else 0.1
        training = Training(steps=50, batch=64, learning_rate=0.1, held_out=held_out, patience=2)

        whole, kept = self.kept(make, training)

        assert len(kept.all) >= 2
        for checkpoint in kept.all:
            resumed, later = self.kept(make, training, checkpoint)
            assert [c.steps for c in later.all] == [c.steps for c in kept.all if c.steps > checkpoint.steps]
            assert all(np.array_equal(resumed[name], whole[name]) for name in whole)

    def test_one_that_went_back_to_its_best_goes_on_from_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Only the first look, after 20 steps, finds anything: the last fifth begins after 80 steps, and ends after 140.
        monkeypatch.setattr(loop, "warmth", lambda done, step: 0.0)
        training = Training(steps=500, batch=64, patience=3)
        made: list[Marginal] = []

        def make(device: Any, random: Any) -> Marginal:
            made.append(Marginal(device, random))
            return made[-1]

        whole, kept = self.kept(make, training)
        resumed, _ = self.kept(make, training, kept.all[0])

        assert [c.steps for c in kept.all] == [100]
        assert [m.seen.count(64) for m in made] == [140, 40]
        assert np.array_equal(resumed["logits"], whole["logits"])

    def test_time_that_was_spent_before_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        training = Training(steps=1_000, seconds=300.0, held_out=0.0)
        clock = itertools.count()
        monkeypatch.setattr(loop, "perf_counter", lambda: float(next(clock)))
        made: list[Marginal] = []

        def make(device: Any, random: Any) -> Marginal:
            made.append(Marginal(device, random))
            return made[-1]

        _, kept = self.kept(make, training)
        self.kept(make, training, kept.all[0])

        assert [c.steps for c in kept.all] == [200]
        assert [len(m.seen) for m in made] == [300, 100]

    def test_that_of_another_network_is_refused(self) -> None:
        training = Training(steps=50, held_out=0.0)
        _, kept = self.kept(Two, training)

        with pytest.raises(ReleaseFileError, match="does not fit the network"):
            self.kept(Marginal, training, kept.all[0])


class TestPicks:
    def test_batches_are_what_the_pick_makes_of_the_records_that_are_trained_on(self) -> None:
        tables: list[int] = []

        def picks(table: Any) -> Any:
            tables.append(len(table))
            return lambda n, random: table[:1].expand(2 * n, 1)

        networks: list[Marginal] = []

        def make(device: Any, random: Any) -> Marginal:
            networks.append(Marginal(device, random))
            return networks[0]

        training = Training(steps=4, batch=50, held_out=0.0)
        train(make, RECORDS, training, lambda step, done: None, seed=0, picks=picks)

        assert tables == [500]
        assert networks[0].seen == [100] * 4

    def test_a_long_gradient_is_shortened_to_what_the_network_asks_for(self) -> None:
        training = Training(steps=1, batch=50, held_out=0.0, average=0.0)

        def moved(longest: float) -> float:
            # The betas of zero leave a step of the rate times the gradient over its length and a constant.
            descent = Descent(betas=(0.0, 0.0), longest_gradient=longest)
            found = train(Two, RECORDS, training, lambda step, done: None, seed=0, descent=descent)
            return abs(found["one"].item())

        assert moved(1e-9) < 0.5 * moved(5.0)


class TestOptions:
    def test_wrong_ones_are_refused_by_name(self) -> None:
        for wrong in [{"steps": 0}, {"seconds": 0}, {"held_out": 1.0}, {"average": -0.1}, {"device": ""}]:
            with pytest.raises(ArgumentError, match=next(iter(wrong))):
                Training(**wrong)

    def test_a_device_that_is_not_there_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="no device 'xyz'"):
            trained(Training(device="xyz"))

    def test_a_device_without_numbers_is_refused_and_so_are_threads_that_no_system_starts(self) -> None:
        with pytest.raises(ArgumentError, match=r"no device 'meta' .*that can compute; use .auto."):
            trained(Training(device="meta"))
        with pytest.raises(ArgumentError, match="threads must be an integer from 1 to 1024"):
            Training(threads=100_000)


class Bounded(Marginal):
    """A loss that stays a number however far the logits go, as that of a saturated network does."""

    def losses(self, records: Any, random: Any) -> Any:
        return super().losses(records, random).clamp_max(1e4)


class NeverLooked(Marginal):
    """Its loss is a number only where it is trained."""

    def losses(self, records: Any, random: Any) -> Any:
        found = super().losses(records, random)
        return found if torch.is_grad_enabled() else found * math.nan


class TestDivergence:
    @pytest.mark.parametrize("held_out", [0.0, 0.1])
    def test_records_that_end_less_probable_than_they_began_are_an_error(
        self, held_out: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loop, "warmth", lambda done, step: 1e5)
        training = Training(steps=200, learning_rate=0.01, held_out=held_out, average=0.0)

        with pytest.raises(TrainingError, match=r"diverged: .* lower learning_rate, which is 0\.01"):
            train(Bounded, RECORDS, training, lambda step, done: None, seed=0)

    @pytest.mark.parametrize(
        ("limits", "longer"),
        [({"steps": 40}, "steps"), ({"steps": 40, "seconds": 60.0}, "steps and seconds")],
    )
    def test_of_a_short_training_the_error_says_how_to_make_it_longer(
        self, limits: dict[str, Any], longer: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loop, "warmth", lambda done, step: 1e5)
        training = Training(learning_rate=0.01, held_out=0.0, average=0.0, **limits)

        with pytest.raises(
            TrainingError,
            match=rf"after 40 steps, .*: raise {longer}, or lower learning_rate, which is 0\.01",
        ):
            train(Bounded, RECORDS, training, lambda step, done: None, seed=0)

    def test_so_are_looks_that_find_no_number(self) -> None:
        training = Training(steps=200, patience=2)

        with pytest.raises(TrainingError, match="lower learning_rate"):
            train(NeverLooked, RECORDS, training, lambda step, done: None, seed=0)

    def test_the_losses_of_a_contest_say_nothing(self) -> None:
        training = Training(steps=20, held_out=0.0)
        found = train(
            NeverLooked,
            RECORDS,
            training,
            lambda step, done: None,
            seed=0,
            descent=Descent(is_contest=True),
        )

        assert np.isfinite(found["logits"]).all()

    def test_a_network_that_can_learn_nothing_more_is_none(self) -> None:
        for records in (RECORDS[:1], np.zeros((50, 1), np.int64), RECORDS):
            assert np.isfinite(trained(Training(steps=30), records=records)).all()

    @pytest.mark.parametrize("rate", [1e-8, 1.001, 1e30, math.nan])
    def test_rates_of_which_nothing_can_be_learned_are_refused(self, rate: float) -> None:
        for kind in (Training, NoisyTraining):
            with pytest.raises(
                ArgumentError, match=r"learning_rate must be a number from 1e-7 to 1, .* 5e-4"
            ):
                kind(learning_rate=rate)
