"""Every scenario file: repaired step by step, each step equal to a rebuild and no more work than said."""

from __future__ import annotations

from pathlib import Path

import pytest

from nibd.query import comparison
from scenario import Run, load
from views import quick_folder

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.scenario"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_scenario(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "QUERIES", 6)  # at every level; trees here are small
    with quick_folder() as folder:
        failures = Run(load(path), folder).run()
    assert not failures, "\n".join(failures)
