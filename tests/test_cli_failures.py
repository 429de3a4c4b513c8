"""Errors become a message and an exit code, in one place, and with --json a document too."""

from __future__ import annotations

import importlib
import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from nibd.daemon.cli import main
from nibd.daemon.commands._failures import ENVIRONMENT_ERRORS, CommandError, Exit, explain
from nibd.daemon.settings import SettingsError
from nibd.ipc.client import DaemonUnavailable
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.repair.git import NotARepository

EXPECTED = {
    ErrorCode.PARSE_ERROR: Exit.DEFECT,
    ErrorCode.INVALID_REQUEST: Exit.DEFECT,
    ErrorCode.METHOD_NOT_FOUND: Exit.ENVIRONMENT,
    ErrorCode.INVALID_PARAMS: Exit.USAGE,
    ErrorCode.INTERNAL: Exit.DEFECT,
    ErrorCode.CANCELLED: Exit.ENVIRONMENT,
    ErrorCode.UNKNOWN_REPOSITORY: Exit.ENVIRONMENT,
    ErrorCode.UNPUBLISHED_COMMIT: Exit.ENVIRONMENT,
    ErrorCode.VIEW_ABSENT: Exit.ENVIRONMENT,
    ErrorCode.VIEW_NOT_READY: Exit.ENVIRONMENT,
    ErrorCode.UNSUPPORTED: Exit.ENVIRONMENT,
    ErrorCode.BUSY: Exit.ENVIRONMENT,
    ErrorCode.TIMEOUT: Exit.ENVIRONMENT,
    ErrorCode.TOO_LARGE: Exit.USAGE,
    ErrorCode.SHUTTING_DOWN: Exit.ENVIRONMENT,
    ErrorCode.NOT_FOUND: Exit.NO,
    ErrorCode.MOVING: Exit.ENVIRONMENT,
    ErrorCode.NOT_STORED: Exit.ENVIRONMENT,
}


@pytest.mark.parametrize("code", ErrorCode)
def test_each_error_of_the_daemon_has_an_exit_code(code: ErrorCode) -> None:
    failure = explain(RpcError(code, "what, where, what to do", {"a": 1}))

    assert failure is not None
    assert failure.exit_code == EXPECTED[code]
    assert failure.code == code.wire_name
    assert failure.message.startswith("what, where, what to do")
    assert failure.data == {"a": 1}


def test_an_error_of_a_newer_daemon_is_passed_on_by_its_number() -> None:
    failure = explain(RpcError(-32099, "something new"))

    assert failure is not None
    assert (failure.exit_code, failure.code) == (Exit.ENVIRONMENT, "-32099")


@pytest.mark.parametrize("name", ENVIRONMENT_ERRORS)
def test_the_classes_that_are_recognised_by_name_are_there(name: str) -> None:
    module, _, cls = name.rpartition(".")
    found = getattr(importlib.import_module(module), cls)

    assert issubclass(found, Exception)
    assert (found.__module__, found.__qualname__) == (module, cls)


def test_a_subclass_is_recognised_by_its_root() -> None:
    assert explain(NotARepository("no Git repository holds /x")) == (
        "no Git repository holds /x", Exit.ENVIRONMENT, "git", None,
    )  # fmt: skip
    assert explain(DaemonUnavailable("not_running", "no daemon")) == (
        "no daemon", Exit.ENVIRONMENT, "no_daemon", None,
    )  # fmt: skip
    settings = explain(SettingsError("/c.toml", "index.workers", "-1", "0 to 64"))
    assert settings is not None
    assert "/c.toml: index.workers: found -1" in settings.message


def test_errors_of_the_system_say_which_file() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        Path("/nowhere/at/all").read_bytes()

    failure = explain(caught.value)
    assert failure is not None
    assert failure.message == "/nowhere/at/all: No such file or directory"
    assert failure.exit_code == Exit.ENVIRONMENT


def test_what_was_not_foreseen_is_not_explained_away() -> None:
    assert explain(KeyError("snapshot")) is None
    assert explain(CommandError("no", Exit.NO, "own")) == ("no", Exit.NO, "own", None)


def test_without_a_daemon_a_question_fails_with_status_3(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["search", "x", "--json"]) == Exit.ENVIRONMENT

    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert error["code"] == "no_daemon"
    assert error["message"] in said.err
    assert said.err.startswith("nibd: no daemon listens on ")
    assert "nibd init" in said.err


def test_waiting_for_a_model_that_cannot_be_loaded_is_answered_no(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = importlib.import_module("nibd.daemon.commands.wait")

    def refuse(*_: object) -> None:
        raise RpcError(ErrorCode.VIEW_NOT_READY, "its model can't be loaded")

    monkeypatch.setattr(wait._daemon, "connect", nullcontext)
    monkeypatch.setattr(wait, "until_published", refuse)

    assert main(["wait", "--view", "dense", "--json"]) == Exit.NO
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "view_not_ready"


def test_a_mistake_of_our_own_shows_its_traceback_and_ends_with_70(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    version = importlib.import_module("nibd.daemon.commands.version")
    monkeypatch.setattr(version, "installed_version", lambda: os.environ["NIBD_MISSING"])

    assert main(["version"]) == Exit.DEFECT
    assert "KeyError" in capsys.readouterr().err
