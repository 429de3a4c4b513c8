"""Running `nibd` as a person does: a process, its output, its exit status, in a home of its own.

home = Home(tmp_path)                  # no dense view and no relations, so that a daemon is light
home.nibd("init", repo.path)           # a Done; fails the test unless the status is the one expected
home.json("status", repo.path)         # the document that --json prints
home.close()                           # ends the daemon, if one runs
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon_world import NO_DENSE

Argument = str | bytes | Path
PROGRAM = (sys.executable, "-m", "nibd.daemon.cli")


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    out: str
    err: str


class Home:
    """The folders and the environment of one user."""

    def __init__(self, folder: Path, settings: str = NO_DENSE) -> None:
        self.folder = folder
        self._runtime = tempfile.TemporaryDirectory(prefix="nibd-")  # short, as a socket's path has to be
        self.config = folder / "config" / "nibd" / "config.toml"
        self.config.parent.mkdir(parents=True)
        self.config.write_text(settings)
        gitconfig = folder / "gitconfig"
        gitconfig.write_text("[user]\n\tname = Test\n\temail = test@example.org\n")
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_RUNTIME_DIR": self._runtime.name,
            "GIT_CONFIG_GLOBAL": str(gitconfig),
            "GIT_CONFIG_NOSYSTEM": "1",
            "COLUMNS": "80",
        }
        for name in ("DBUS_SESSION_BUS_ADDRESS", "NO_COLOR", "FORCE_COLOR"):
            self.environment.pop(name, None)

    @property
    def socket(self) -> Path:
        return Path(self._runtime.name) / "nibd" / "nibd.sock"

    @property
    def state(self) -> Path:
        return self.folder / "state" / "nibd"

    def start(
        self,
        *arguments: Argument,
        cwd: Path | None = None,
        args: Sequence[Argument] | None = None,
        stdout: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """A command that runs on; `args` is another program's whole command line."""
        return subprocess.Popen(
            [os.fsencode(each) for each in args or (*PROGRAM, *arguments)],
            cwd=cwd or self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def nibd(self, *arguments: Argument, cwd: Path | None = None, status: int | None = 0) -> Done:
        """Run a command to its end; `status` is the exit status expected, `None` for any."""
        process = self.start(*arguments, cwd=cwd)
        out, err = (text.decode("utf-8", "surrogateescape") for text in process.communicate(timeout=120))
        done = Done(process.returncode, out, err)
        assert status is None or done.status == status, done
        assert "Traceback" not in done.err, done
        return done

    def json(self, *arguments: Argument, cwd: Path | None = None, status: int | None = 0) -> Any:
        """The one document that a command prints with --json."""
        return json.loads(self.nibd(*arguments, "--json", cwd=cwd, status=status).out)

    def close(self) -> None:
        done = self.nibd("stop", status=None)
        if done.status != 0:
            with suppress(ProcessLookupError, ValueError, FileNotFoundError):
                os.kill(int((self.state / "daemon.lock").read_text()), signal.SIGKILL)
        self._runtime.cleanup()
        assert done.status == 0, done
