from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave installations out unless they are asked for by name, whatever else `-m` says."""
    if "install" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("install")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
