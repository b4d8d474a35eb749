from __future__ import annotations

import sys
from pathlib import Path

import pytest

from syntabula.bench import Binning, Study, run
from syntabula.bench.peers import ADAPTERS

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
    def test_mbi_is_as_near_as_ours_on_single_columns(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SYNTABULA_PEER_MBI", sys.executable)

        found = {r.cell.method: r for r in run(STUDY, tmp_path / "s.jsonl", workers=1).values()}

        peer, ours = found["peer:mbi-independent"], found["independent"]
        assert peer.status == "done", peer.reason
        assert 0 < peer.scores["tvd-1"] < 2 * ours.scores["tvd-1"]

    def test_each_adapter_has_its_script(self) -> None:
        folder = Path(sys.modules["syntabula.bench.peers"].__file__ or "").parent

        assert all((folder / adapter.script).is_file() for adapter in ADAPTERS.values())
