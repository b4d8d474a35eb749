from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from syntabula.bench import Binning, Candidate, Study, run
from syntabula.bench.peers import ADAPTERS
from syntabula.bench.tasks import TASKS
from syntabula.errors import ArgumentError, BudgetError, TrainingError

STUDY = Study(
    name="peers",
    datasets=("census@200",),
    methods=("peer:mbi-independent", "independent", "HISTOGRAM"),
    preprocessing=(Binning(bins=8, discretizer="uniform"),),
    epsilons=(10.0,),
    scores=("tvd-1",),
    against=("learned",),
    split="whole",
)


class TestAdapter:
    @pytest.mark.thorough
    def test_a_peer_that_is_not_here_is_left_out_with_the_reason(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("SYNTABULA_PEER_MBI", raising=False)

        found = {r.cell.method: r for r in run(STUDY, tmp_path / "s.jsonl", workers=2).values()}

        peer = found["peer:mbi-independent"]
        assert peer.status == "left out"
        assert "name its Python in the environment variable SYNTABULA_PEER_MBI" in peer.reason
        assert found["independent"].status == "done"

    @pytest.mark.thorough
    def test_code_that_is_no_package_needs_a_checkout(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SYNTABULA_PEER_DPMERF", sys.executable)
        monkeypatch.delenv("SYNTABULA_PEER_DPMERF_CODE", raising=False)

        (found,) = run(replace(STUDY, methods=("peer:dp-merf",)), tmp_path / "s.jsonl", workers=1).values()

        assert found.status == "left out"
        assert "clone ParkLabML/DP-MERF" in found.reason
        assert "SYNTABULA_PEER_DPMERF_CODE" in found.reason

    def test_a_script_that_fails_says_by_which_error_and_nothing_that_it_wrote(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        python = tmp_path / "python"
        python.write_text(
            "#!/bin/sh\ncat >&2 <<'END'\nTraceback (most recent call last):\n"
            '  File "/x/their_model.py", line 12, in fit\n    raise\nlib.OddError: cell Alice\nBob\nEND\nexit 1\n'
        )
        python.chmod(0o700)
        monkeypatch.setenv("SYNTABULA_PEER_ARF", str(python))
        study = replace(STUDY, methods=("peer:arfpy",), epsilons=(math.inf,))

        with pytest.raises(
            TrainingError, match=r"OddError at line 12 of their_model\.py; see whether"
        ) as raised:
            TASKS["tables"].run(study.cells[0])

        assert "Alice" not in str(raised.value)
        assert "Bob" not in str(raised.value)

    @pytest.mark.thorough
    def test_mbi_is_as_near_as_ours_on_single_columns(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SYNTABULA_PEER_MBI", sys.executable)
        # What the first run of the peer compiles, the second takes from here.
        monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))
        monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

        found = {r.cell.method: r for r in run(STUDY, tmp_path / "s.jsonl", workers=1).values()}

        peer, ours = found["peer:mbi-independent"], found["independent"]
        assert peer.status == "done", peer.reason
        assert 0 < peer.scores["tvd-1"] < 2 * ours.scores["tvd-1"]
        again = run(replace(STUDY, methods=STUDY.methods[:1]), tmp_path / "again.jsonl").values()
        assert [record.scores for record in again] == [peer.scores]

    def test_a_peer_without_a_private_form_needs_its_own_budgets_and_none_has_options(self) -> None:
        copula = Candidate(method="peer:sdv-copula")

        with pytest.raises(BudgetError, match="has no private form"):
            copula.check(1.0)
        with pytest.raises(BudgetError, match="needs a finite epsilon"):
            Candidate(method="peer:dpmm-mst").check(math.inf)
        with pytest.raises(ArgumentError, match="leave out its options"):
            Candidate(method="peer:dpmm-mst", options={"degree": 3}).check(1.0)
        copula.check(math.inf)

    @pytest.mark.thorough
    def test_a_peer_of_rows_gets_cells_and_its_rows_have_the_tables_types(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A stand-in for SDV returns the rows that it got, with whole numbers as fractions."""
        python = tmp_path / "python"
        code = (
            "import sys, pandas; _, table, columns, out = sys.argv[3:7]; frame = pandas.read_parquet(table); "
            "frame['age'] = frame['age'].astype(float); frame.to_parquet(out)"
        )
        python.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
        python.chmod(0o755)
        monkeypatch.setenv("SYNTABULA_PEER_SDV", str(python))
        row = Candidate(method="peer:sdv-copula", epsilons=(math.inf,))

        (found,) = run(replace(STUDY, methods=(row,)), tmp_path / "s.jsonl").values()

        assert found.status == "done", found.reason
        assert found.scores["tvd-1"] == 0.0

    def test_each_adapter_has_its_script(self) -> None:
        folder = Path(sys.modules["syntabula.bench.peers"].__file__ or "").parent

        assert all((folder / adapter.script).is_file() for adapter in ADAPTERS.values())
