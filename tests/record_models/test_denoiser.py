"""The network that takes noise off: its losses, and that it is drawn from as it is trained."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syntabula.privacy.training.per_record import clipped_sum, require_separate
from syntabula.record_models import denoising
from syntabula.record_models.denoiser import (
    DenoisingNetwork,
    SeparateDenoising,
    first_weights,
    shapes_of,
    time_waves,
)
from syntabula.record_models.denoising import Denoising, _halfway, first_cuts, with_marginals
from syntabula.record_models.diffusion import Stride, cosine_schedule, strided_levels
from syntabula.record_models.layer_products import ExactLayers
from syntabula.record_models.representation import ColumnLookup, column_lookup
from syntabula.record_models.tabular_diffusion import TabularDiffusion

torch = pytest.importorskip("torch")

from syntabula.record_models.denoising_loss import Asked, CodeColumns, DenoisingLoss  # noqa: E402

KEPT = cosine_schedule(50)


def lookups() -> list[ColumnLookup]:
    return [
        column_lookup(np.array([3.0, 1, 4]), waves=None),
        column_lookup(np.array([5.0, 2, 2, 9]), waves=0),
        column_lookup(np.array([1.0, 1]), waves=None),
    ]


def network(columns: list[ColumnLookup] | None = None, **options: Any) -> DenoisingNetwork:
    columns = lookups() if columns is None else columns
    sizes = [c.size for c in columns if c.waves is None]
    shapes = shapes_of(len(columns) - len(sizes), sizes, units=16, layers=2)
    weights = first_weights(columns, shapes, device="cpu", random=torch.Generator().manual_seed(0))
    return DenoisingNetwork(columns, KEPT, weights, **options)


def asked_of_codes(codes: Any, counted: Any, sizes: list[int]) -> Asked:
    """Return what asks for codes [rows, columns] alone, of which noisy ones tell nothing."""
    places = codes + torch.tensor([0, *np.cumsum(sizes)[:-1]])
    none = torch.zeros((len(codes), 0))
    return Asked(none, none.bool(), places, counted, places, torch.zeros(codes.shape))


def chances_of(logits: Any, codes: list[int]) -> Any:
    """Return the log-probability of a code of each column, of three and two codes, by the one row of logits."""
    asked = asked_of_codes(torch.tensor([codes] * 2), torch.eye(2, dtype=torch.bool), [3, 2])
    return -DenoisingLoss.apply(logits.repeat(2, 1), asked, CodeColumns([3, 2], "cpu"))


def told_of_themselves(made: DenoisingNetwork, values: Any, codes: Any, levels: Any, known: Any) -> Any:
    """Return what a network says, with what noisy codes tell of themselves."""
    places = codes + made._offsets
    said = made._said(values, places, levels, known)
    return said.scatter_add(-1, places + values.shape[-1], made._of_levels[levels, 3:])


def quiet() -> DenoisingNetwork:
    """Return a network that says nothing but the one-way marginals."""
    made = network()
    made.parameters["out"].zero_()
    return made


def separate(columns: list[ColumnLookup] | None = None) -> SeparateDenoising:
    columns = lookups() if columns is None else columns
    return SeparateDenoising(columns, KEPT, network(columns).parameters, draws=8)


def drawing(weights: Any) -> Denoising:
    held = {"cuts": first_cuts(lookups())} | {name: np.asarray(w) for name, w in weights.items()}
    return Denoising(lookups(), held, KEPT, strided_levels(50, 20), ancestral=False)


def records(n: int = 64) -> Any:
    rng = np.random.default_rng(0)
    return torch.as_tensor(np.stack([rng.integers(c.size, size=n) for c in lookups()], 1))


def random(seed: int = 0) -> Any:
    return torch.Generator().manual_seed(seed)


class TestLosses:
    def test_that_of_a_record_depends_on_no_other(self) -> None:
        for draws in [1, 4]:
            made, table = network(draws=draws), records()
            changed = table.clone()
            changed[1:] = (changed[1:] + 1) % 2

            one, other = (made.losses(t, random()) for t in (table, changed))

            assert one.shape == (64,)
            assert one[0] == other[0]
            assert (one[1:] != other[1:]).any()

    def test_several_draws_of_a_record_are_steadier_and_mean_the_same(self) -> None:
        table = records(1).repeat(4_000, 1)

        single, several = (network(draws=n).losses(table, random()) for n in (1, 8))

        assert several.std() < 0.5 * single.std()
        # Six standard errors of the difference.
        assert abs(float(single.mean() - several.mean())) < 6 * float(single.std()) / 4_000**0.5

    def test_each_columns_probabilities_add_up_whatever_the_logits_of_others(self) -> None:
        logits = torch.tensor([[900.0, -900.0, 0.0, -2000.0, -2001.0]])

        first, second = torch.stack([chances_of(logits, [code, code % 2]) for code in range(3)], 1)

        assert first.exp().sum() == pytest.approx(1)
        assert second[:2].exp().tolist() == pytest.approx([0.7310586, 0.2689414])
        assert torch.isfinite(first).all()

    @pytest.mark.parametrize("sizes", [[3, 2, 4], []])
    def test_its_slopes_are_those_of_its_formula(self, sizes: list[int]) -> None:
        """In all rows but the first; there the other columns' logits drown the second one's."""
        generator = random()
        said = torch.randn((6, 2 + sum(sizes)), generator=generator, dtype=torch.float32) * 3
        said[0, 2:5] += 200
        codes = torch.stack(
            [torch.randint(n, (6,), generator=generator) for n in sizes] or [torch.zeros(6)], 1
        )
        codes = codes.long()[:, : len(sizes)]
        counted = torch.rand(codes.shape, generator=generator) < 0.7
        asked = replace(
            asked_of_codes(codes, counted, sizes),
            wanted=torch.randn((6, 2), generator=generator),
            counted_numbers=torch.rand((6, 2), generator=generator) < 0.7,
            of_itself=torch.rand(codes.shape, generator=generator),
        )
        said.requires_grad_()
        weights = torch.rand(6, generator=generator)

        found = DenoisingLoss.apply(said, asked, CodeColumns(sizes, "cpu"))

        wanted = ((said[:, :2] - asked.wanted).square() * asked.counted_numbers).sum(1)
        logits = said[:, 2:].scatter_add(1, asked.noisy, asked.of_itself)
        for j, part in enumerate(torch.split(logits, sizes, 1) if sizes else []):
            wanted = wanted - part.log_softmax(1).gather(1, codes[:, j : j + 1])[:, 0] * counted[:, j]
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        slopes, wanted_slopes = (torch.autograd.grad((x * weights).sum(), said)[0] for x in (found, wanted))
        torch.testing.assert_close(slopes, wanted_slopes, rtol=1e-4, atol=1e-5)

    def test_gradients_are_numbers_beside_columns_with_fewer_codes(self) -> None:
        made = network()
        for weight in made.parameters.values():
            weight.requires_grad_()

        made.losses(records(), random()).mean().backward()

        assert all(torch.isfinite(w.grad).all() for w in made.parameters.values())

    def test_tables_of_one_kind_of_column_have_one(self) -> None:
        for kept in [[0], [1], [0, 2]]:
            columns = [lookups()[j] for j in kept]

            assert torch.isfinite(network(columns).losses(records()[:, kept], random())).all()

    def test_known_columns_add_no_loss(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = network()
        monkeypatch.setattr(made, "_known", lambda n, random: torch.ones((n, 3), dtype=torch.bool))

        assert (made.losses(records(), random()) == 0).all()

    def test_none_are_known_of_most_records_and_never_all(self) -> None:
        known = network()._known(30_000, random()).sum(1)

        shares = np.bincount(known, minlength=4) / 30_000
        # A share has a standard error of .0027; six of them.
        np.testing.assert_allclose(shares, [2 / 3, 1 / 6, 1 / 6, 0], atol=0.017)


class TestFirstWeights:
    def test_they_know_what_a_noisy_code_tells_of_itself(self) -> None:
        made = quiet()

        logits = told_of_themselves(
            made,
            torch.zeros((1, 1)),
            torch.ones((1, 2), dtype=torch.long),
            torch.tensor([30]),
            torch.zeros((1, 3)),
        )[:, 1:]

        # Bayes' rule: the code stayed, or was drawn anew from three.
        stayed, anew = KEPT[30], (1 - KEPT[30]) / 3
        joint = np.exp(lookups()[0].log_shares) * [anew, stayed + anew, anew]
        first = [float(chances_of(logits, [code, 0])[0].exp()) for code in range(3)]
        np.testing.assert_allclose(first, joint / joint.sum(), rtol=1e-4)

    @pytest.mark.thorough
    def test_rows_have_the_one_way_marginals(self) -> None:
        rows = drawing(quiet().parameters).draw(40_000, np.random.default_rng(0))

        for column, lookup in enumerate(lookups()):
            shares = np.bincount(rows[:, column], minlength=lookup.size) / 40_000
            # A share has a standard error of at most .0025; six of them.
            np.testing.assert_allclose(shares, np.exp(lookup.log_shares), atol=0.015)


class TestNoisyTraining:
    def test_a_records_draws_do_not_depend_on_how_many_there_are(self) -> None:
        made = separate()

        levels = made._levels(5, random())

        assert (levels[:3] == made._levels(3, random())).all()
        assert (levels.sort(1).values.diff() >= len(KEPT) // 8 - 1).all()

    def test_each_records_gradient_is_found_at_once(self) -> None:
        made, table = separate(), records(6)
        for weight in made.parameters.values():
            weight.requires_grad_()

        state = random().get_state()
        found = clipped_sum(made.losses, made.parameters, table, random(), clip=0.1)

        wanted = {name: torch.zeros_like(w, dtype=torch.float64) for name, w in made.parameters.items()}
        for record in range(6):
            same = random()
            same.set_state(state)
            loss = made.losses(table, same)[record]
            each = torch.autograd.grad(loss, list(made.parameters.values()))
            length = torch.sqrt(sum(g.double().square().sum() for g in each))
            assert length > 0.1
            for (name, total), g in zip(wanted.items(), each, strict=True):
                wanted[name] = total + g.double() * 0.1 / length
        for name, total in wanted.items():
            np.testing.assert_allclose(found[name].detach(), total.detach(), rtol=1e-3, atol=1e-6)

    def test_no_record_changes_the_loss_of_another(self) -> None:
        made = separate()

        require_separate(made.losses, made.parameters, records(8), random())

    def test_a_code_without_a_count_is_neither_told_nor_asked_for(self) -> None:
        made, table = separate([lookups()[0]]), torch.full((50, 1), 3)

        assert (made.losses(table, random()) == 0).all()


@pytest.mark.thorough
def test_noise_in_weights_leaves_the_one_way_marginals() -> None:
    rng = np.random.default_rng(0)
    weights = {name: w.numpy() + rng.normal(0, 0.1, w.shape) for name, w in quiet().parameters.items()}
    weights = {name: w.astype(np.float32) for name, w in weights.items()} | {"cuts": first_cuts(lookups())}

    moved = with_marginals(lookups(), weights, drawing, 10_000, rng)

    errors = []
    for drawn in (drawing(weights), drawing(moved)):
        rows = drawn.draw(40_000, rng)
        shares = [np.bincount(rows[:, j], minlength=c.size) / 40_000 for j, c in enumerate(lookups())]
        errors.append(
            [np.abs(s - np.exp(c.log_shares)).max() for s, c in zip(shares, lookups(), strict=True)]
        )
    assert max(errors[0]) > 0.06
    # Six standard errors of a share are .015, those of the tried rows another .017.
    assert max(errors[1]) < 0.03


def test_rows_are_drawn_by_the_network_that_was_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numpy and torch say the same of the same noisy rows."""
    monkeypatch.setattr(denoising, "layers_of", ExactLayers)
    made, columns = network(), lookups()
    rng = np.random.default_rng(1)
    weights = {name: rng.normal(size=w.shape).astype(np.float32) for name, w in made.parameters.items()}
    made.parameters = {name: torch.as_tensor(w) for name, w in weights.items()}
    cuts = first_cuts(columns)
    drawn = Denoising(columns, weights | {"cuts": cuts}, KEPT, [50, 20, 0], ancestral=False)
    rows = records(7).numpy()
    numbers = rng.normal(size=(1, 7)).astype(np.float32)
    known = rng.integers(2, size=(3, 7)).astype(np.float32)

    said = drawn._said(rows, numbers, drawn._told[1] + weights["known"].T @ known)
    drawn._add_what_codes_tell(said, rows, float(KEPT[20]))

    wanted = told_of_themselves(
        made,
        torch.as_tensor(numbers.T),
        torch.as_tensor(rows[:, [0, 2]]),
        torch.full((7,), 20),
        torch.as_tensor(known.T),
    )
    np.testing.assert_allclose(said, wanted.T, rtol=1e-3, atol=1e-2)


def test_a_normal_number_keeps_its_spread_in_the_usual_steps() -> None:
    for spread in [1.0, 0.3]:
        kept = cosine_schedule(1000)
        numbers = first = np.random.default_rng(0).normal(size=1_000).astype(np.float32)
        before = None
        for later, earlier in itertools.pairwise(strided_levels(1000, TabularDiffusion().steps_back)):
            stride = Stride(kept[later], kept[earlier])
            # What the best network says of a normal number with this spread: the mean of its turn given where it is.
            share, rest = np.sqrt(stride.later), np.sqrt(1 - stride.later)
            slope = share * rest * (1 - spread**2) / (share**2 * spread**2 + rest**2)
            turns = (slope * numbers).astype(np.float32)
            numbers = numbers - np.float32(stride.angle) * _halfway(turns, stride.angle, before)
            before = turns, stride.angle

        assert numbers.std() / first.std() == pytest.approx(spread, rel=0.03)


def test_codes_of_two_columns_are_equal_as_often_in_the_usual_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine times in ten, by the best network; drawn by what it says where steps begin they are .872 of the time."""
    columns = [column_lookup(np.array([1.0, 1]), waves=None)] * 2
    kept, levels = cosine_schedule(1000), strided_levels(1000, TabularDiffusion().steps_back)
    weights = {name: np.asarray(w) for name, w in network(columns).parameters.items()}
    drawn = Denoising(columns, weights | {"cuts": first_cuts([])}, kept, levels, ancestral=False)
    later = iter(levels)

    def said(rows: Any, numbers: Any, told: Any) -> Any:
        # Of each column, given the noisy code of the other.
        right = 0.5 + 0.4 * kept[next(later)]
        other = np.array([[0], [1], [0], [1]]) == rows[:, [1, 1, 0, 0]].T
        return np.log(np.where(other, right, 1 - right)).astype(np.float32)

    monkeypatch.setattr(drawn, "_said", said)

    rows = drawn.draw(40_000, np.random.default_rng(0))

    # These steps reach .894; six standard errors of a share are .009.
    assert np.mean(rows[:, 0] == rows[:, 1]) == pytest.approx(0.9, abs=0.015)


def test_waves_tell_levels_apart() -> None:
    waves = time_waves(np.arange(1001))

    assert waves.shape == (1001, 128)
    assert len(np.unique(waves.round(4), axis=0)) == 1001
