"""Values of odd types for arguments: what is a number works whatever its type, all else is refused by name."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd

import syntabula as st
from bad_input.matrix import CANARY_TEXT, assert_within, base, case, fit, refuses
from syntabula.errors import (
    ArgumentError,
    BudgetError,
    DataError,
    ReleaseFileError,
    ResourceError,
    SchemaError,
)
from syntabula.metrics.closest_record import ClosestRecord
from syntabula.privacy.noise import SeededNoise

FRAME, SCHEMA = base()


def refused_argument(
    what: str, call: Callable[[], Any], *words: str, error: type[Exception] = ArgumentError
) -> None:
    @case("values", what)
    @refuses(error, *words)
    def _(folder):
        call()


refused_argument("a journal that is a number", lambda: st.MST(journal=5), "journal", "path of a file", "5")
refused_argument("a journal of bytes", lambda: st.MST(journal=b"spends"), "journal", "b'spends'")
refused_argument("a journal without a name", lambda: st.MST(journal=""), "journal", "''")
refused_argument("rare categories that are a number", lambda: st.MST(rare=5), "rare", "RareCategories", "5")
refused_argument("a resume that is text", lambda: st.MST(resume="no", journal="j"), "resume", "'no'")
refused_argument(
    "a leave that is text", lambda: st.MST(allow_observed="no"), "allow_observed", "True or False", "'no'"
)
refused_argument("a seed of a float", lambda: st.MST(seed=np.float64(3)), "seed", "integer", "3.0")
refused_argument("a seed that is true", lambda: st.MST(seed=np.True_), "seed", "integer", "True")
refused_argument(
    "a seed that is a table", lambda: st.MST(seed=FRAME.assign(x=CANARY_TEXT)), "seed", "type DataFrame"
)
refused_argument("bins that are almost auto", lambda: st.MST(bins="Auto"), "bins", "'auto'", "'Auto'")
refused_argument("a memory without end", lambda: st.MST(memory_mb=math.inf), "memory_mb", "megabytes", "inf")
refused_argument("a memory that is NaN", lambda: st.MST(memory_mb=Decimal("NaN")), "memory_mb", "NaN")
refused_argument("a budget that is a number", lambda: st.MST(budget=1.0), "budget", "syntabula.Budget", "1.0")
refused_argument("a noise that is a number", lambda: st.MST(noise=1), "noise", "NoiseSource", "1")
refused_argument("a progress that is a number", lambda: st.MST(progress=1), "progress", "function", "1")
refused_argument(
    "a preprocessing that is text", lambda: st.MST(preprocessing="privtree"), "preprocessing", "'privtree'"
)
refused_argument("a selector that is a number", lambda: st.Marginal(selector=3, model="pgm"), "selector", "3")
refused_argument("a share that is text", lambda: st.Preprocessing(share="0.1"), "share", "fraction", "'0.1'")
refused_argument(
    "a share that is all", lambda: st.Preprocessing(share=Fraction(1)), "share", "below 1", "Fraction(1, 1)"
)
refused_argument(
    "a discretizer that is none",
    lambda: st.Preprocessing(discretizer=np.array([1])),
    "discretizer",
    "ndarray",
)
refused_argument("a theta that is NaN", lambda: st.RareCategories(theta=math.nan), "theta", "nan")
refused_argument(
    "rounds that are true", lambda: st.AIM().with_options(max_rounds=True), "max_rounds", "integer", "True"
)
refused_argument(
    "rounds in hexadecimal text", lambda: st.AIM().with_options(max_rounds="0x10"), "max_rounds", "'0x10'"
)
refused_argument(
    "shares that leave nothing",
    lambda: st.PrivBayes().with_options(
        structure_share=0.5, total_share=Decimal("0.5"), records_per_noise=None
    ),
    "nothing",
)
refused_argument(
    "an epsilon beyond floats", lambda: st.MST(epsilon=10**400), "epsilon", "not a float", error=BudgetError
)
refused_argument(
    "an epsilon whose mu is infinite", lambda: st.MST(epsilon=1e308), "epsilon", "1e+308", error=BudgetError
)
refused_argument(
    "a delta that is a table", lambda: st.MST(delta=FRAME), "delta", "type DataFrame", error=BudgetError
)
refused_argument(
    "a failure delta of text",
    lambda: st.Budget(1, 1e-5).with_failure_delta("x"),
    "failure_delta",
    "'x'",
    error=BudgetError,
)
refused_argument("a budget that is no record", lambda: st.Budget.from_json([]), "list", error=BudgetError)
refused_argument("a plan of 1.5 rows", lambda: st.MST().plan(SCHEMA, 1.5), "n_rows", "1.5")
refused_argument(
    "a plan of more rows than machines hold", lambda: st.MST().plan(SCHEMA, 10**400), "n_rows", "integer"
)
refused_argument("scores with a seed of text", lambda: st.evaluate(FRAME, FRAME, seed="1"), "seed", "'1'")
refused_argument("scores by no worker", lambda: st.evaluate(FRAME, FRAME, workers=0), "workers", "0")
refused_argument("scores by half a worker", lambda: st.evaluate(FRAME, FRAME, workers=0.5), "workers", "0.5")
refused_argument("a metric over NaN columns", lambda: st.metrics.TotalVariation(way=math.nan), "way", "nan")
refused_argument("a metric of a share of text", lambda: ClosestRecord(percentile="5"), "percentile", "'5'")
refused_argument("a report of a seed below 0", lambda: st.make_report(FRAME, FRAME, seed=-1), "seed", "-1")
refused_argument("a report without a title", lambda: st.make_report(FRAME, FRAME, title=7), "title", "7")
refused_argument(
    "an attack by an odd number of models",
    lambda: st.attack(FRAME, st.MST(), SCHEMA, n_shadows=9),
    "n_shadows",
    "even",
    "9",
)
refused_argument(
    "an attack of text models", lambda: st.attack(FRAME, st.MST(), SCHEMA, n_shadows="8"), "n_shadows", "'8'"
)
refused_argument(
    "an attack of no confidence", lambda: st.attack(FRAME, st.MST(), SCHEMA, confidence=1), "confidence", "1"
)
refused_argument(
    "an attack on a row in words",
    lambda: st.attack(FRAME, st.MST(), SCHEMA, target="first"),
    "target",
    "'first'",
)
refused_argument(
    "a disclosure of no draws", lambda: st.membership_disclosure(FRAME, st.MST(), n_draws=0), "n_draws", "0"
)
refused_argument("a census of no rows", lambda: st.datasets.census(n_rows=0), "n_rows", "0")
refused_argument(
    "a census of no interviews", lambda: st.datasets.census(10, most_interviews=0), "most_interviews", "0"
)
refused_argument("a census of a seed of text", lambda: st.datasets.census(seed="1"), "seed", "'1'")
refused_argument("a release file that is a number", lambda: st.load(5), "path", "5")
refused_argument("a release file without a name", lambda: st.load(""), "path", "''")
refused_argument(
    "a bound that is true", lambda: st.Numeric(True, 9), "lower", "truth value", error=SchemaError
)
refused_argument(
    "a bound that is a signalling NaN",
    lambda: st.Numeric(Decimal("sNaN"), 9),
    "lower",
    "finite",
    error=SchemaError,
)
refused_argument(
    "a bound beyond floats", lambda: st.Numeric(0.0, Fraction(10**400)), "upper", "finite", error=SchemaError
)
refused_argument(
    "a day that is missing",
    lambda: st.Date(np.datetime64("NaT"), np.datetime64("2024-01-01")),
    "lower",
    "day",
    error=SchemaError,
)
refused_argument(
    "a time that is missing",
    lambda: st.Datetime(pd.NaT, pd.Timestamp("2024-01-01")),
    "lower",
    "day",
    error=SchemaError,
)
refused_argument(
    "a label that no float holds",
    lambda: st.Categorical((Decimal("0.1"), 0.5)),
    "number 1",
    "exactly",
    error=SchemaError,
)
refused_argument(
    "labels in an array of arrays",
    lambda: st.Categorical(np.eye(2)),
    "number 1",
    "ndarray",
    error=SchemaError,
)
refused_argument(
    "a zone that is a number",
    lambda: st.Datetime(pd.Timestamp(0), pd.Timestamp(1), timezone=2),
    "timezone",
    "2",
    error=SchemaError,
)


@case("values", "numbers of any type give the release that Python's give")
def _(folder):
    def mst(iterations: Any) -> Callable[..., st.MST]:
        return lambda **given: st.MST(**given).with_options(iterations=iterations)

    plain = fit(FRAME, SCHEMA, epsilon=2.0, delta=0.5**20, seed=3, bins=8, memory_mb=4000.0, method=mst(200))
    odd = fit(
        FRAME,
        SCHEMA,
        epsilon=np.float32(2),
        delta=Fraction(1, 2**20),
        seed=np.int64(3),
        bins=np.uint8(8),
        memory_mb=Decimal(4000),
        method=mst(np.int16(200)),
    )
    odd.save(folder / "odd.syn")
    plain.save(folder / "plain.syn")

    assert (folder / "odd.syn").read_bytes() == (folder / "plain.syn").read_bytes()


@case("values", "a journal of numbers of numpy is resumed by numbers of Python")
def _(folder):
    options: dict[str, Any] = {"journal": folder / "journal", "epsilon": 2.0, "delta": 1e-5}
    st.MST(seed=np.int64(3), bins=np.int32(8), **options).fit(FRAME, SCHEMA)
    lines = (folder / "journal").read_bytes().splitlines(keepends=True)
    (folder / "journal").write_bytes(b"".join(lines[:-1]))

    release = st.MST(seed=3, bins=8, resume=True, **options).fit(FRAME, SCHEMA)

    assert release.privacy.replayed > 0


@case("values", "a source of noise takes a seed of numpy")
def _(folder):
    first, second = (
        SeededNoise(seed).discrete_gaussian(np.zeros(9, np.int64), 5.0) for seed in (3, np.int64(3))
    )
    assert (first == second).all()


@case("values", "rows and seeds of numpy draw the same rows")
def _(folder):
    release = fit(FRAME, SCHEMA)
    assert release.sample(np.int32(20), seed=np.uint8(7)).equals(release.sample(20, seed=7))


@case("values", "scores take a seed and workers of numpy")
def _(folder):
    found = st.evaluate(FRAME, FRAME, metrics="query-error-3", seed=np.int64(2), workers=np.int8(1))
    assert found.facts["seed"] == 2
    json.dumps(found.to_json())


def refused_draw(
    what: str, call: Callable[[st.Release], Any], *words: str, error: type[Exception] = ArgumentError
) -> None:
    @case("values", what)
    @refuses(error, *words)
    def _(folder):
        call(fit(FRAME, SCHEMA, method=st.Independent))


refused_draw("rows that are true", lambda r: r.sample(True), "n must be", "True")
refused_draw("rows of a float of numpy", lambda r: r.sample(np.float64(5)), "n must be", "5.0")
refused_draw("a seed of a draw that is true", lambda r: r.sample(5, seed=True), "seed", "True")
refused_draw("more rows than machines hold", lambda r: r.sample(10**400), "rows", error=ResourceError)
refused_draw("a marginal that is a number", lambda r: r.marginals([5]), "cliques", "5")
refused_draw("marginals that are a name", lambda r: r.marginals("age"), "cliques", "'age'")
refused_draw("a marginal with a number for a column", lambda r: r.marginals([("age", 5)]), "cliques", "5")
refused_draw("conditions that are a list", lambda r: r.sample(5, where=["age"]), "where", "type list")
refused_draw(
    "a condition of text on numbers", lambda r: r.sample(5, where={"age": "old"}), "where", "'age'", "number"
)
refused_draw(
    "a condition of a number on text",
    lambda r: r.sample(5, where={"job": 1.5}),
    "number with a point",
    "text",
)
refused_draw(
    "a condition that is true on text", lambda r: r.sample(5, where={"job": True}), "truth value", "text"
)
refused_draw("a condition that is nothing", lambda r: r.sample(5, where={"job": []}), "'job'", "no value")


@case("values", "a condition of text on codes says that they are numbers")
@refuses(ArgumentError, "'1'", "is text", "'code'", "whole numbers")
def _(folder):
    frame = pd.DataFrame({"code": [1, 2] * 30, "x": [True, False] * 30})
    release = fit(frame, st.Schema({"code": st.Categorical((1, 2)), "x": st.Boolean()}))
    release.sample(5, where={"code": "1"})


def refused_release(what: str, version: object, *words: str) -> None:
    @case("files", f"a release of format version {what}")
    @refuses(ReleaseFileError, "x.syn", "format version", *words)
    def _(folder):
        fit(FRAME, SCHEMA, method=st.Independent).save(folder / "x.syn")
        with zipfile.ZipFile(folder / "x.syn") as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(members["manifest.json"]) | {"format_version": version}
        members["manifest.json"] = json.dumps(manifest).encode()
        members["manifest.sha256"] = sha256(members["manifest.json"]).hexdigest().encode()
        with zipfile.ZipFile(folder / "x.syn", "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        st.load(folder / "x.syn")


refused_release("zero", 0, "0", "altered")
refused_release("minus five", -5, "-5", "altered")
refused_release("true", True, "True", "altered")
refused_release("one as a float", 1.0, "1.0", "altered")
refused_release("one as text", "1", "'1'", "altered")
refused_release("null", None, "None", "altered")
refused_release("ninety-nine", 99, "99", "newer", "upgrade")


def quiet_extremes(discretizer: str, within: str) -> None:
    @case("cells", f"the largest floats with {discretizer} bins, {within} within, warn of no overflow")
    def _(folder):
        largest = float(np.finfo(float).max)
        frame, schema = (
            FRAME.copy(),
            SCHEMA.with_column("income", st.Numeric(-largest, largest, nullable=True)),
        )
        frame["income"] = [largest, -largest, 5e-324, 1e300, 0.0, math.nan] * 10
        chosen = st.Preprocessing(discretizer=discretizer, within=within)
        assert_within(fit(frame, schema, preprocessing=chosen).sample(100, seed=1), schema)


for _discretizer in ("uniform", "quantile", "kmeans", "privtree"):
    for _within in ("even", "normal"):
        quiet_extremes(_discretizer, _within)


@case("cells", "the largest floats warn of no overflow where bounds are found")
def _(folder):
    frame = FRAME.assign(income=[1.7e308, -1.7e308, 1e300, *FRAME["income"][3:]])
    release = st.MST(epsilon=50.0, delta=1e-5, seed=1).fit(frame)
    assert len(release.sample(20, seed=1)) == 20


@case("cells", "numbers too large to compute scores are refused by their column")
@refuses(DataError, "'income'", "real table", "1e+150")
def _(folder):
    st.evaluate(FRAME.assign(income=1e300), FRAME, metrics="association", workers=1)


def small_memory(what: str, memory_mb: float, *words: str) -> None:
    @case("values", f"a memory of {what} is told in digits that show it")
    @refuses(ResourceError, "memory_mb", *words)
    def _(folder):
        fit(FRAME, SCHEMA, memory_mb=memory_mb)


small_memory("a hundred bytes", 0.0001, "above the limit of 0.0001 MB")
small_memory("next to nothing", 1e-12, "above the limit of 0.000000000001 MB")
