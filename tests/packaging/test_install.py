"""The wheel in clean environments: with nothing but the base, and with each extra on top of it.

Slow and in need of a package index, so that it runs only when asked for: `pytest -m install`. Sizes and times
are printed; only the promised size of the base install is held.
"""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.install

ROOT = Path(__file__).parents[2]
LARGEST_BASE = 0.5e9  # bytes
EXTRAS = {
    "arrow": ["pyarrow"],
    "pandas": ["pandas"],
    "polars": ["polars", "pyarrow"],
    "excel": ["pandas", "openpyxl"],
    "report": ["matplotlib", "jinja2"],
    "neural": ["torch"],
    "language": ["transformers", "peft", "torch"],
    "evaluate": ["scipy", "sklearn", "ot", "xgboost"],
    "catboost": ["catboost", "sklearn"],
    "tune": ["optuna", "sklearn"],
    "warehouse": ["ibis", "pyarrow"],
}
# What shows that an extra without tables of its own does its job, on a table's path.
JOBS = {
    "excel": [
        "-W",
        "ignore",
        "-c",
        "import pandas, syntabula; pandas.read_csv('{table}').to_excel('{table}.xlsx', index=False); "
        "made = syntabula.MST(epsilon=8.0).fit('{table}.xlsx').sample(20); assert len(made) == 20, made",
    ],
    "warehouse": [
        "-W",
        "ignore",
        "-c",
        "import ibis, syntabula as s; from duckdb import __version__ as v; assert v < '2', v; "
        "schema = s.Schema(dict(age=s.Numeric(18, 65, integer=True), job=s.Categorical(('cook', 'nurse')), "
        "pay=s.Numeric(0, 99))); people = ibis.duckdb.connect().read_csv('{table}'); "
        "one, two = (s.MST(seed=1).fit(t, schema).marginals([('age', 'job')])[0] for t in (people, '{table}')); "
        "assert (one == two).all() and one.sum() > 1000, (one, two)",
    ],
    "report": ["-c", "import syntabula.report.marginal_picture"],
    "neural": [
        "-m",
        "syntabula",
        "synth",
        "{table}",
        "--method",
        "margnet",
        "-e",
        "8",
        "--option",
        "iterations=2",
        "--option",
        "rounds_per_column=1",
        "-o",
        "{table}.made.csv",
    ],
    "language": [
        "-c",
        "import transformers, peft, syntabula; transformers.AutoModelForCausalLM, peft.LoraConfig",
    ],
    "evaluate": ["-m", "syntabula", "evaluate", "{table}", "{table}"],
    "catboost": [
        "-m",
        "syntabula",
        "evaluate",
        "{table}",
        "{table}",
        "--holdout",
        "{table}",
        "--target",
        "job",
        "-m",
        "efficacy",
    ],
    "tune": [
        "-m",
        "syntabula",
        "tune",
        "{table}",
        "--method",
        "mst",
        "--trials",
        "1",
        "--space",
        "usual",
        "-e",
        "8",
    ],
}
# What comes with every virtual environment, or is its own.
_NOT_OURS = ("pip", "setuptools", "_virtualenv", "__pycache__")


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Environment:
        venv.create(folder, with_pip=True)
        return cls(folder)

    @property
    def packages(self) -> Path:
        return Path(
            self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
        )

    def run(self, program: str, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [str(self.folder / "bin" / program), *map(str, words)]
        # Neither the checkout nor the environment of the tests may be seen.
        hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SYNTABULA_DATA")
        environment = {k: v for k, v in os.environ.items() if k not in hidden}
        ran = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran

    def install(self, *what: object) -> None:
        self.run("python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", *what)

    def install_uncompiled(self, *what: object) -> None:
        """Install without compiling all modules, of which few are imported: it takes half of the time."""
        self.install("--no-compile", *what)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    (made,) = folder.glob("syntabula-*.whl")
    return made


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment.make(tmp_path_factory.mktemp("base"))
    environment.install(wheel)
    return environment


_SCHEMA = """\
version: 1
columns:
  age: {kind: numeric, lower: 18, upper: 65, integer: true}
  job: {kind: categorical, categories: [cook, nurse]}
  pay: {kind: numeric, lower: 0, upper: 99, decimals: 2}
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = random.Random(0)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "job", "pay"])
        for _ in range(2_000):
            writer.writerow([rng.randint(18, 65), rng.choice(["cook", "nurse"]), f"{rng.uniform(0, 99):.2f}"])
    return tmp_path / "people.csv"


def size(folder: Path) -> int:
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(_NOT_OURS)
    )


class TestBase:
    def test_it_is_small_and_holds_what_it_states_and_no_extra(self, base: Environment, wheel: Path) -> None:
        listed = json.loads(base.run("python", "-m", "pip", "list", "--format", "json").stdout)
        installed = {package["name"].lower() for package in listed}
        stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
        whole = size(base.packages)

        print(f"base install: {whole / 1e6:.0f} MB, wheel {wheel.stat().st_size / 1e3:.0f} kB")

        assert {name.split(">")[0] for name in stated} <= installed
        assert not installed & {"pandas", "polars", "pyarrow", "matplotlib", "scipy", "torch"}
        assert whole <= LARGEST_BASE

    def test_it_is_imported_from_its_own_folder(self, base: Environment) -> None:
        script = (
            "import time; start = time.perf_counter(); import syntabula; end = time.perf_counter(); "
            "print(syntabula.__file__); print(end - start)"
        )

        places, seconds = zip(
            *(base.run("python", "-c", script).stdout.split() for _ in range(3)), strict=True
        )

        print(f"import syntabula: {min(map(float, seconds)):.3f} s, the best of three")
        assert all(Path(place).is_relative_to(base.folder) for place in places)

    def test_its_type_marker_is_installed(self, base: Environment) -> None:
        assert (base.packages / "syntabula" / "py.typed").is_file()

    def test_the_main_job_runs_from_file_to_file(self, base: Environment, table: Path) -> None:
        made, release = table.with_name("out.csv"), table.with_name("x.syn")
        schema = table.with_name("schema.yaml")
        schema.write_text(_SCHEMA)
        base.run("syntabula", "plan", table)
        words = ("-e", 8, "-o", made, "--save", release, "--rows", 500)

        ran = base.run("syntabula", "synth", table, "--schema", schema, *words)

        assert "This release is differentially private: epsilon = " in ran.stdout
        with made.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 500
        assert list(rows[0]) == ["age", "job", "pay"]
        base.run("syntabula", "info", release)
        for suffix in ("parquet", "jsonl.gz", "tsv"):
            base.run("syntabula", "sample", release, "-o", table.with_name(f"more.{suffix}"), "--rows", 50)

    def test_the_commands_of_the_help_can_be_run(self, base: Environment) -> None:
        assert "syntabula" in base.run("syntabula", "--version").stdout
        assert base.run("python", "-m", "syntabula", "methods").stdout
        assert "synth" in base.run("syntabula", "--help").stdout

    def test_what_needs_an_extra_names_it_and_ends_with_its_own_code(self, base: Environment) -> None:
        ran = base.run("syntabula", "demo", "--out", "demo", code=7)

        assert 'pip install "syntabula[' in ran.stderr
        assert "Traceback" not in ran.stderr


@pytest.fixture(scope="module", params=sorted(EXTRAS))
def extra(
    request: pytest.FixtureRequest, base: Environment, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Environment]:
    """An environment with one extra, which sees the base through a path file and so is made quickly."""
    name: str = request.param
    environment = Environment(tmp_path_factory.mktemp(name))
    venv.create(environment.folder, with_pip=False)
    (environment.packages / "base.pth").write_text(f"{base.packages}\n")
    environment.install_uncompiled(f"syntabula[{name}] @ {wheel.as_uri()}")
    return name, environment


class TestExtras:
    # One test for each environment, so that no two processes of tests make the same one.
    def test_its_libraries_are_installed_and_its_job_is_done(
        self, extra: tuple[str, Environment], table: Path
    ) -> None:
        """Its job is that a table of its library comes back as one, or what is named above."""
        name, environment = extra
        for library in EXTRAS[name]:
            environment.run("python", "-c", f"import {library}, syntabula")
        read = {
            "arrow": "from pyarrow.csv import read_csv",
            "pandas": "from pandas import read_csv",
            "polars": "from polars import read_csv",
        }.get(name)
        if read is None:
            environment.run("python", *(word.format(table=table) for word in JOBS[name]))
            return
        script = (
            f"{read}; import syntabula; table = read_csv({str(table)!r}); "
            "made = syntabula.MST(epsilon=8.0).fit(table).sample(20); assert type(made) is type(table), type(made)"
        )

        environment.run("python", "-W", "ignore", "-c", script)

    def test_every_extra_is_tested(self) -> None:
        stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

        # Spark's own tests run where .ci/run has installed it.
        assert set(stated) - {"all", "test", "lint", "spark"} == set(EXTRAS)
