"""How much memory a process could still take here, before something else would have to give way.

The kernel's estimate for the machine, and less where the process's own control group (cgroup 2) has a limit.
Pages of files count as available, as they can be dropped.
"""

from __future__ import annotations

from pathlib import Path

UNKNOWN_NEED_BYTES = 1 << 30
"""What a server is taken to need when none is running to tell."""
RESERVE_BYTES = 512 << 20
"""Left for everything else."""
_MEMINFO = Path("/proc/meminfo")
_OWN_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


class NoRoom(Exception):  # noqa: N818 - says what is
    """There is not the memory for a second server now."""


def require_room(held_bytes: int) -> None:
    """Raises NoRoom unless another server like the one that holds so much (0: none runs) has room."""
    need = held_bytes or UNKNOWN_NEED_BYTES
    there = available_bytes()
    if there < need + need // 2 + RESERVE_BYTES:
        raise NoRoom(f"a second server may need {need >> 20} MiB, and {there >> 20} MiB are free")


def available_bytes() -> int:
    """0 when nothing says how much there is."""
    return min((_of_machine(), *_of_groups()))


def _of_machine() -> int:
    for line in _lines(_MEMINFO):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def _of_groups() -> list[int]:
    """What is left in each group around this process that has a limit."""
    own = next((line[3:] for line in _lines(_OWN_GROUP) if line.startswith("0::")), None)
    if own is None:
        return []
    found = []
    group = _GROUPS / own.lstrip("/")
    while group.is_relative_to(_GROUPS):
        limit, used = _lines(group / "memory.max"), _lines(group / "memory.current")
        if limit and used and limit[0].isdigit():
            found.append(int(limit[0]) - int(used[0]) + _droppable(group))
        group = group.parent
    return found


def _droppable(group: Path) -> int:
    for line in _lines(group / "memory.stat"):
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def _lines(path: Path) -> list[str]:
    """Of a file of the kernel's; none where there is no such file."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
