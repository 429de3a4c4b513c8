"""What nibd needs of its surroundings, checked one by one; each check says what to do about what it found.

A *check* is `ok`, a `note` (as somebody chose it, with less or later), a `warning` (nibd works, with less or
later, and that can be mended) or a *problem* (something does not work).
Nothing is changed, and nothing that a check meets keeps the others from being made. A daemon that runs is
asked for its own view of things; without one the registry is read from its file.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pygit2

from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout, Registry, RegistryError
from nibd.daemon.relations.server_places import ServerPlaces
from nibd.daemon.settings import Settings, SettingsError, load
from nibd.hooks import HookReport, HooksError, Outcome, inspect
from nibd.ipc.client import Client, DaemonUnavailable
from nibd.ipc.messages import JsonObject, RpcError
from nibd.ipc.sockets import SocketPlace, socket_path
from nibd.repair import reranking
from nibd.repair.embedding_profile import EmbeddingError, runtime
from nibd.repair.git.command import find_git, git_version
from nibd.repair.git.errors import GitError
from nibd.repair.servers.driver import Missing, Search
from nibd.repair.servers.programs import candidates
from nibd.repair.servers.registry import DRIVERS
from nibd.systemd import manager
from nibd.systemd.errors import ManagerUnavailable, SystemdError

OLDEST_GIT = (2, 25)
FREE_BYTES_PROBLEM = 100 << 20
FREE_BYTES_WARNING = 1 << 30
INOTIFY_LEAST = {"max_user_watches": 8192, "max_user_instances": 64}
PROGRAMS = ("ty", "tsc", "tsgo", "gopls", "rust-analyzer", "clangd")
"""What language servers are called in a folder."""
RERANKER = "reranker: "
"""How a problem of the daemon's begins that is of the reranker."""
_INOTIFY = Path("/proc/sys/fs/inotify")
_REPORTED = (Outcome.ABSENT, Outcome.OUTDATED, Outcome.LEFT_ALONE, Outcome.FAILED)


class Verdict(StrEnum):
    """How a check went."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `advice` is what to do, empty where nothing is or `found` says it."""

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks, and what the daemon's method `doctor` said (`None` when none answered)."""

    checks: tuple[Check, ...]
    daemon: JsonObject | None


def diagnose(paths: Paths, environment: Mapping[str, str], version: str) -> Diagnosis:
    """Look at everything. `version` is that of the caller's nibd."""
    place = socket_path(paths.runtime_dir, paths.uid)
    settings, of_settings = check_settings(paths.config_file)
    hello, reported, of_daemon = check_daemon(place, version)
    problems = _texts(reported, "problems")
    checks = [
        _ok("nibd", f"{version}, Python {platform.python_version()}"),
        check_git(),
        _ok("libgit2", f"{pygit2.LIBGIT2_VERSION}, pygit2 {importlib.metadata.version('pygit2')}"),
        of_settings,
        check_socket(place),
        *of_daemon,
        *check_folders(paths),
        check_disk(paths.cache_dir),
        *check_inotify(),
        check_dense(settings),
        *check_reranker(settings, problems),
        *check_relations(settings, environment),
        *check_systemd(environment, daemon_pid=hello["pid"] if hello else None),
        *check_repositories(paths, problems, _texts(reported, "notes")),
    ]
    return Diagnosis(tuple(checks), reported)


def check_git() -> Check:
    executable = find_git(None)
    if executable is None:
        return _problem("git", "not found on PATH", "install git: hooks can't be placed without it")
    try:
        version = git_version(executable)
    except GitError as error:
        return _problem("git", str(error), "reinstall git")
    found = f"{'.'.join(map(str, version))} ({executable})"
    if version < OLDEST_GIT:
        return _warning("git", found, f"upgrade to {'.'.join(map(str, OLDEST_GIT))} or newer")
    return _ok("git", found)


def check_settings(file: Path) -> tuple[Settings, Check]:
    """The settings, or the defaults where they can't be read."""
    try:
        settings = load(file)
    except SettingsError as error:
        return Settings(), _problem(
            "settings", str(error), f"correct {file}; the daemon does not start with it"
        )
    return settings, _ok("settings", f"{file}{'' if file.exists() else ' (not there: the defaults hold)'}")


def check_socket(place: SocketPlace) -> Check:
    if place.fallback_reason is None:
        return _ok("socket", str(place.path))
    return _warning(
        "socket",
        f"{place.path}, since {place.fallback_reason}",
        "log in through a session that sets XDG_RUNTIME_DIR; every process that asks nibd has to agree on it",
    )


def check_daemon(
    place: SocketPlace, version: str
) -> tuple[JsonObject | None, JsonObject | None, list[Check]]:
    """What `hello` and `doctor` answered, and the checks that follow."""
    try:
        with Client(place.path, 60.0) as client:
            hello, reported = client.call("hello"), client.call("doctor")
    except DaemonUnavailable as error:
        if error.reason == "not_running":
            return (
                None,
                None,
                [_warning("daemon", "does not run", "'nibd init' starts it")],
            )
        return (
            None,
            None,
            [_problem("daemon", str(error), "'nibd stop', then ask again; its log may say why")],
        )
    except RpcError as error:
        return None, None, [_problem("daemon", error.message, "'nibd stop', then ask again")]
    found = f"{hello['version']}, process {hello['pid']}{_memory(reported)}"
    if hello["version"] != version:
        own = _problem("daemon", found, f"it is not this nibd ({version}): 'nibd stop', then ask again")
    else:
        own = _ok("daemon", found)
    return hello, reported, [own]


def check_folders(paths: Paths) -> Iterator[Check]:
    for name, folder in (("state folder", paths.state_dir), ("cache folder", paths.cache_dir)):
        there = _existing(folder)
        if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
            yield _ok(name, str(folder))
        else:
            yield _problem(name, f"{there} can't be written to", f"look at the owner and mode of {there}")


def check_disk(folder: Path) -> Check:
    free = shutil.disk_usage(_existing(folder)).free
    found = f"{free / (1 << 30):.1f} GiB free for {folder}"
    if free < FREE_BYTES_PROBLEM:
        return _problem("disk", found, "free some: nothing can be published on a full disk")
    if free < FREE_BYTES_WARNING:
        return _warning("disk", found, "free some before a large repository is added")
    return _ok("disk", found)


def check_inotify(folder: Path = _INOTIFY) -> Iterator[Check]:
    for name, least in INOTIFY_LEAST.items():
        file = folder / name
        try:
            limit = int(file.read_text())
        except (OSError, ValueError) as error:
            yield _warning(
                "inotify", f"{file} can't be read ({error})", "changes may be noticed by the timer only"
            )
            continue
        if limit < least:
            yield _warning("inotify", f"{name} is {limit}", f"sudo sysctl fs.inotify.{name}={least}")
        else:
            yield _ok("inotify", f"{name} is {limit}")


def check_dense(settings: Settings) -> Check:
    if not settings.dense.enabled:
        return _ok("dense view", "switched off by the settings")
    try:
        found = runtime(settings.dense.model)
    except EmbeddingError as error:
        return _warning("dense view", "absent; the other views work without it", str(error))
    return _ok("dense view", f"{found.name}, {found.precision}")


def check_reranker(settings: Settings, reported: Sequence[str] = ()) -> Iterator[Check]:
    """Where one is named: as the daemon says why it could not be loaded, else by its files."""
    model = settings.dense.reranker
    said = [each.removeprefix(RERANKER) for each in reported if each.startswith(RERANKER)]
    yield from (_warning("reranker", "searches go without it", each) for each in said)
    if said or not model or not settings.dense.enabled:
        return
    try:
        folder = reranking.find(model)
    except EmbeddingError as error:
        yield _warning("reranker", "searches go without it", str(error))
        return
    yield _ok("reranker", f"{model} ({folder})")


def check_relations(settings: Settings, environment: Mapping[str, str]) -> Iterator[Check]:
    """The language server of each family: a repository has relations in the families that have one."""
    if not settings.relations.enabled:
        yield _ok("relations", "switched off by the settings")
        return
    search = ServerPlaces.of(settings.relations, environment).search()
    if settings.relations.servers:
        yield from check_servers(Path(settings.relations.servers))
    for driver in DRIVERS:
        found = driver.find(search)
        if isinstance(found, Missing):
            yield Check(f"relations {driver.family}", Verdict.NOTE, found.reason, found.install)
        else:
            yield _ok(f"relations {driver.family}", f"{found.identity} ({found.program})")


def check_servers(folder: Path) -> Iterator[Check]:
    """Whether the folder of the settings is of any use; nothing is said when it is."""
    search = Search("", (folder,))
    if not any(True for name in PROGRAMS for _ in candidates(search, name)):
        what = "holds no language server" if folder.is_dir() else "is no folder"
        advice = f"name the folder that holds the programs themselves ({', '.join(PROGRAMS)})"
        yield _warning("relations", f"[relations] servers: {folder} {what}", advice)


def check_systemd(environment: Mapping[str, str], daemon_pid: int | None) -> Iterator[Check]:
    try:
        units = manager.status(environment)
    except ManagerUnavailable as error:
        yield _ok("systemd", f"not used: {error}")
        return
    except SystemdError as error:
        yield _warning("systemd", str(error), "'nibd service status' asks again")
        return
    if not any(unit.fragment_path for unit in units):
        yield _ok(
            "systemd", "the units are not installed; 'nibd service install' makes the daemon start at login"
        )
        return
    for unit in units:
        found = f"{unit.name} is {unit.unit_file_state or unit.load_state}, {unit.active_state}"
        if unit.active_state == "failed" or unit.result not in ("success", ""):
            advice = f"'journalctl --user -u {unit.name}', then 'systemctl --user reset-failed {unit.name}'"
            yield _problem("systemd", f"{found} ({unit.result})", advice)
        elif unit.needs_reload:
            yield _warning("systemd", f"{found}, changed on disk", "systemctl --user daemon-reload")
        elif unit.main_pid is not None and daemon_pid not in (None, unit.main_pid):
            advice = "log in through a session where XDG_RUNTIME_DIR is the one of systemd"
            yield _problem("systemd", f"{found}, but another daemon (process {daemon_pid}) answers", advice)
        else:
            yield _ok("systemd", found)


def check_repositories(
    paths: Paths, reported: Sequence[str] = (), notes: Sequence[str] = ()
) -> Iterator[Check]:
    """Each checkout. `reported` is what the daemon calls problems; most are of one checkout.

    `notes` are what of a repository's own files is not honoured; each says what to do.
    """
    try:
        checkouts = Registry(paths.registry_file).checkouts
    except RegistryError as error:
        yield _problem("registry", str(error), "")
        checkouts = []
    else:
        if not checkouts:
            yield _ok("repositories", "none is registered; 'nibd init' in one registers it")
    theirs: set[str] = set()
    for checkout in checkouts:
        own = [each for each in reported if each.startswith(f"{checkout.work_tree}: ")]
        theirs.update(own)
        check = check_hooks(checkout, paths.marker(checkout.repository))
        yield check
        if check.verdict is not Verdict.PROBLEM:  # else the daemon's is the same trouble in other words
            advice = f"'nibd init {checkout.work_tree}' tries again at once; {paths.log_file} may say more"
            yield from (_problem("repository", each, advice) for each in own)
    others = [each for each in reported if each not in theirs and not each.startswith(RERANKER)]
    yield from (_problem("daemon", each, "") for each in others)
    yield from (_warning("repository", each, "") for each in notes)


def check_hooks(checkout: Checkout, marker: Path) -> Check:
    """Whether the checkout is there, and its hooks are as `nibd init` leaves them."""
    where = str(checkout.work_tree)
    if not checkout.work_tree.is_dir():
        return _problem("repository", f"{where} is gone", f"'nibd remove {where}' if it is not to come back")
    try:
        reports = inspect(checkout.work_tree, marker)
    except HooksError as error:
        return _problem("repository", f"{where}: {error}", "")
    reported = [report for report in reports if report.outcome in _REPORTED]
    if not reported:
        return _ok("repository", f"{where}: hooks are in place")
    outcomes = {report.outcome for report in reported}
    if len(reported) == len(reports) and Outcome.ABSENT in outcomes <= {Outcome.ABSENT, Outcome.LEFT_ALONE}:
        advice = f"commits are noticed a little later there; 'nibd init {where}' installs hooks"
        return Check("repository", Verdict.NOTE, f"{where}: no hooks of nibd's", advice)
    if outcomes == {Outcome.LEFT_ALONE}:
        advice = "commits are noticed a little later there"
        return Check("repository", Verdict.NOTE, f"{where}: {_hooks(reported)}", advice)
    mendable = not outcomes.isdisjoint({Outcome.ABSENT, Outcome.OUTDATED})
    advice = f"'nibd init {where}' installs them" if mendable else "commits are noticed a little later there"
    return _warning("repository", f"{where}: {_hooks(reported)}", advice)


def _hooks(reports: Sequence[HookReport]) -> str:
    groups: dict[str, list[str]] = {}
    for report in reports:
        state = report.outcome.value.replace("_", " ")
        groups.setdefault(f"{state} ({report.reason})" if report.reason else state, []).append(report.name)
    return "; ".join(f"{', '.join(names)} {state}" for state, names in groups.items())


def _texts(reported: JsonObject | None, key: str) -> list[str]:
    return [str(each) for each in (reported or {}).get(key) or ()]


def _memory(reported: JsonObject) -> str:
    size = reported.get("memory_bytes")
    return f", {size / (1 << 20):.0f} MiB" if isinstance(size, int) else ""


def _existing(path: Path) -> Path:
    """The path itself or the nearest folder above it that is there."""
    return next((each for each in (path, *path.parents) if each.exists()), Path("/"))


def _ok(name: str, found: str) -> Check:
    return Check(name, Verdict.OK, found)


def _warning(name: str, found: str, advice: str) -> Check:
    return Check(name, Verdict.WARNING, found, advice)


def _problem(name: str, found: str, advice: str) -> Check:
    return Check(name, Verdict.PROBLEM, found, advice)
