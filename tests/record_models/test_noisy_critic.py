"""CTGAN's critic with a budget: what a record adds, how rows move, released marginals; and bugs that must be found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from record_cases import SCHEMA, private, table

import syntabula as st
from syntabula.errors import ArgumentError, BudgetError
from syntabula.marginals.domain import Domain
from syntabula.privacy.training import per_record
from syntabula.privacy.training.records import TrainingSession
from syntabula.record_models import noisy_critic
from syntabula.record_models.adversarial import Adversarial
from syntabula.record_models.encoding import plain_encoding
from syntabula.record_models.noisy_critic import NoisyCritic, new_critic
from syntabula.record_models.noisy_loop import NoisyTraining

torch = pytest.importorskip("torch")

KIND = "adversarial"
DOMAIN = Domain(("a", "b", "c"), (3, 12, 5), frozenset({"b"}))
CLIP = 0.01
Plant = Callable[[pytest.MonkeyPatch], None]


def critic(domain: Domain = DOMAIN, batch: int = 1) -> NoisyCritic:
    """Return a critic with weights of all sizes."""
    counts = {c: np.arange(1.0, domain.size(c) + 1) for c in domain}
    random = torch.Generator().manual_seed(0)
    made = new_critic(plain_encoding(domain, counts), 8, "cpu", random, seed=0, batch=batch)
    for weight in made.parameters.values():
        weight += 0.3 * torch.randn(weight.shape, generator=random)
    return made


def clipped(made: NoisyCritic, record: Any) -> Any:
    """Return what one record adds to a sum, as one vector."""
    random = torch.Generator().manual_seed(1)
    parts = per_record.clipped_sum(made.losses, made.parameters, record[None], random, clip=CLIP)
    return torch.cat([part.flatten() for part in parts.values()])


def longest() -> float:
    """Return the length of what a record adds to a sum, the longest of twenty."""
    made = critic()
    records = np.random.default_rng(0).integers(0, DOMAIN.sizes, (20, 3))
    return max(float(clipped(made, record).norm()) for record in torch.as_tensor(records))


class TestRecord:
    def test_adds_its_gradient_cut_to_the_clip(self) -> None:
        made, record = critic(), torch.tensor([2, 7, 1])
        weights = [w.requires_grad_() for w in made.parameters.values()]

        found = clipped(made, record)

        loss = made.losses(record[None], torch.Generator().manual_seed(1)).sum()
        parts = torch.autograd.grad(loss, weights, allow_unused=True)
        whole = torch.cat(
            [
                torch.zeros(w.numel()) if g is None else g.flatten()
                for g, w in zip(parts, weights, strict=True)
            ]
        )
        np.testing.assert_allclose(found, whole * CLIP / whole.norm(), atol=1e-5 * CLIP)
        assert float(whole.norm()) > CLIP

    def test_never_adds_more_than_the_clip(self) -> None:
        assert 0.99 * CLIP < longest() <= CLIP


def likely(made: NoisyCritic) -> Any:
    """Return how likely the cells of two columns of two and three codes are by marginals and scores [2, 3]."""
    cells = torch.cartesian_prod(torch.arange(2), torch.arange(3))
    scores = made._scores(made._sums(cells))
    chances = made._shares[0][cells[:, 0]] * made._shares[1][cells[:, 1]] * scores.exp()
    return (chances / chances.sum()).numpy().reshape(2, 3)


def held(rows: Any) -> Any:
    """Return the shares of such cells among rows [2, 3]."""
    return np.bincount((rows[:, 0] * 3 + rows[:, 1]).numpy(), minlength=6).reshape(2, 3) / len(rows)


class TestRows:
    def test_that_move_come_to_be_as_likely_as_marginals_and_scores_say(self) -> None:
        made, n = critic(Domain(("a", "b"), (2, 3))), 40_000
        made.parameters["outputs"].mul_(4)
        rows = made.drawn(n, made._random(0))

        made.moved(rows, made._scores(made._sums(rows)), [0, 1] * 15, made._random(1))

        # A share of 40,000 rows is off by 0.013 with probability below 1e-6.
        np.testing.assert_allclose(held(rows), likely(made), atol=0.013)

    def test_that_are_drawn_again_are_so_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(noisy_critic, "_ENOUGH_ROWS", 40_000)
        monkeypatch.setattr(noisy_critic, "_MOVES", 0)
        made = critic(Domain(("a", "b"), (2, 3)), batch=10_000)

        for step, factor in enumerate((2, 3)):
            made.parameters["outputs"].mul_(factor)
            made.follow(step)

        # A share of 40,000 rows of unequal weight is off by 0.03 with probability below 1e-6.
        joint = likely(made)
        np.testing.assert_allclose(held(made.rows), joint, atol=0.03)
        # They are not what independent columns with the same shares would be.
        assert np.abs(joint - np.outer(joint.sum(1), joint.sum(0))).max() > 0.04
        rows = made.last({name: w.numpy() * 1.1 for name, w in made.parameters.items()}, 30_000, 2)

        np.testing.assert_allclose(held(rows), likely(made), atol=0.03)

    def test_alone_move_by_products_that_may_be_rounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = critic()
        none = torch.nan
        monkeypatch.setattr(made, "_of_rows", lambda x, weights, bias: torch.full((len(x), len(bias)), none))

        assert made.losses(made.rows[:5], torch.Generator()).isfinite().all()

        made.follow(0)
        assert made.scored.isnan().all()

    def test_keep_their_scores(self) -> None:
        made = critic()

        made.follow(0)

        torch.testing.assert_close(made.scored, made._scores(made._sums(made.rows)))

    def test_follow_seed_and_step_alone(self) -> None:
        one, other = critic(), critic()

        one.follow(0)
        for theirs, ours in zip(other.following, one.following, strict=True):
            theirs.copy_(ours)
        one.follow(1)
        other.follow(1)

        assert torch.equal(one.rows, other.rows)


class TestRelease:
    @pytest.mark.thorough
    def test_rows_have_the_released_marginals_and_a_file_brings_them_back(self, tmp_path: Path) -> None:
        learned = private(KIND, epsilon=10.0).fit(table(2_000), SCHEMA)
        learned.save(tmp_path / "x.syn")

        made = learned.sample(4_000, seed=0)

        real = table(2_000)
        # 4,000 rows, and 2,000 records: a share is off by 0.07 with probability below 1e-6.
        assert abs((made["kind"] == "large").mean() - (real["kind"] == "large").mean()) < 0.07
        assert abs(made["size"].mean() - real["size"].mean()) < 0.8
        assert st.load(tmp_path / "x.syn").sample(50, seed=1).equals(learned.sample(50, seed=1))

    @pytest.mark.thorough
    def test_rows_keep_a_dependence(self) -> None:
        noisy = NoisyTraining(steps=200, rate=0.1, learning_rate=0.02)

        learned = private(KIND, epsilon=10.0, noisy=noisy, model=Adversarial()).fit(table(), SCHEMA)

        made = learned.sample(3_000, seed=0)
        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.3

    def test_a_model_says_how_many_levels_it_can_have(self) -> None:
        with pytest.raises(ArgumentError, match="levels"):
            Adversarial(levels=31)

    def test_facts_of_before_there_was_noise_are_read(self) -> None:
        facts = {
            "columns": ["a"],
            "sizes": [3],
            "total": 5.0,
            "ordered": [],
            "used": [3],
            "n_modes": [0],
            "modes": 10,
            "hidden": 4,
            "units": 8,
            "layers": 2,
            "critic_units": 8,
            "pac": 1,
            "temperature": 0.2,
            "penalty": 10.0,
            "dropout": 0.0,
        }

        model, _, _ = Adversarial._read(facts)

        assert model.levels == 20


BUGS: dict[str, Plant] = {}


def bug(name: str) -> Callable[[Plant], Plant]:
    def register(plant: Plant) -> Plant:
        BUGS[name] = plant
        return plant

    return register


@bug("the layer of the codes is left out of the length")
def _(patch: pytest.MonkeyPatch) -> None:
    right = per_record._lengths

    def others_alone(gradients, records):
        return right({n: g for n, g in gradients.items() if n != "codes"}, records)

    patch.setattr(per_record, "_lengths", others_alone)


@bug("record and row are cut one by one")
def _(patch: pytest.MonkeyPatch) -> None:
    right = per_record.clipped_sum

    def one_by_one(losses, parameters, records, random, *, clip):
        single = right(losses, parameters, records, random, clip=clip)
        return {name: 2 * part for name, part in single.items()}

    patch.setattr(per_record, "clipped_sum", one_by_one)


class TestPlantedBugs:
    @pytest.mark.parametrize("name", list(BUGS))
    def test_records_that_add_too_much_are_found(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        BUGS[name](monkeypatch)

        assert longest() > 1.01 * CLIP

    def test_rows_of_other_records_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def packed(self, records, random):
            blocks = torch.zeros((len(records), self._width), device=records.device).scatter_(
                1, records.long() + self._starts, 1.0
            )
            scores = self._scores(blocks @ self.parameters["codes"] + self.parameters["bias/0"])
            return scores.roll(1) - scores

        monkeypatch.setattr(NoisyCritic, "losses", packed)

        with pytest.raises(ArgumentError, match="other records"):
            private(KIND).fit(table(200), SCHEMA)

    @pytest.mark.thorough
    def test_a_step_that_is_not_paid_for_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = TrainingSession.gradient

        def of_two(self, losses=None):
            one, other = right(self, losses), right(self, losses)
            return {name: (one[name] + other[name]) / 2 for name in one}

        monkeypatch.setattr(TrainingSession, "gradient", of_two)

        with pytest.raises(BudgetError, match="that were paid for are done"):
            private(KIND).fit(table(200), SCHEMA)
