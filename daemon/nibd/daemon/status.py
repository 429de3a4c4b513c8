"""What `status` says of a checkout: what it stands at, what each view rests on, what runs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from nibd.daemon import broken_files, wire
from nibd.daemon.checkout_state import CheckoutState
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.heads import HeadState
from nibd.daemon.lanes import Running
from nibd.daemon.relations.steps import after_failure
from nibd.daemon.relations.upkeep import STAGES
from nibd.daemon.scheduler import Job
from nibd.daemon.statistics import Repairs, repairs_of
from nibd.daemon.views import serves
from nibd.ipc.messages import Json, JsonObject
from nibd.stores.errors import CorruptStore, StoreError
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Publication, Snapshot, ViewRecord
from nibd.stores.types import State, View


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a checkout stands, and which publication serves each view. `newest` is what it shows."""

    head: HeadState
    newest: Publication | None
    serving: Mapping[View, Publication | None]
    relating: Mapping[str, Publication | None]
    """By language family, the publication that answers for its relations."""


async def standing(coordinator: Coordinator, state: CheckoutState) -> Standing:
    """Read HEAD and the catalog now."""
    head = await coordinator.look(state)
    views = coordinator.views(state.checkout.repository)
    publications = await coordinator.in_git(views.publications, state.checkout.id)
    profile = coordinator.embedding.profile
    serving = {view: next((p for p in publications if serves(p, (view,), profile)), None) for view in View}
    newest = publications[0] if publications else None
    families = newest.snapshot.relations if newest else ()
    relating = {
        family: next((p for p in publications if has_relations(p.snapshot, family)), None)
        for family in families
    }
    return Standing(head, newest, serving, relating)


def has_relations(snapshot: Snapshot, family: str) -> bool:
    record = snapshot.relations.get(family)
    return record is not None and record.serves


async def relations_json(
    coordinator: Coordinator, state: CheckoutState, now: Standing, family: str
) -> JsonObject:
    """The relations of a family, in the words of a view."""
    assert now.newest is not None, "a family is of a snapshot"
    serving, record = now.relating[family], now.newest.snapshot.relations[family]
    upkeep = coordinator.relations
    record = upkeep.now(state.checkout.id, family, record)
    tree = now.newest.snapshot.tree
    lost = upkeep.losses.of(state.checkout.repository) or upkeep.unpublished.instead_of(
        state.checkout.id, tree
    )
    failure = upkeep.failures.of(state.checkout.id, now.newest.snapshot.tree)
    if lost:
        why = f"the relations were damaged and are being made again: {lost.reason}"
        record = replace(record, state=State.BUILDING, assurance=None, reason=why)
    if lost and lost.reason == failure:
        failure = None  # it is said already
    is_remade = upkeep.is_making(state.checkout, now.newest.snapshot.tree)
    record = after_failure(record, failure, is_remade=is_remade)
    waits = upkeep.waiting.get(state.checkout.id, {}).get(family)
    if record.state is State.BUILDING and waits:
        record = replace(record, reason=f"an install seems to run: {waits}")
    behind = await lag(coordinator, state, now.head, serving)
    described = wire.view(record, serving, behind, _stale_reason(state, now, serving, record.state))
    measured = record if record.agreement or serving is None else serving.snapshot.relations[family]
    return described | {"work": dict(record.work), "agreement": wire.agreement(measured)}


async def without_relations(coordinator: Coordinator, state: CheckoutState) -> str:
    """Why nothing answers by relations: what the newest snapshot says of those of each family."""
    now = await standing(coordinator, state)
    families = {family: await relations_json(coordinator, state, now, family) for family in now.relating}
    if not families:
        return "it has no files of a language that has relations"
    reasons = {family: str(each["reason"] or each["state"]) for family, each in families.items()}
    if len(set(reasons.values())) == 1:
        return f"there are no relations: {next(iter(reasons.values()))}"
    told = "; ".join(f"{family}: {reason}" for family, reason in reasons.items())
    return f"there are no relations: {told}"


def relations_now(
    coordinator: Coordinator, state: CheckoutState, newest: Publication | None, family: str
) -> tuple[ViewRecord | None, str]:
    """What the newest snapshot says of a family's relations, as of now, and what is being done of them."""
    record = newest.snapshot.relations.get(family) if newest else None
    progress = coordinator.relations.progress().get(state.checkout.repository)
    doing = ""
    if progress and progress["stage"] == STAGES["relate"]:
        of = f", {progress['done']} of {progress['total']} so far" if progress["total"] else ""
        doing = f"they are being made{of}"
    return record and coordinator.relations.now(state.checkout.id, family, record), doing


async def view_json(coordinator: Coordinator, state: CheckoutState, now: Standing, view: View) -> JsonObject:
    if now.newest is None:
        return wire.no_view(*_pending(coordinator, state, view)) | {"work": {}}
    serving = now.serving[view]
    record = now.newest.snapshot.views[view]
    failure = coordinator.embedding.failure
    if view is View.DENSE and record.state is State.BUILDING and failure:
        record = replace(record, state=State.FAILED, reason=f"embedding failed and is tried again: {failure}")
    behind = await lag(coordinator, state, now.head, serving)
    described = wire.view(record, serving, behind, _stale_reason(state, now, serving, record.state))
    return described | {"work": dict(record.work)}


async def lag(
    coordinator: Coordinator, state: CheckoutState, head: HeadState, serving: Publication | None
) -> JsonObject:
    if serving is None or head.commit is None:
        return wire.lag(None, None)
    is_here = serving.commit == head.commit  # nearly always: then nothing is to be counted
    commits = 0 if is_here else await coordinator.distance(state.checkout, serving.commit, head.commit)
    return wire.lag(commits, state.history.seconds_behind(serving.commit))


async def status(coordinator: Coordinator, state: CheckoutState) -> JsonObject:
    now = await standing(coordinator, state)
    newest = now.newest.snapshot if now.newest else None
    checkout = state.checkout
    repairs = await _repairs(coordinator)
    return {
        "checkout": checkout.id,
        "repository": checkout.repository,
        "path": str(checkout.work_tree),
        "head": {"commit": now.head.commit, "tree": now.head.tree, "branch": now.head.branch},
        "error": now.head.error or state.failure,
        "snapshot": wire.snapshot(now.newest),
        "views": {view.value: await view_json(coordinator, state, now, view) for view in View},
        "relations": {
            family: await relations_json(coordinator, state, now, family)
            | {"repairs": repairs.get(checkout.repository, {}).get(family)}
            for family in now.relating
        },
        "files": wire.counted(newest.files) if newest else {"indexed": 0, "total": 0},
        "skipped": wire.counted(newest.skipped) if newest else {},
        "notes": list(newest.notes) if newest else [],
        "broken": await _broken(coordinator, state),
        "work": work(coordinator),
        "statistics": statistics(coordinator) | {"repairs": repairs},
    }


async def _broken(coordinator: Coordinator, state: CheckoutState) -> JsonObject:
    """The files of the newest snapshot that the parser can't make out wholly."""
    views = coordinator.views(state.checkout.repository)

    def look() -> JsonObject:
        with views.reading(state.checkout.id, frozenset({View.STRUCTURAL})) as reading:
            return broken_files.of_tree(reading) if reading else broken_files.NONE

    try:
        return await asyncio.to_thread(look)
    except CorruptStore as error:
        coordinator.damaged(state, View.STRUCTURAL, str(error))
    except StoreError:
        coordinator.compare_all()  # its files were removed meanwhile
    return broken_files.NONE


async def _repairs(coordinator: Coordinator) -> Repairs:
    """How often the repair of relations alone was right, in every repository."""
    repositories = {state.checkout.repository for state in coordinator.states.values()}
    folders = {each: RepositoryFolder(coordinator.paths.repository_dir(each)) for each in repositories}
    return await asyncio.to_thread(repairs_of, folders)


def work(coordinator: Coordinator) -> JsonObject:
    running: list[Json] = [_running(job) for job in coordinator.lanes.running.values()]
    if coordinator.embedding.progress:
        running.append(
            {"repository": None, "kind": "embed", "commit": None, "progress": coordinator.embedding.progress}
        )
    running += [
        {"repository": repository, "kind": "relations", "commit": None, "progress": progress}
        for repository, progress in coordinator.relations.progress().items()
    ]
    return {"running": running, "waiting": [_job(job) for job in coordinator.lanes.scheduler.waiting()]}


def statistics(coordinator: Coordinator) -> JsonObject:
    children = {lane.value: child for lane, child in coordinator.lanes.children.items()}
    processes: JsonObject = {"daemon": {"pid": os.getpid(), "memory_bytes": _memory(os.getpid())}}
    for name, child in children.items():
        processes[f"indexer_{name}"] = {
            "pid": child.pid,
            "memory_bytes": _memory(child.pid),
            "starts": child.starts,
            "crashes": child.crashes,
        }
    embedder = coordinator.embedding.pid
    processes["embedder"] = {"pid": embedder, "memory_bytes": _memory(embedder)}
    navigators: JsonObject = {
        repository: {"pid": pid, "memory_bytes": _memory(pid)}
        for repository, pid in coordinator.relations.navigators.pids().items()
    }
    return coordinator.statistics.as_json() | {"processes": processes, "navigators": navigators}


def doctor(coordinator: Coordinator) -> JsonObject:
    """What the daemon knows of itself; the command `nibd doctor` adds what it sees from outside."""
    paths = coordinator.paths
    troubles = {
        state.checkout.work_tree: (state.head and state.head.error) or state.failure
        for state in coordinator.states.values()
    }
    problems = [f"{where}: {what}" for where, what in troubles.items() if what]
    if coordinator.watch_failure:
        problems.append(coordinator.watch_failure)
    embedding = coordinator.embedding
    if embedding.failure:
        problems.append(f"embedding: {embedding.failure}")
    if embedding.reranking.failure:
        problems.append(f"reranker: {embedding.reranking.failure}")
    for state in coordinator.states.values():
        problems += [f"{state.checkout.work_tree}: {what}" for what in _failed_relations(coordinator, state)]
    own = statistics(coordinator)
    return {
        "paths": {
            "config": str(paths.config_file),
            "state": str(paths.state_dir),
            "cache": str(paths.cache_dir),
            "log": str(paths.log_file),
        },
        "processes": own["processes"],
        "memory_bytes": _memory(os.getpid()),
        "watching": [str(folder) for folder in coordinator.watched()],
        "settings": asdict(coordinator.settings),
        "dense": {"profile": embedding.profile, "absent": embedding.absent},
        "problems": problems,
        "notes": [
            f"{state.checkout.work_tree}: {note}"
            for state in coordinator.states.values()
            if state.published
            for note in state.published.snapshot.notes
        ],
    }


def _failed_relations(coordinator: Coordinator, state: CheckoutState) -> Iterator[str]:
    """What failed of the relations of the tree that the checkout shows."""
    if state.published is None:
        return
    snapshot = state.published.snapshot
    failure = coordinator.relations.failures.of(state.checkout.id, snapshot.tree)
    is_remade = coordinator.relations.is_making(state.checkout, snapshot.tree)
    again = "; they are being made again" if is_remade else ""
    if failure:
        yield f"relations: {failure}{again}"
    for family, record in snapshot.relations.items():
        if record.state is State.FAILED:
            yield f"relations {family}: {record.reason}{again}"


def _stale_reason(
    state: CheckoutState, now: Standing, serving: Publication | None, newest: State
) -> str | None:
    """Why an answer from this view is not of HEAD; `None` when the record's own reason is all."""
    if now.head.error:
        return now.head.error
    if serving is None or now.head.commit in (None, serving.commit):
        return None
    if state.failure:
        return f"the repair of {_short(now.head.commit)} failed: {state.failure}"
    if newest is State.READY:
        return f"{_short(now.head.commit)} is being indexed"
    return None


def _pending(coordinator: Coordinator, state: CheckoutState, view: View) -> tuple[State, str | None]:
    """What a view is, and why, while the checkout shows nothing."""
    head = state.head
    if view is View.DENSE and coordinator.embedding.absent:
        return State.ABSENT, coordinator.embedding.absent
    if head and head.error:
        return State.FAILED, head.error
    if head and head.commit is None:
        return State.ABSENT, "the branch has no commit yet"
    return (State.FAILED, state.failure) if state.failure else (State.BUILDING, None)


def _running(running: Running) -> JsonObject:
    return _job(running.job) | {"progress": running.progress}


def _job(job: Job) -> JsonObject:
    return {"repository": job.repository, "kind": job.kind.value, "commit": job.commit}


def _short(commit: str | None) -> str:
    return (commit or "")[:10]


def _memory(pid: int | None) -> int | None:
    """Resident bytes; `None` when the process is not there or the system does not tell."""
    if pid is None:
        return None
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
