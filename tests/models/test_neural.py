"""Soft rows made by a network: fits, warm starts, limits and files."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ReleaseFileError, ResourceError
from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import model_from_state, model_state
from syntabula.models.neural import Input, Network, NeuralRows, first_arrays, network_of

torch = pytest.importorskip("torch")

DOMAIN = Domain.from_sizes({"a": 4, "b": 3, "c": 5})
PAIRS = list(combinations("abc", 2))
State = tuple[dict[str, Any], dict[str, np.ndarray]]
SMALL = {"n_rows": 64, "units": 16, "iterations": 300, "learning_rate": 0.01, "device": "cpu"}


def joint(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(60) / 2).reshape(4, 3, 5) * 10_000


def exact(cliques: list[tuple[str, ...]]) -> list[np.ndarray]:
    return [joint().sum(axis=tuple(i for i, c in enumerate("abc") if c not in q)) for q in cliques]


def measured(cliques: list[tuple[str, ...]], sigma: float, seed: int = 1) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    return [
        Measurement(q, m + (rng.normal(0, sigma, m.shape) if sigma else 0.0), sigma)
        for q, m in zip(cliques, exact(cliques), strict=True)
    ]


def distance(model: NeuralRows, cliques: list[tuple[str, ...]]) -> float:
    found = model.marginals(cliques)
    return max(np.abs(f - e).sum() / 20_000 for f, e in zip(found, exact(cliques), strict=True))


class TestDerivative:
    @pytest.mark.parametrize("start", ["codes", "gaussian"])
    def test_is_that_of_the_network_as_the_papers_write_it(
        self, start: Input, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Products of rounded numbers would differ.
        monkeypatch.setattr("syntabula.models.neural.multiplies_bfloat16", lambda device: False)
        rng = np.random.default_rng(0)
        arrays = first_arrays(DOMAIN, rows=30, units=5, start=start, rng=rng)
        network = network_of(DOMAIN, arrays, device=torch.device("cpu"), draw=None)
        network.scales[0].add_(torch.tensor(rng.normal(size=(2, 5)), dtype=torch.float32))
        slope = torch.tensor(rng.normal(size=(30, 12)), dtype=torch.float32)
        parameters = [p.requires_grad_() for p in network.parameters]

        expected = table_as_written(network, arrays["input"])
        slopes = torch.autograd.grad(expected, parameters, slope)
        table = network.table()
        network.backward(slope)

        assert torch.allclose(table, expected, atol=1e-6)
        for parameter, other in zip(parameters, slopes, strict=True):
            assert torch.allclose(parameter.grad, other, atol=1e-4)

    def test_a_table_is_made_anew_once_weights_have_changed(self) -> None:
        arrays = first_arrays(DOMAIN, rows=30, units=5, start="codes", rng=np.random.default_rng(0))
        network = network_of(DOMAIN, arrays, device=torch.device("cpu"), draw=None)
        before = network.table().clone()

        network.bias.add_(torch.arange(12.0))
        network.settle()
        after = network.table()

        assert not torch.allclose(before, after, atol=1e-3)
        assert torch.equal(after, network.table())


def table_as_written(network: Network, start: np.ndarray) -> torch.Tensor:
    """Return what two residual blocks and a softmax per column make of an input."""
    inputs = np.eye(12)[start].sum(axis=1) if start.dtype == np.int64 else start
    by_input = network.from_input.split([5, 5, 12], dim=1)
    seen, before = torch.tensor(inputs, dtype=torch.float32), None
    for layer, (scale, shift) in enumerate(network.scales):
        numbers = seen @ by_input[layer]
        if layer:
            numbers = numbers + before @ network.from_blocks[layer - 1]
        block = torch.relu(torch.nn.functional.batch_norm(numbers, None, None, scale, shift, training=True))
        before = torch.cat([block, before], dim=1) if layer else block
    logits = seen @ by_input[2] + before @ network.from_blocks[-1] + network.bias
    return torch.cat([p.softmax(dim=1) for p in logits.split(DOMAIN.sizes, dim=1)], dim=1)


class TestFit:
    @pytest.mark.thorough
    @pytest.mark.parametrize("start", ["codes", "gaussian"])
    @pytest.mark.parametrize("loss", ["squared", "largest"])
    def test_noiseless_pairs_are_learned(self, start: str, loss: str) -> None:
        model = NeuralRows(start=start, loss=loss, **SMALL | {"iterations": 1500, "tolerance": 1e-9})

        model = model.over(DOMAIN).fit(measured(PAIRS, 0.0))

        assert distance(model, PAIRS) < 0.03

    @pytest.mark.thorough
    def test_an_input_drawn_anew_at_each_step_learns_too(self) -> None:
        model = NeuralRows(fixed_input=False, **SMALL | {"n_rows": 512, "tolerance": 1e-9})

        model = model.over(DOMAIN).fit(measured(PAIRS, 0.0))

        assert distance(model, PAIRS) < 0.1

    def test_the_number_of_records_is_estimated(self) -> None:
        model = NeuralRows(**SMALL).over(DOMAIN).fit(measured([("a",), ("b",)], 5.0))

        assert model.total == pytest.approx(10_000, abs=100)
        assert model.marginals([("a",)])[0].sum() == pytest.approx(model.total)

    def test_the_number_of_records_alone_leaves_all_codes_equally_likely(self) -> None:
        model = NeuralRows(**SMALL).over(DOMAIN).fit([Measurement((), np.array(600.0), 1.0)])

        assert np.allclose(model.marginals([("a", "b")])[0], 50)

    @pytest.mark.thorough
    def test_a_second_fit_goes_on_from_the_first(self) -> None:
        first = NeuralRows(**SMALL).over(DOMAIN).fit(measured(PAIRS, 0.0))

        again = first.fit(measured(PAIRS, 0.0))

        assert distance(again, PAIRS) < distance(first, PAIRS)

    @pytest.mark.thorough
    def test_a_fit_leaves_the_model_that_it_starts_from_as_it_is(self) -> None:
        first = NeuralRows(**SMALL).over(DOMAIN).fit(measured([("a",)], 5.0))
        before = {name: array.copy() for name, array in first.state()[1].items()}

        first.fit(measured(PAIRS, 0.0))

        after = first.state()[1]
        assert all(np.array_equal(before[name], after[name]) for name in before)

    @pytest.mark.thorough
    def test_the_same_seed_gives_the_same_model(self) -> None:
        one, same, other = (
            NeuralRows(seed=s, **SMALL).over(DOMAIN).fit(measured(PAIRS, 5.0)) for s in (0, 0, 1)
        )

        assert np.array_equal(one.rows.probabilities, same.rows.probabilities)
        assert not np.array_equal(one.rows.probabilities, other.rows.probabilities)

    @pytest.mark.thorough
    def test_the_newest_marginals_weigh_more_in_the_fit_that_brings_them(self) -> None:
        """Two measurements of one column contradict each other by way of pairs; the newer one wins."""
        even, skewed = np.array([2500.0] * 4), np.array([7000.0, 1000, 1000, 1000])
        old = Measurement(("a",), even, 10.0)
        new = Measurement(("a", "b"), np.repeat(skewed[:, None] / 3, 3, axis=1), 10.0)
        options = SMALL | {"stop_at_noise": False, "tolerance": 1e-9}

        plain = NeuralRows(emphasis=1.0, **options).over(DOMAIN).fit([old]).fit([old, new])
        leaning = NeuralRows(emphasis=30.0, **options).over(DOMAIN).fit([old]).fit([old, new])

        (of_plain,), (of_leaning,) = plain.marginals([("a",)]), leaning.marginals([("a",)])
        assert abs(of_leaning[0] - 7000) < abs(of_plain[0] - 7000) - 100


class TestLimits:
    def test_training_beyond_the_memory_is_refused_before_it_starts(self) -> None:
        wide = Domain.from_sizes(dict.fromkeys("abcd", 3000))
        model = NeuralRows(max_memory_mb=100.0).over(wide)

        with pytest.raises(ResourceError, match="100 MB"):
            model.fit([Measurement(("a",), np.zeros(3000), 1.0)])

    @pytest.mark.thorough
    def test_the_size_is_stated_beforehand(self) -> None:
        model = NeuralRows(**SMALL).over(DOMAIN)

        stated = model.memory_mb(PAIRS)

        held = sum(a.nbytes for a in model.fit(measured(PAIRS, 5.0)).state()[1].values()) / 2**20
        assert held <= stated <= 2 * held

    def test_senseless_options_are_refused_by_name(self) -> None:
        cases = [
            {"n_rows": 1},
            {"units": 0},
            {"iterations": 1.5},
            {"learning_rate": 0},
            {"tolerance": float("nan")},
            {"loss": "cubed"},
            {"start": "anywhere"},
            {"fixed_input": 1},
            {"emphasis": -1.0},
            {"device": ""},
            {"seed": -1},
            {"max_memory_mb": 0},
        ]
        for options in cases:
            with pytest.raises(ArgumentError, match=next(iter(options))):
                NeuralRows(**options)  # type: ignore[arg-type]

    def test_measurements_that_do_not_fit_are_refused(self) -> None:
        for wrong in [[], [Measurement(("a",), np.zeros(3), 1.0)]]:
            with pytest.raises(ArgumentError):
                NeuralRows().over(DOMAIN).fit(wrong)

    def test_an_unbound_model_says_what_to_do(self) -> None:
        with pytest.raises(ArgumentError, match="over"):
            NeuralRows().marginals([("a",)])


@pytest.fixture(scope="module")
def state() -> State:
    """Return what a file of a fitted model holds."""
    state = model_state(NeuralRows(**SMALL).over(DOMAIN).fit(measured(PAIRS, 5.0)))
    assert model_from_state(*state).total == pytest.approx(10_000, abs=100)
    return state


class TestState:
    @pytest.mark.thorough
    @pytest.mark.parametrize("start", ["codes", "gaussian"])
    def test_a_model_comes_back_and_can_be_fitted_on(self, start: str) -> None:
        model = NeuralRows(start=start, **SMALL).over(DOMAIN).fit(measured(PAIRS[:2], 5.0))

        back = model_from_state(*model_state(model))

        assert np.array_equal(back.marginals([("a", "c")])[0], model.marginals([("a", "c")])[0])
        one, other = back.fit(measured(PAIRS, 5.0)), model.fit(measured(PAIRS, 5.0))
        assert np.array_equal(one.marginals(PAIRS)[0], other.marginals(PAIRS)[0])

    def test_an_unfitted_model_comes_back(self) -> None:
        back = model_from_state(*model_state(NeuralRows().over(DOMAIN)))

        assert np.allclose(back.marginals([("a",)])[0], 0.25)

    @pytest.mark.thorough
    def test_damaged_arrays_are_refused(self, state: State) -> None:
        facts, arrays = state
        for name in ["rows", "parameters/bias", "parameters/input", "parameters/from_blocks/1"]:
            for damaged in (arrays[name][:-1], arrays[name][None], arrays[name] * np.nan):
                with pytest.raises(ReleaseFileError):
                    model_from_state(facts, arrays | {name: damaged})

    @pytest.mark.thorough
    def test_a_missing_array_is_refused(self, state: State) -> None:
        facts, arrays = state

        for name in arrays:
            with pytest.raises(ReleaseFileError):
                model_from_state(facts, {n: a for n, a in arrays.items() if n != name})

    @pytest.mark.thorough
    def test_an_input_outside_the_domain_is_refused(self, state: State) -> None:
        facts, arrays = state

        with pytest.raises(ReleaseFileError):
            model_from_state(facts, arrays | {"parameters/input": arrays["parameters/input"] + 1})

    @pytest.mark.thorough
    def test_damaged_facts_are_refused(self, state: State) -> None:
        facts, arrays = state
        for change in [{"total": -1.0}, {"columns": ["a"]}, {"units": "two"}, {"fitted": 3}]:
            with pytest.raises(ReleaseFileError):
                model_from_state(facts | change, arrays)
