"""Loading by name: local folder, provider, cache, and what is said when none has it."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest

from syntabula import datasets
from syntabula.datasets import providers
from syntabula.datasets import registry as registry_module
from syntabula.datasets.info import Archive, DatasetInfo
from syntabula.errors import ArgumentError, DatasetError


def zip_of(files: dict[str, bytes | str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return stream.getvalue()


class Response(io.BytesIO):
    """What urlopen returns, from memory."""

    url = "https://example.org/pets.zip"


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError("no network in tests")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "it's [a] cache*"))
    monkeypatch.delenv("SYNTABULA_DATA", raising=False)


PETS = DatasetInfo(
    name="pets",
    title="Pets",
    origin="file",
    n_rows=3,
    n_columns=4,
    columns={"weight": "numeric", "legs": "numeric", "kind": "categorical", "label": "categorical"},
    label="label",
    provider="Example",
    page="https://example.org/pets",
    file="pets.parquet",
    sha256="0" * 64,
    archive=Archive(
        url="https://example.org/pets.zip", members=("pets.data", "pets.test"), comment="|", missing="?",
        label_suffix=".",
    ),
)  # fmt: skip
PETS_ZIP = zip_of(
    {
        "docs/a.txt": "x",
        "pets/pets.data": "1.5, 4, cat, yes\n2, ?, ?, no\n\n",
        "pets.test": "|x\n3,2,a b,yes.\n",
    }
)


@pytest.fixture
def pets(monkeypatch: pytest.MonkeyPatch) -> DatasetInfo:
    monkeypatch.setitem(registry_module.registry(), "pets", PETS)
    return PETS


def serve(monkeypatch: pytest.MonkeyPatch, content: bytes, url: str = Response.url) -> list[str]:
    asked: list[str] = []

    def urlopen(request: urllib.request.Request, timeout: float) -> Response:
        asked.append(request.full_url)
        assert timeout > 0
        response = Response(content)
        response.url = url
        return response

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return asked


class TestSimulated:
    def test_a_simulated_table_needs_neither_file_nor_network(self) -> None:
        dataset = datasets.load("gauss10", seed=3)

        assert dataset.path is None
        assert dataset.frame.shape == (dataset.n_rows, dataset.n_columns)
        assert list(dataset.frame.columns) == list(dataset.columns)
        assert dataset.frame is dataset.frame

    def test_the_seed_decides_what_is_drawn(self) -> None:
        first, again = (datasets.load("controlled_beta", seed=1).frame for _ in range(2))

        assert first.equals(again)
        assert not first.equals(datasets.load("controlled_beta", seed=2).frame)

    def test_a_seed_that_is_none_is_refused(self) -> None:
        for seed in [-1, 1.5, None]:
            with pytest.raises(ArgumentError, match="seed"):
                datasets.load("census", seed=seed)

    def test_every_simulated_table_is_as_the_registry_says(self) -> None:
        for name in datasets.names():
            info = datasets.describe(name)
            if info.origin == "simulated" and name not in ("gauss30", "gauss50"):
                frame = datasets.load(name).frame
                assert (len(frame), list(frame.columns)) == (info.n_rows, list(info.columns)), name


class TestElsewhere:
    def test_the_error_names_provider_and_stand_in(self) -> None:
        for name, stand_in, page in [
            ("higgs_small", "higgs_small_part", "openml.org/d/4532"),
            ("loan", "lending_club_2007_2011", "kaggle.com"),
            ("news", "news_part", "archive.ics.uci.edu/dataset/332"),
        ]:
            with pytest.raises(DatasetError) as raised:
                datasets.load(name)

            assert stand_in in str(raised.value)
            assert page in str(raised.value)


class TestLocalFolder:
    def test_a_file_with_the_right_checksum_is_used(
        self, pets: DatasetInfo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "pets.parquet").write_bytes(b"anything")
        right = dataclasses.replace(pets, sha256=hashlib.sha256(b"anything").hexdigest())
        monkeypatch.setitem(registry_module.registry(), "pets", right)
        monkeypatch.setenv("SYNTABULA_DATA", str(tmp_path))

        assert datasets.load("pets").path == tmp_path / "pets.parquet"

    def test_an_altered_file_is_refused_rather_than_downloaded_over(
        self, pets: DatasetInfo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        asked = serve(monkeypatch, PETS_ZIP)
        (tmp_path / "pets.parquet").write_bytes(b"altered")
        monkeypatch.setenv("SYNTABULA_DATA", str(tmp_path))

        with pytest.raises(DatasetError, match="SHA-256"):
            datasets.load("pets")
        assert asked == []

    def test_a_folder_that_does_not_exist_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SYNTABULA_DATA", "no/such/folder")

        with pytest.raises(DatasetError, match="not a folder"):
            datasets.load("adult")

    def test_a_table_that_cannot_be_parsed_here_names_its_provider(self) -> None:
        with pytest.raises(DatasetError, match=r"SYNTABULA_DATA.*archive\.ics\.uci\.edu/dataset/602"):
            datasets.load("bean")

    def test_a_file_that_is_no_parquet_is_refused_when_read(
        self, pets: DatasetInfo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        self.test_a_file_with_the_right_checksum_is_used(pets, monkeypatch, tmp_path)

        with pytest.raises(DatasetError, match="Parquet"):
            _ = datasets.load("pets").frame


@pytest.mark.usefixtures("pets")
class TestProvider:
    def test_a_table_is_downloaded_once_and_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = serve(monkeypatch, PETS_ZIP)

        first, second = datasets.load("pets"), datasets.load("pets")

        assert asked == ["https://example.org/pets.zip"]
        assert first.path == second.path == providers.cache_folder() / "pets.parquet"
        frame = first.frame
        assert frame["weight"].tolist() == [1.5, 2.0, 3.0]
        assert frame["kind"].isna().tolist() == [False, True, False]
        assert frame["kind"].dropna().tolist() == ["cat", "a b"]
        assert frame["legs"].isna().tolist() == [False, True, False]
        assert frame["label"].tolist() == ["yes", "no", "yes"]
        assert [p.name for p in providers.cache_folder().iterdir()] == ["pets.parquet"]

    def test_a_cached_file_of_another_shape_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = serve(monkeypatch, PETS_ZIP)
        providers.cache_folder().mkdir(parents=True)
        (providers.cache_folder() / "pets.parquet").write_bytes(b"half a file")

        assert len(datasets.load("pets").frame) == 3
        assert len(asked) == 1

    def test_without_a_network_the_error_says_what_to_do(self) -> None:
        with pytest.raises(
            DatasetError, match=r"no network in tests.*Set SYNTABULA_DATA.*example\.org/pets "
        ):
            datasets.load("pets")

    def test_a_redirect_away_from_https_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        serve(monkeypatch, PETS_ZIP, url="http://example.org/pets.zip")

        with pytest.raises(DatasetError, match="https"):
            datasets.load("pets")

    def test_a_download_that_does_not_end_is_cut_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        serve(monkeypatch, b"x" * 3 * 2**20)
        monkeypatch.setattr(providers, "MAX_BYTES", 2**20)

        with pytest.raises(DatasetError, match="too large"):
            datasets.load("pets")

    def test_a_known_checksum_of_the_zip_file_is_checked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        serve(monkeypatch, PETS_ZIP)
        assert PETS.archive is not None
        for digest, good in ((hashlib.sha256(PETS_ZIP).hexdigest(), True), ("0" * 64, False)):
            archive = dataclasses.replace(PETS.archive, sha256=digest)
            info = dataclasses.replace(PETS, archive=archive, name=f"pets_{good}")
            monkeypatch.setitem(registry_module.registry(), info.name, info)

        assert len(datasets.load("pets_True").frame) == 3
        with pytest.raises(DatasetError, match="SHA-256"):
            datasets.load("pets_False")

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"no zip file", "damaged"),
            (PETS_ZIP[:-30], "damaged"),
            (zip_of({"pets.data": "1,4,cat,yes\n"}), "lacks"),
            (zip_of({"pets.data": b"\xff\xfe\n", "pets.test": ""}), "damaged"),
            (zip_of({"pets.data": "1,4,cat,yes\n", "pets.test": ""}), "1 rows, not 3"),
            (zip_of({"pets.data": "1,4,cat\n", "pets.test": ""}), "3 cells, not 4"),
            (zip_of({"pets.data": "secret,4,cat,yes\n" * 3, "pets.test": ""}), "'weight'.*not a number"),
        ],
    )
    def test_what_is_not_as_expected_is_refused_and_not_kept(
        self, content: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        serve(monkeypatch, content)

        with pytest.raises(DatasetError, match=reason) as raised:
            datasets.load("pets")

        assert "secret" not in str(raised.value)
        assert not (providers.cache_folder() / "pets.parquet").exists()

    def test_a_cache_that_cannot_be_written_is_reported(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        serve(monkeypatch, PETS_ZIP)
        (tmp_path / "blocked").write_text("a file, not a folder")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "blocked"))

        with pytest.raises(DatasetError, match="cannot be written"):
            datasets.load("pets")

    def test_a_relative_cache_folder_is_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")

        assert providers.cache_folder() == Path.home() / ".cache" / "syntabula" / "datasets"


ADULT_TRAIN = "39, State-gov, 1, Bachelors, 13, Divorced, ?, Wife, White, Male, 2174, 0, 40, Cuba, <=50K\n\n"
ADULT_TEST = (
    "|1x3 Cross validator\n25, Private, 2, 11th, 7, Divorced, Sales, Wife, Black, Male, 0, 0, 40, ?, >50K.\n"
)
BANK = (
    '"age";"job";"and so on"\n'
    '58;"blue-collar";"married";"tertiary";"no";-21;"yes";"no";"unknown";5;"may";261;1;-1;0;"other";"no"\n'
)
WHITE = '"acid";"and so on"\n7;0.27;0.36;20.7;0.045;45;170;1.001;3;0.45;8.8;6\n'
RED = '"acid";"and so on"\n7.4;0.7;0;1.9;0.076;11;34;0.9978;3.51;0.56;9.4;5\n'
OBESITY = (
    "Gender,and so on\nFemale,21,1.62,64,yes,no,2,3,Sometimes,no,2,yes,0,1,never,Walking,Normal_Weight\n"
)
# Invented rows in the layout in which each provider publishes its files, and some cells of the last row.
LAYOUTS: dict[str, tuple[dict[str, bytes | str], dict[str, str | None]]] = {
    "adult": (
        {"adult.data": ADULT_TRAIN, "adult.test": ADULT_TEST},
        {"occupation": "Sales", "native_country": None, "income": ">50K", "age": "25"},
    ),
    "bank": (
        {"bank.zip": zip_of({"bank.csv": "wrong", "bank-full.csv": BANK})},
        {"job": "blue-collar", "balance": "-21", "y": "no"},
    ),
    "wine": (
        {"winequality-red.csv": RED, "winequality-white.csv": WHITE},
        {"density": "1.001", "quality": "6"},
    ),
    "wine_red": (
        {"winequality-red.csv": RED, "winequality-white.csv": WHITE},
        {"pH": "3.51", "quality": "5"},
    ),
    "abalone": ({"abalone.data": "M,0.4,0.3,0.1,0.5,0.2,0.1,0.15,15\n"}, {"Sex": "M", "Rings": "15"}),
    "magic": (
        {"magic04.data": "28.7,16,2.6,0.3,0.1,27.7,22,-8.2,40,81.8,g\n"},
        {"fM3Trans": "-8.2", "class": "g"},
    ),
    "robot": (
        {"sensor_readings_24.data": ",".join(["0.438"] * 24) + ",Slight-Right-Turn\n"},
        {"S24": "0.438", "Class": "Slight-Right-Turn"},
    ),
    "obesity": (
        {"ObesityDataSet_raw_and_data_sinthetic.csv": OBESITY},
        {"Gender": "Female", "Age": "21", "CAEC": "Sometimes", "CALC": "never", "MTRANS": "Walking"},
    ),
}


class TestLayouts:
    def test_every_archive_has_its_layout_tested(self) -> None:
        assert sorted(n for n in datasets.names() if datasets.describe(n).archive) == sorted(LAYOUTS)

    def test_cells_of_the_last_row_land_in_their_columns(self) -> None:
        for name in sorted(LAYOUTS):
            files, expected = LAYOUTS[name]
            info = datasets.describe(name)
            assert info.archive is not None
            short = dataclasses.replace(info, n_rows=len(info.archive.members))

            rows = providers.parse_archive(short, info.archive, zip_of(files))

            last = dict(zip(info.columns, rows[-1], strict=True))
            assert {column: last[column] for column in expected} == expected
