"""What a result says of the machine that it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from syntabula.bench import machine


def test_gpus_are_told_where_there_are_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_DRIVER", tmp_path)
    assert "gpus" not in machine.this_machine.__wrapped__()

    for place in ("0000:01:00.0", "0000:02:00.0"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "information").write_text("Model: \t\t NVIDIA L4\nIRQ:   \t\t 16\n")

    assert machine.this_machine.__wrapped__()["gpus"] == ["NVIDIA L4", "NVIDIA L4"]
