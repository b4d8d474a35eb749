"""A laboratory's table with limits of detection among its numbers comes out with about as many of them."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

import syntabula as st
from syntabula.metrics.reading import compare

N = 4000
SCHEMA = st.Schema(
    {
        "ward": st.Categorical(("icu", "surgery")),
        "crp": st.Numeric(0, 200, decimals=1, texts=("<0.5", ">200"), nullable=True),
        "wbc": st.Numeric(0, 60, decimals=1),
    }
)


def laboratory() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    ill = rng.random(N) < 0.3
    crp = np.round(np.exp(rng.normal(np.where(ill, 4.5, 0.0), 1.0)), 1)
    texts = np.where(crp < 0.5, "<0.5", np.where(crp > 200, ">200", [f"{c:g}" for c in crp])).astype(object)
    texts[rng.random(N) < 0.04] = None
    return pd.DataFrame(
        {
            "ward": np.where(ill, "icu", "surgery"),
            "crp": texts,
            "wbc": np.round(np.clip(rng.normal(np.where(ill, 15, 8), 2), 0.5, 60), 1),
        }
    )


REAL = laboratory()


@pytest.fixture(scope="module")
def release() -> st.Release:
    return st.MST(epsilon=1.0, delta=1e-5, seed=0).fit(REAL, SCHEMA)


def test_limits_come_out_as_often_as_they_went_in_and_where_they_belong(release: st.Release) -> None:
    rows = release.sample(N, seed=1)

    # Noise of a count has a standard deviation of about 20 records, and a draw of N rows about 20 more.
    for text in ("<0.5", ">200"):
        assert abs((rows["crp"] == text).mean() - (REAL["crp"] == text).mean()) < 0.04
    assert abs(rows["crp"].isna().mean() - REAL["crp"].isna().mean()) < 0.04
    low = (rows["crp"] == "<0.5").groupby(rows["ward"]).mean()
    assert low["surgery"] > low["icu"] + 0.1
    numbers = pd.to_numeric(rows["crp"][~rows["crp"].isin(["<0.5", ">200"])]).dropna()
    real = pd.to_numeric(REAL["crp"], errors="coerce")
    assert numbers.between(0, 200).all()
    assert abs(np.log(numbers.median() / real.median())) < 0.5


def test_rows_with_limits_can_be_asked_for_and_given(release: st.Release) -> None:
    assert set(release.sample(50, where={"crp": "<0.5"}, seed=1)["crp"]) == {"<0.5"}
    assert pd.to_numeric(release.sample(50, where={"crp": "<1 and >=0"}, seed=1)["crp"]).max() < 1
    either = release.sample(200, where={"crp": [(100, None), ">200"]}, seed=1)["crp"]
    assert (either == ">200").any()
    assert pd.to_numeric(either[either != ">200"]).min() >= 100

    given = release.sample(given=pd.DataFrame({"crp": ["<0.5", ">200", "3.4", None]}), seed=1)

    assert given["crp"].tolist()[:3] == ["<0.5", ">200", "3.4"]
    assert given["crp"].isna().tolist() == [False, False, False, True]


def test_given_texts_keep_their_spelling(release: st.Release, tmp_path: Path) -> None:
    spelled = ["<0.5", "3.40", "03.4", "1e1", "7"]
    frame = pd.DataFrame({"crp": [*spelled, None]})
    (tmp_path / "given.csv").write_text("crp\n" + "\n".join(spelled) + "\n")
    frame[:-1].to_parquet(tmp_path / "given.parquet")

    for source in (frame, polars.from_pandas(frame), tmp_path / "given.csv", tmp_path / "given.parquet"):
        assert release.sample(given=source, seed=1)["crp"].tolist()[:5] == spelled
    release.sample_to(tmp_path / "drawn.csv", given=tmp_path / "given.csv", seed=1)
    assert pd.read_csv(tmp_path / "drawn.csv", dtype=str)["crp"].tolist() == spelled


def test_given_numbers_are_written_as_drawn_ones(release: st.Release) -> None:
    given = pd.DataFrame({"crp": [3.4, 7.0, 150.0]})

    assert release.sample(given=given, seed=1)["crp"].tolist() == ["3.4", "7.0", "150.0"]


def test_the_kind_of_table_that_went_in_comes_out(release: st.Release, tmp_path: Path) -> None:
    for frame in (polars.from_pandas(REAL[:200]), pyarrow.Table.from_pandas(REAL[:200])):
        rows = st.Independent(epsilon=9.0, seed=0).fit(frame, SCHEMA).sample(200, seed=1)
        crp = rows["crp"].to_pylist() if isinstance(rows, pyarrow.Table) else rows["crp"].to_list()
        assert type(rows) is type(frame)
        assert "<0.5" in crp

    release.sample_to(tmp_path / "drawn.csv", 300, seed=1)
    text = (tmp_path / "drawn.csv").read_text()

    assert ",<0.5," in text
    assert re.search(r",[0-9]+\.0,", text)
    assert not re.search(r",[0-9]+,", text)


def test_a_release_with_them_is_refused_by_earlier_versions(release: st.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "a.synth")

    loaded = st.load(tmp_path / "a.synth")

    assert loaded.sample(90, seed=1).equals(release.sample(90, seed=1))
    with zipfile.ZipFile(tmp_path / "a.synth") as archive:
        assert json.loads(archive.read("manifest.json"))["format_version"] == 2


def test_scores_take_the_numbers_as_numbers_and_limits_as_missing(release: st.Release) -> None:
    rows = release.sample(1000, seed=1)
    for schema in (None, SCHEMA):
        compared = compare(REAL, rows, schema=schema)

        for view, table in ((compared.real, REAL), (compared.synthetic, rows)):
            numbers = pd.to_numeric(table["crp"], errors="coerce").to_numpy()
            np.testing.assert_array_equal(view.numbers["crp"], numbers)


@pytest.mark.parametrize("form", ["{:,.2f} €", "-${:,.2f}", "{:.1f}%"])
def test_numbers_with_signs_come_out_in_their_form(form: str) -> None:
    numbers = np.round(np.exp(np.random.default_rng(0).normal(6, 2, 400)), 1)
    frame = pd.DataFrame({"x": [form.format(number) for number in numbers]})

    rows = st.Independent(epsilon=9.0, seed=0, allow_observed=True).fit(frame).sample(200, seed=1)

    digits = r"[0-9]{1,3}(,[0-9]{3})*\.[0-9]{2}" if "," in form else r"[0-9]+\.[0-9]"
    prefix, _, rest = form.partition("{")
    pattern = re.escape(prefix) + digits + re.escape(rest.partition("}")[2])
    assert rows["x"].str.fullmatch(pattern).all()
    assert rows["x"].nunique() > 100


def test_observed_domains_are_read_like_the_draft(tmp_path: Path) -> None:
    REAL.to_csv(tmp_path / "a.csv", index=False)
    for source in (REAL, tmp_path / "a.csv"):
        release = st.Independent(epsilon=9.0, seed=0, allow_observed=True).fit(source)

        assert release.schema["crp"].texts == ("<0.5", ">200")
        assert "<0.5" in set(release.sample(300, seed=1)["crp"])
