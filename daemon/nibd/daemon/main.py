"""The daemon's life: one a user, from the lock to the last child's end.

Order at start: settings, lock, registry, log, sockets (inherited from systemd, or its own), the coordinator,
the watch, the timers, the server; then READY is told. At the end in reverse. Exit status: 0 stopped
in order, 3 the environment does not let it run (the message says why and what to do), 4 another runs.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from nibd.daemon import logs
from nibd.daemon.coordinator import Coordinator
from nibd.daemon.lock import ANOTHER_RUNS, AnotherRunsError, only_one
from nibd.daemon.marker_watch import MarkerWatch
from nibd.daemon.paths import Paths, PathsError
from nibd.daemon.process_arguments import take_none
from nibd.daemon.registry import Registry, RegistryError
from nibd.daemon.service import Service
from nibd.daemon.settings import Settings, SettingsError, load
from nibd.daemon.watch import Watcher
from nibd.ipc.handlers import Limits
from nibd.ipc.messages import IpcError
from nibd.ipc.server import Server
from nibd.ipc.sockets import listen, prepare_folder, socket_path
from nibd.stores.file_identity import file_identity
from nibd.systemd.activation import listen_sockets
from nibd.systemd.errors import SystemdError
from nibd.systemd.notify import Notifier

REFUSED = 3
COMPARE = "compare"
PULSE_S = 30.0
NEW_VALUES, YOUNGER_PASSES = 20_000, 20
"""Cycles are looked for after so many new values, and among older ones after so many passes over younger."""
CLOCK_SET_S = 5.0
"""The system's clock was set when it moved so much against the monotonic one between two pulses."""


async def run(
    paths: Paths,
    settings: Settings,
    registry: Registry,
    listeners: list[socket.socket],
    notifier: Notifier,
    log: structlog.stdlib.BoundLogger,
    is_reachable: Callable[[], bool] = lambda: True,
) -> None:
    """Serve until told to stop, by a signal or by `shutdown`, or until nobody can connect any more."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stopping.set)

    coordinator = Coordinator(paths, settings, registry, log)
    service = Service(coordinator, stopping.set)
    server = Server(
        service.methods(),
        lambda error_id, method, error: log.error(
            "request_failed", error_id=error_id, method=method, exc_info=error
        ),
        _limits(settings),
    )
    markers, watcher = _watches(coordinator, settings, log)
    timers = _timers(coordinator, settings)
    watching = asyncio.ensure_future(watcher.run())
    try:
        await coordinator.start()
        for listener in listeners:
            await server.serve(listener)
        timers.start()
        log.info("ready", pid=os.getpid(), checkouts=len(coordinator.states))
        notifier.ready(f"{len(coordinator.states)} checkouts")
        pulse = asyncio.ensure_future(_pulse(coordinator, timers, notifier))
        reachable = asyncio.ensure_future(_while_reachable(is_reachable, stopping, log))
        await stopping.wait()
        pulse.cancel()
        reachable.cancel()
    finally:
        notifier.stopping()
        log.info("stopping")
        if timers.running:
            timers.shutdown(wait=False)
        markers.close()
        watcher.close()
        await server.close()
        await coordinator.stop()
        service.close()
        await watching
        log.info("stopped")


def _watches(
    coordinator: Coordinator, settings: Settings, log: structlog.stdlib.BoundLogger
) -> tuple[MarkerWatch, Watcher]:
    """One for what hooks tell, and one for what they miss."""

    def failed(reason: str) -> None:
        coordinator.watch_failure = reason
        log.error("watch_failed", reason=reason)

    folder = coordinator.paths.markers_dir
    markers = MarkerWatch(folder, coordinator.hinted, failed)
    watcher = Watcher(coordinator.hinted, failed, settings.daemon.debounce_ms)

    def follow() -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        markers.watch()
        watcher.watch(coordinator.watched())

    coordinator.on_registered = follow
    return markers, watcher


def _timers(coordinator: Coordinator, settings: Settings) -> AsyncIOScheduler:
    """What runs by the clock: the last net under lost hints."""
    timers = AsyncIOScheduler(job_defaults={"coalesce": True, "misfire_grace_time": None})

    async def compare() -> None:  # a coroutine, so that it runs on the loop and not in a thread
        coordinator.on_registered()  # a folder that could not be watched may be there now
        coordinator.compare_all()

    seconds = settings.daemon.compare_interval_s
    timers.add_job(compare, "interval", seconds=seconds, id=COMPARE)
    return timers


async def _pulse(coordinator: Coordinator, timers: AsyncIOScheduler, notifier: Notifier) -> None:
    """Tell systemd that the loop turns, by the loop's own clock, and notice when the system's is set.

    The timers go by the system's clock: set back by a day, they would be silent for a day.
    """
    pause = min(PULSE_S, notifier.watchdog_interval_s or PULSE_S)
    offset, rested = time.time() - time.monotonic(), time.monotonic()
    while True:
        notifier.watchdog()
        await asyncio.sleep(pause)
        if time.monotonic() - rested >= PULSE_S:
            rested = time.monotonic()
            coordinator.rest()
        now = time.time() - time.monotonic()
        if abs(now - offset) > CLOCK_SET_S:
            timers.modify_job(COMPARE, next_run_time=datetime.now(UTC))
        offset = now


async def _while_reachable(
    is_reachable: Callable[[], bool], stopping: asyncio.Event, log: structlog.stdlib.BoundLogger
) -> None:
    """Then stop: who holds the lock and can't be reached keeps any other daemon from starting."""
    while is_reachable():
        await asyncio.sleep(PULSE_S)
    log.error("socket_gone")
    stopping.set()


def _limits(settings: Settings) -> Limits:
    return Limits(
        max_request_bytes=settings.daemon.max_message_bytes,
        max_clients=settings.daemon.max_clients,
        request_timeout_s=float(settings.daemon.request_timeout_s),
    )


@contextmanager
def _listening(
    environment: MutableMapping[str, str], paths: Paths
) -> Iterator[tuple[list[socket.socket], Callable[[], bool]]]:
    """The sockets systemd gave, else one of our own, removed at the end, with what tells whether it is still
    there: it goes with the user's runtime folder when the last session ends."""
    given = listen_sockets(environment, os.getpid())
    if given:
        yield given, lambda: True
        return
    path = socket_path(paths.runtime_dir, paths.uid).path
    prepare_folder(path.parent, paths.uid)
    listener = listen(path)
    made = file_identity(path)
    try:
        yield [listener], lambda: file_identity(path) == made
    finally:
        path.unlink(missing_ok=True)


def _rarely_look_for_cycles() -> None:
    """What was imported stays, and neither what answers are made of nor what caches keep has cycles: with
    CPython's own thresholds, looking for them took a twentieth of a search."""
    gc.freeze()
    gc.set_threshold(NEW_VALUES, YOUNGER_PASSES, YOUNGER_PASSES)


def main(environment: MutableMapping[str, str] | None = None, foreground: bool = False) -> int:
    """Run the daemon of this user; `foreground` sends the log to stderr."""
    environment = os.environ if environment is None else environment
    os.umask(0o077)
    try:
        paths = Paths.from_environment(environment, os.getuid())
        settings = load(paths.config_file)
        with ExitStack() as stack:
            stack.enter_context(only_one(paths.lock_file))
            registry = Registry(paths.registry_file)  # before anybody can connect: it may be refused
            listeners, is_reachable = stack.enter_context(_listening(environment, paths))
            level, bound = settings.daemon.log_level, settings.daemon
            log_file = None if foreground else paths.log_file
            logs.configure(log_file, level, bound.log_max_bytes, bound.log_files)
            notifier = Notifier.from_environment(environment, os.getpid())
            _rarely_look_for_cycles()
            log = logs.logger("daemon")
            asyncio.run(run(paths, settings, registry, listeners, notifier, log, is_reachable))
    except AnotherRunsError as error:
        print(f"nibd: {error}", file=sys.stderr)
        return ANOTHER_RUNS
    except (IpcError, OSError, PathsError, RegistryError, SettingsError, SystemdError) as error:
        print(f"nibd: {error}", file=sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    take_none("nibd.daemon.main", "Run the daemon of this user, as `nibd serve` does.")
    sys.exit(main())
