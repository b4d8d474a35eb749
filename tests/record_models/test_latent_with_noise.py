"""TVAE's network with a budget: what a record adds, released marginals, files; and bugs that must be found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from record_cases import SCHEMA, private, table
from test_record_and_replay import compare

import syntabula as st
from syntabula.errors import ArgumentError, BudgetError
from syntabula.marginals.domain import Domain
from syntabula.privacy.training import per_record
from syntabula.privacy.training.gradient_parts import Weights
from syntabula.privacy.training.records import TrainingSession
from syntabula.record_models.encoding import Encoder, plain_encoding
from syntabula.record_models.levels import merged_levels
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.record_models.one_way import OneWayStart
from syntabula.record_models.variational import Variational, VariationalNetwork

torch = pytest.importorskip("torch")

KIND = "variational"
DOMAIN = Domain(("a", "b", "c"), (3, 12, 5), frozenset({"b"}))
CLIP = 0.01
Plant = Callable[[pytest.MonkeyPatch], None]


def network() -> VariationalNetwork:
    """Return a network with weights of all sizes."""
    counts = {c: np.arange(1.0, DOMAIN.size(c) + 1) for c in DOMAIN}
    random = torch.Generator().manual_seed(0)
    encoder = Encoder(plain_encoding(DOMAIN, counts), {}, "cpu")
    made = Variational(units=8, hidden=3)._noisy_network(encoder, random)
    for weight in made.parameters.values():
        weight += 0.3 * torch.randn(weight.shape, generator=random)
    return made


def clipped(made: VariationalNetwork, record: Any) -> Any:
    """Return what one record adds to a sum, as one vector."""
    random = torch.Generator().manual_seed(1)
    parts = per_record.clipped_sum(made.losses, made.parameters, record[None], random, clip=CLIP)
    return torch.cat([part.flatten() for part in parts.values()])


def longest() -> float:
    """Return the length of what a record adds to a sum, the longest of twenty."""
    made = network()
    records = np.random.default_rng(0).integers(0, DOMAIN.sizes, (20, 3))
    return max(float(clipped(made, record).norm()) for record in torch.as_tensor(records))


class TestRecord:
    def test_adds_its_gradient_cut_to_the_clip(self) -> None:
        made, record = network(), torch.tensor([2, 7, 1])
        weights = [w.requires_grad_() for w in made.parameters.values()]

        found = clipped(made, record)

        loss = made.losses(record[None], torch.Generator().manual_seed(1)).sum()
        whole = torch.cat([g.flatten() for g in torch.autograd.grad(loss, weights)])
        wanted = whole * CLIP / whole.norm()
        np.testing.assert_allclose(found, wanted, atol=1e-5 * CLIP)
        assert float(whole.norm()) > CLIP

    def test_never_adds_more_than_the_clip(self) -> None:
        assert 0.99 * CLIP < longest() <= CLIP

    def test_has_all_weights_that_there_are(self) -> None:
        assert all(w.numel() for w in network().parameters.values())


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
    @pytest.mark.parametrize("seed", [0, 5])
    def test_rows_that_satisfy_conditions_come_from_the_released_marginals(self, seed: int) -> None:
        noisy = NoisyTraining(steps=60, rate=0.1, learning_rate=0.3)
        model = private(KIND, epsilon=10.0, seed=seed, noisy=noisy).fit(table(2_000), SCHEMA).model
        while not isinstance(model.inner, Variational):
            model = model.inner

        found = model.marginals([(c,) for c in model.inner.domain])

        # Raked rows end within .002 of them; those of the network alone are up to .08 away.
        for column, counts in zip(model.inner.domain, found, strict=True):
            wanted = model.inner.one_way(column) / model.inner.one_way(column).sum()
            np.testing.assert_allclose(counts / counts.sum(), wanted, atol=0.004)

    @pytest.mark.thorough
    def test_rows_keep_a_dependence(self) -> None:
        noisy, model = NoisyTraining(steps=200, rate=0.1, learning_rate=0.02), Variational(units=32)

        made = (
            private(KIND, epsilon=10.0, noisy=noisy, model=model).fit(table(), SCHEMA).sample(3_000, seed=0)
        )

        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.3

    def test_a_model_says_how_many_levels_it_can_have(self) -> None:
        with pytest.raises(ArgumentError, match="levels"):
            Variational(levels=31)

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
            "emphasis": 1.0,
        }

        model, _, _ = Variational._read(facts)

        assert (model.levels, model._noisy, model._n_hidden) == (20, False, 4)


BUGS: dict[str, Plant] = {}


def bug(name: str) -> Callable[[Plant], Plant]:
    def register(plant: Plant) -> Plant:
        BUGS[name] = plant
        return plant

    return register


@bug("each layer is cut to the clip on its own")
def _(patch: pytest.MonkeyPatch) -> None:

    def each_layer(losses, parameters, records, random, *, clip):
        state, found = random.get_state(), {}
        for name, weight in parameters.items():
            random.set_state(state)
            parts = per_record._gradients(losses, parameters, records, random)[name]
            factors = (clip / per_record._lengths({name: parts}, records)).clamp_max(1.0)
            found[name] = per_record._summed(weight, parts, Weights(factors))
        return found

    patch.setattr(per_record, "clipped_sum", each_layer)


@bug("the encoder is left out of the length")
def _(patch: pytest.MonkeyPatch) -> None:
    right = per_record._lengths

    def decoder_alone(gradients, records):
        return right({n: g for n, g in gradients.items() if not n.startswith("encoder/")}, records)

    patch.setattr(per_record, "_lengths", decoder_alone)


class TestPlantedBugs:
    @pytest.mark.thorough
    @pytest.mark.parametrize("name", list(BUGS))
    def test_records_that_add_too_much_are_found(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        BUGS[name](monkeypatch)

        assert longest() > 1.01 * CLIP

    def test_hidden_numbers_that_are_normalised_over_a_batch_are_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        right = VariationalNetwork._found

        def normalised(self, offsets, places):
            means, logs = right(self, offsets, places)
            return means - means.mean(0), logs

        monkeypatch.setattr(VariationalNetwork, "_found", normalised)

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

    @pytest.mark.thorough
    def test_codes_that_are_merged_by_exact_counts_are_found(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def merged(self, levels):
            doors = self.doors
            table = doors.tables._records()
            exact = {c: np.bincount(table.column(c), minlength=doors.domain.size(c)) for c in doors.domain}
            second = merged_levels(doors.domain, exact, 3)
            measured = [second.merge_measurement(m) for m in self.measured]
            return OneWayStart(doors.recoded(second), measured, self.recoding.then(second))

        monkeypatch.setattr(OneWayStart, "merged", merged)

        with pytest.raises((AssertionError, pytest.fail.Exception, ValueError, st.errors.SyntabulaError)):
            compare("tvae", "approximate", 1, tmp_path)
