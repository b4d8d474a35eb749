"""GReaT with a pretrained model of the user's: rows, files, given values, and what is never done."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tiny_language import UNITS, saved

import syntabula as st
from syntabula.errors import ArgumentError, BudgetError, ReleaseFileError
from syntabula.models.base import model_from_state, model_state
from syntabula.record_models.loop import Training
from syntabula.record_models.pretrained_writing import TokenPages, WrittenRecords

QUICK = Training(steps=30, batch=32, learning_rate=1e-2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("a model of ours"))


def table(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.choice(["large, is", 'small "one"'], n)
    return pd.DataFrame(
        {"kind is": kind, "bit": np.where(kind == "large, is", 1, 0), "size": rng.integers(0, 40, n)}
    )


def method(folder: Path, **options: Any) -> st.GReaT:
    given = {"epsilon": math.inf, "training": QUICK, "allow_observed": True, "seed": 0}
    return st.GReaT(**(given | options)).with_options(model_path=str(folder), rank=4)


@pytest.fixture(scope="module")
def release(folder: Path) -> st.Release:
    return method(folder).fit(table())


class TestRows:
    @pytest.mark.thorough
    def test_every_text_is_a_row(self, release: st.Release) -> None:
        made = release.sample(60, seed=0)

        assert list(made.columns) == list(table().columns)
        assert set(made["kind is"]) == {"large, is", 'small "one"'}
        assert made["size"].between(0, 39).all()
        assert not made.isna().any().any()
        assert made.equals(release.sample(60, seed=0))

    @pytest.mark.thorough
    def test_given_values_hold_whether_a_record_had_them_or_not(self, release: st.Release) -> None:
        given = pd.DataFrame({"kind is": ["large, is", 'small "one"'] * 10, "size": [3, 39] * 10})

        made = release.sample(given=given, seed=0)

        assert made["kind is"].tolist() == given["kind is"].tolist()
        assert made["size"].tolist() == given["size"].tolist()

    @pytest.mark.thorough
    def test_it_learns_what_columns_tell_of_each_other(self, tmp_path: Path) -> None:
        # Embeddings are as large as a pretrained model's: those of the other tests can hardly say anything.
        folder = saved(tmp_path / "a model", initializer_range=0.2)
        made = (
            method(folder, training=Training(steps=150, batch=32, learning_rate=1e-2))
            .fit(table())
            .sample(1_000, seed=0)
        )

        # Of rows that know nothing of each other half agree.
        assert np.mean((made["kind is"] == "large, is") == (made["bit"] == 1)) > 0.9

    @pytest.mark.thorough
    def test_the_same_seed_gives_the_same_model(self, folder: Path) -> None:
        one, other = (method(folder).with_options(steps=2).fit(table(60)) for _ in range(2))

        assert one.sample(5, seed=1).equals(other.sample(5, seed=1))


class TestFile:
    @pytest.mark.thorough
    def test_a_loaded_release_needs_neither_the_folder_nor_its_name(
        self, release: st.Release, folder: Path, tmp_path: Path
    ) -> None:
        release.save(tmp_path / "x.syn")

        loaded = st.load(tmp_path / "x.syn")

        assert loaded.sample(20, seed=1).equals(release.sample(20, seed=1))
        with zipfile.ZipFile(tmp_path / "x.syn") as parts:
            for name in parts.namelist():
                assert folder.name.encode() not in parts.read(name)

    @pytest.mark.thorough
    def test_what_does_not_fit_together_is_refused(self, release: st.Release) -> None:
        facts, arrays = model_state(release.model)
        wrong: list[tuple[dict[str, Any], dict[str, Any]]] = [
            ({"used": [2, 2, 3]}, {}),
            ({"model_path": "/etc"}, {}),
            ({"config": "[]"}, {}),
            ({"config": '{"model_type": "gpt2", "auto_map": {"AutoConfig": "x.Y"}}'}, {}),
            ({"network": {}}, {}),
            ({"start": []}, {}),
            ({"prefixes": [[1], [2]]}, {}),
            ({}, {"tokens": arrays["tokens"][:-1]}),
            ({}, {"lengths": arrays["lengths"].astype(np.int64)}),
            ({}, {"one_way": np.full_like(arrays["one_way"], np.nan)}),
            ({}, {"weights/transformer.ln_f.bias": np.full(UNITS, np.nan, np.float32)}),
        ]
        model_from_state(facts, arrays)

        for changed, spoiled in wrong:
            with pytest.raises((ReleaseFileError, ArgumentError)):
                model_from_state({**facts, **changed}, {**arrays, **spoiled})

    def test_a_configuration_of_another_network_is_refused_before_it_takes_memory(
        self, release: st.Release
    ) -> None:
        facts, arrays = model_state(release.model)
        for config in ('{"model_type": "gpt2", "n_embd": 1000000000}', '{"model_type": "no such model"}'):
            loaded = model_from_state({**facts, "config": config}, arrays)
            with pytest.raises(ReleaseFileError, match="incomplete or inconsistent"):
                loaded.sample(1, np.random.default_rng(0))


class TestReading:
    def test_records_side_by_side_are_read_as_each_alone(self, release: st.Release) -> None:
        import torch

        model, texts = release.model._model, release.model._bound_texts
        device = model.device
        pages = TokenPages(model, texts, device, 3)
        sizes = [np.array([2, 10, 40]), np.array([0, 1, 2])]
        pages.copy(2, sizes[0])
        pages.copy(0, sizes[1])
        hidden = pages._hidden

        for row in range(3):
            words = list(texts.start)
            for column, codes in ((2, sizes[0]), (0, sizes[1])):
                if codes[row] < len(texts.values[column]):
                    words += [*texts.prefixes[column], *texts.values[column][codes[row]]]
            with torch.no_grad():
                alone = model.base_model(input_ids=torch.tensor([words], device=device)).last_hidden_state[
                    0, -1
                ]
            torch.testing.assert_close(hidden[row], alone, rtol=1e-4, atol=1e-4)

    def test_a_loss_is_that_of_the_values_of_each_record(self, release: st.Release) -> None:
        import torch

        model, texts = release.model._model, release.model._bound_texts
        reader = WrittenRecords(model, texts, model.device)
        records = torch.tensor([[0, 1, 5], [1, 0, 12]], device=model.device)
        random = torch.Generator(model.device).manual_seed(3)
        order = torch.rand((2, 3), generator=random, device=model.device).argsort(1)

        found = reader.losses(records, torch.Generator(model.device).manual_seed(3))

        place = {int(t): i for i, t in enumerate(texts.vocabulary)}
        for row in range(2):
            words, asked = list(texts.start), []
            for column in order[row].tolist():
                words += texts.prefixes[column]
                value = texts.values[column][int(records[row, column])]
                asked += [(len(words) + i, token) for i, token in enumerate(value)]
                words += value
            logits = model(input_ids=torch.tensor([words], device=model.device)).logits[0][
                :, texts.vocabulary
            ]
            told = logits.log_softmax(1)
            expected = -sum(float(told[at - 1, place[token]]) for at, token in asked)
            assert float(found[row]) == pytest.approx(expected, rel=1e-4)


class TestRefusals:
    def test_a_finite_budget(self, folder: Path) -> None:
        with pytest.raises(BudgetError, match="cannot keep a privacy budget"):
            method(folder, epsilon=1.0)

    def test_a_record_that_is_longer_than_the_model_reads(self, tmp_path: Path) -> None:
        short = saved(tmp_path, n_positions=16)

        with pytest.raises(ArgumentError, match=r"a record may take \d+ tokens, and the model .* reads 16"):
            method(short).fit(table(20))

    def test_a_tokenizer_that_knows_none_of_the_words(self, tmp_path: Path) -> None:
        names = saved(tmp_path / "names", words=("a", "is", ",", *"0123456789"))
        digits = saved(tmp_path / "digits", words=("kind", "is", "bit", "size", ","))

        with pytest.raises(
            ArgumentError, match=r"does not know 3 of 4 words or signs in the names of the columns"
        ):
            method(names).fit(table(20))
        with pytest.raises(
            ArgumentError, match="values of column 'kind is' alike, and digits in place of them"
        ):
            method(digits).fit(table(20))
        with pytest.raises(ArgumentError, match="values of column 'kind is' alike"):
            method(digits).plan(st.Schema({"kind is": st.Boolean(), "bit": st.Boolean()}))


@pytest.mark.thorough
def test_a_plan_says_how_long_a_step_takes(folder: Path) -> None:
    schema = st.Schema({"a": st.Categorical(("x", "y")), "b": st.Numeric(0.0, 9.0)})
    short, long = (method(folder).with_options(steps=n).plan(schema, 1_000) for n in (10, 10_000))

    assert 0 < short.seconds < long.seconds


def test_a_batch_and_rate_that_are_not_set_are_those_of_fine_tuning(folder: Path) -> None:
    plain = st.GReaT(epsilon=math.inf)

    tuned = plain.with_options(model_path=str(folder)).learner
    chosen = plain.with_options(model_path=str(folder), batch=8).learner

    assert (tuned.training.batch, tuned.training.learning_rate) == (16, 5e-4)
    assert (chosen.training.batch, chosen.training.learning_rate) == (8, 5e-4)
    assert plain.learner.training.batch == 256
