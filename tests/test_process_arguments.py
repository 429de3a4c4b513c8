"""The programs behind `nibd`, started by hand with arguments that they don't take."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = ("main", "indexer", "navigator", "verifier", "embedder")


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_argument_that_a_program_does_not_take_is_refused(program: str) -> None:
    command = [sys.executable, "-m", f"nibd.daemon.{program}", "--nope"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "unrecognized arguments: --nope" in done.stderr
    assert not (Path(os.environ["XDG_STATE_HOME"]) / "nibd").exists()
