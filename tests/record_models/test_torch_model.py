"""TorchModel: a small autoencoder as a plug-in, what is drawn given codes, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import _register, testing
from syntabula.errors import ArgumentError, ConditionWarning, ReleaseFileError
from syntabula.marginals.counting import engine_for
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.plugins import NoisyTrained
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.record_models.learner import RecordLearner
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.record_models.torch_model import TorchModel

torch = pytest.importorskip("torch")
nn = torch.nn

DOMAIN = Domain(("a", "b", "c"), (3, 4, 2), frozenset({"b"}))


class Autoencoder(nn.Module):
    def __init__(self, columns: Any, hidden: int, between: nn.Module | None) -> None:
        super().__init__()
        sizes = [column.size for column in columns]
        self.codes = nn.ModuleList([nn.Embedding(size, 16) for size in sizes])
        self.found = nn.Linear(16, 2 * hidden)
        self.heads = nn.ModuleList([nn.Linear(hidden, size) for size in sizes])
        self.between = nn.Identity() if between is None else between
        self.hidden = hidden


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded(TorchModel):
    """A variational autoencoder, which draws rows and leaves given columns to its base."""

    kind: ClassVar[str] = "encoded"
    between: ClassVar[Any] = None

    hidden: int = 4

    def __post_init__(self) -> None:
        if not 0 < self.hidden < 100:
            raise ArgumentError("hidden must be a number from 1 to 99")

    def network(self, columns: Any) -> nn.Module:
        return Autoencoder(columns, self.hidden, None if self.between is None else type(self).between())

    def losses(self, network: Any, records: Any, random: Any) -> Any:
        value = sum(table(records[:, j]) for j, table in enumerate(network.codes))
        means, logs = network.found(network.between(value).tanh()).chunk(2, 1)
        drawn = means + (logs / 2).exp() * torch.randn(means.shape, generator=random, device=means.device)
        each = [
            nn.functional.cross_entropy(head(drawn), records[:, j], reduction="none")
            for j, head in enumerate(network.heads)
        ]
        return 2 * sum(each) + (means.square() + logs.exp() - logs - 1).sum(1) / 2

    def rows(self, network: Any, n: int, random: Any) -> Any:
        hidden = torch.randn((n, network.hidden), generator=random)
        drawn = [head(hidden).softmax(1).multinomial(1, generator=random) for head in network.heads]
        return torch.cat(drawn, 1)


class Dropping(Encoded):
    kind = "dropping"
    between = nn.Dropout


class OverBatches(Encoded):
    kind = "over-batches"

    def losses(self, network: Any, records: Any, random: Any) -> Any:
        each = super().losses(network, records, random)
        return each - each.mean()


class Means(Encoded):
    kind = "means"

    def losses(self, network: Any, records: Any, random: Any) -> Any:
        return super().losses(network, records, random).mean()


class Remembering(Encoded):
    kind = "remembering"
    between = staticmethod(lambda: nn.BatchNorm1d(16))


class Convolving(Encoded):
    kind = "convolving"
    between = staticmethod(
        lambda: nn.Sequential(nn.Unflatten(1, (1, 16)), nn.Conv1d(1, 1, 3, padding=1), nn.Flatten())
    )


class Beyond(Encoded):
    kind = "beyond"

    def rows(self, network: Any, n: int, random: Any) -> Any:
        return super().rows(network, n, random) + 5


class Halved(Encoded):
    kind = "halved"

    def rows(self, network: Any, n: int, random: Any) -> Any:
        return super().rows(network, n // 2, random)


class Floating(Encoded):
    kind = "floating"

    def rows(self, network: Any, n: int, random: Any) -> Any:
        return super().rows(network, n, random) + 0.3


class Doubled(Encoded):
    """Draws positions as whole floats."""

    kind = "doubled"

    def rows(self, network: Any, n: int, random: Any) -> Any:
        return super().rows(network, n, random).double()


class Arrays(Encoded):
    kind = "arrays"

    def rows(self, network: Any, n: int, random: Any) -> Any:
        return super().rows(network, n, random).numpy()


class Stumbling(Encoded):
    kind = "stumbling"

    def rows_given(self, network: Any, records: Any, known: Any, random: Any) -> Any:
        raise IndexError("no such column")


class Numberless(Encoded):
    kind = "numberless"

    def losses(self, network: Any, records: Any, random: Any) -> Any:
        return super().losses(network, records, random) * float("nan")


class Constant(Encoded):
    kind = "constant"

    def losses(self, network: Any, records: Any, random: Any) -> Any:
        return torch.zeros(len(records))


class Misshapen(Encoded):
    kind = "misshapen"

    def network(self, columns: Any) -> nn.Module:
        raise ValueError("shapes differ")


BROKEN = (Beyond, Halved, Floating, Arrays, Stumbling, Numberless, Constant, Misshapen)
MADE = (Encoded, Dropping, OverBatches, Means, Remembering, Convolving, Doubled, *BROKEN)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for kind in MADE:
        _register.register("record_model")(kind)
    yield
    for kind in MADE:
        _register._of_session.pop(("record_model", kind.kind), None)


def records(n: int = 1_500) -> EncodedTable:
    """Rows in which b follows a, and no a is 2."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, n)
    columns = (a, 2 * a + rng.integers(0, 2, n), rng.integers(0, 2, n))
    return EncodedTable(DOMAIN, tuple(column.astype(np.uint8) for column in columns))


def trained(model: Any, *, steps: int = 5, budget: Budget | None = None) -> Any:
    learner = RecordLearner(
        model=model,
        training=Training(steps=steps, batch=256, learning_rate=2e-2, device="cpu"),
        noisy=NoisyTraining(steps=steps, rate=0.2, clip=2.0),
        budget=budget or Budget.none(),
    )
    curator = Curator(engine_for(records(), limit_mb=100.0), Ledger(learner.budget), SeededNoise(1))
    found, _ = learner.learn(Doors(curator), share=Fraction(1), progress=lambda step, done: None)
    return found


FINITE = Budget(10.0, 1e-5).with_failure_delta(1e-6)


@pytest.fixture(scope="module")
def model() -> Any:
    _register.register("record_model")(Encoded)
    return trained(Encoded(), steps=250)


@pytest.mark.thorough
def test_it_passes_the_battery() -> None:
    testing.check_record_model(Encoded(hidden=2))


@pytest.mark.thorough
def test_rows_follow_the_records_and_have_no_code_without_records(model: Any) -> None:
    rows = model.sample(2_000, np.random.default_rng(0))

    # Of 2,000 rows half would agree by chance, with a standard deviation of 0.011.
    assert (rows.column("a") == rows.column("b") // 2).mean() > 0.7
    assert not (rows.column("a") == 2).any()


@pytest.mark.thorough
def test_positions_may_be_whole_floats() -> None:
    doubled = trained(Doubled())

    rows = doubled.sample(500, np.random.default_rng(3))

    assert rows.n_rows == 500
    Doubled().try_out(noisy=True)


def test_given_codes_are_matched_among_tried_rows(model: Any) -> None:
    given = EncodedTable(DOMAIN.project(["a"]), (np.repeat([0, 1], 300).astype(np.uint8),))

    rows = model.sample(600, np.random.default_rng(0), given)

    assert (rows.column("b") // 2 == given.column("a")).mean() > 0.7
    # Of 600 rows half have each c: its standard deviation is 0.02.
    assert 0.35 < (rows.column("c") == 1).mean() < 0.65


def test_a_given_code_that_no_record_had_tells_nothing(model: Any) -> None:
    given = EncodedTable(DOMAIN.project(["a"]), (np.full(500, 2, dtype=np.uint8),))

    with pytest.warns(ConditionWarning, match="no record had"):
        rows = model.sample(500, np.random.default_rng(0), given)

    assert (rows.column("a") == 2).all()
    assert 0.3 < (rows.column("b") < 2).mean() < 0.7


@pytest.mark.thorough
def test_a_budget_gives_the_dependence_too() -> None:
    rows = trained(Encoded(), steps=150, budget=FINITE).sample(2_000, np.random.default_rng(0))

    assert (rows.column("a") == rows.column("b") // 2).mean() > 0.6


def test_with_a_budget_a_loss_that_breaks_the_promise_is_refused() -> None:
    for kind, why in [
        (Dropping, "draw from the given generator alone"),
        (OverBatches, "depends on other records"),
        (Means, r"one number for each record"),
        (Convolving, "gradient of a single record is not known"),
    ]:
        with pytest.raises(ArgumentError, match=why):
            trained(kind(), budget=FINITE)


def test_without_a_budget_any_layer_will_do() -> None:
    assert trained(Convolving()).sample(10, np.random.default_rng(0)).n_rows == 10


def test_what_a_file_would_not_hold_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"keeps 'between\.running_mean' beside its parameters"):
        trained(Remembering())


@pytest.mark.thorough
def test_the_battery_finds_draws_from_another_generator() -> None:
    with pytest.raises(AssertionError, match="draw from the given generator alone"):
        testing.check_record_model(Dropping())


def test_rows_that_are_no_positions_are_refused() -> None:
    with pytest.raises(ArgumentError, match="no positions of codes"):
        trained(Beyond()).sample(5, np.random.default_rng(0))


class TestTrial:
    """What was written is tried on records that are made up, before anything is paid."""

    def test_what_is_right_leaves_torch_as_it_was(self) -> None:
        before = torch.random.get_rng_state()

        for noisy in (False, True):
            Encoded().try_out(noisy=noisy)

        assert torch.equal(torch.random.get_rng_state(), before)

    def test_each_method_that_breaks_is_named(self) -> None:
        for kind, why in [
            (Beyond, r"Beyond\.rows drew rows that are no positions"),
            (Halved, r"Halved\.rows drew rows that are no positions"),
            (Floating, r"Floating\.rows drew rows that are no positions"),
            (Arrays, r"Arrays\.rows drew rows that are no positions"),
            (Stumbling, r"Stumbling\.rows_given broke with IndexError \(no such column\)"),
            (Numberless, r"Numberless\.losses is no finite number"),
            (Constant, r"Constant\.losses depends on no parameter"),
            (Misshapen, r"Misshapen\.network broke with ValueError \(shapes differ\)"),
            (Means, "one number for each record"),
            (Remembering, r"keeps 'between\.running_mean'"),
        ]:
            for noisy in (False, True):
                with pytest.raises(ArgumentError, match=why):
                    kind().try_out(noisy=noisy)

    def test_a_loss_that_only_a_budget_forbids_is_refused_with_one_alone(self) -> None:
        for kind in (Dropping, OverBatches, Convolving):
            kind().try_out(noisy=False)
            with pytest.raises(ArgumentError, match=r"generator alone|other records|single record"):
                kind().try_out(noisy=True)

    def test_a_fit_refuses_before_anything_is_paid(self, tmp_path: Path) -> None:
        @dataclass(frozen=True, kw_only=True)
        class Method(NoisyTrained):
            key: ClassVar[str] = "encoding"

            model: Encoded = field(default_factory=OverBatches)

        frame = pd.DataFrame({"a": np.arange(2_000) % 30})
        for kind in (OverBatches, Halved):
            method = Method(epsilon=1.0, model=kind(), journal=tmp_path / "run.journal")

            # Without a schema, domains would be paid for first.
            with pytest.raises(ArgumentError, match=r"other records|no positions"):
                method.fit(frame)

            assert not (tmp_path / "run.journal").exists()

    @pytest.mark.parametrize("epsilon", [1.0, math.inf])
    def test_a_loss_that_breaks_is_named_where_a_step_of_declared_columns_is_timed_first(
        self, epsilon: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        @dataclass(frozen=True, kw_only=True)
        class Method(NoisyTrained):
            key: ClassVar[str] = "encoding"

            model: Encoded = field(default_factory=Encoded)

        def breaks(*_: Any) -> Any:
            raise IndexError("beyond")

        monkeypatch.setattr(Encoded, "losses", breaks)
        with pytest.raises(ArgumentError, match=r"Encoded\.losses broke with IndexError \(beyond\)"):
            Method(epsilon=epsilon).fit(
                pd.DataFrame({"a": np.arange(2_000) % 30}), st.Schema({"a": st.Numeric(0, 29, integer=True)})
            )

    def test_a_loss_that_is_no_number_is_refused_where_training_begins_too(self) -> None:
        with pytest.raises(ArgumentError, match="no finite number for records that were made up"):
            trained(Numberless(), budget=FINITE)


def test_an_unregistered_model_is_told_its_group() -> None:
    class Nameless(Encoded):
        kind = "nameless"

    with pytest.raises(ArgumentError, match=r'register\("record_model"\).*syntabula\.record_models'):
        trained(Nameless())


class TestFile:
    def test_options_of_another_network_are_refused(self, model: Any) -> None:
        facts, arrays = model.state()

        with pytest.raises(ReleaseFileError, match="incomplete or inconsistent"):
            Encoded.from_state({**facts, "hidden": 5}, arrays)

    def test_a_vast_network_takes_no_memory_before_it_is_refused(self, model: Any) -> None:
        facts, arrays = model.state()

        @dataclass(frozen=True, kw_only=True, eq=False)
        class Vast(Encoded):
            def __post_init__(self) -> None:
                pass

        with pytest.raises(ReleaseFileError, match="incomplete or inconsistent"):
            Vast.from_state({**facts, "hidden": 10**12}, arrays)
