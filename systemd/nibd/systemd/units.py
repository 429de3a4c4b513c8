"""The text of the user units, rendered from templates.

A rendered unit begins with a *seal*: a comment with the SHA-256 of what follows it. A unit whose
seal matches is as nibd wrote it; `files` replaces and removes only such.

Escaping, as systemd.syntax(7) and systemd.service(5) have it: words stand in double quotes with C
escapes, `%` is doubled. The program in ExecStart has the prefix `:`, so that `$` means itself. A
program's own path cannot hold quotes, backslashes or control characters, escaped or not: systemd
refuses such a unit, so it is refused here, with the path named.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template

from nibd.systemd.errors import UnitTextError

SERVICE = "nibd.service"
SOCKET = "nibd.socket"
UNIT_NAMES = (SERVICE, SOCKET)

_SEAL = re.compile(r"# Written by nibd; sha256 of what follows: ([0-9a-f]{64})\n")
_REFUSED_IN_PROGRAM = re.compile(r"[\x00-\x1f\x7f\"'\\]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEFAULT_FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}


def render(executable: Path, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the sealed text of each unit by name.

    `executable` is the absolute path of the `nibd` program, `environment` what the service gets
    beyond the manager's own environment (see `passed_environment`).
    """
    values = {
        "executable": _program(executable),
        "environment": "\n".join(_assignment(*item) for item in sorted((environment or {}).items())),
    }
    return {name: seal(Template(_template(name)).substitute(values)) for name in UNIT_NAMES}


def passed_environment(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the XDG folders of `environment` that differ from their defaults under `home`.

    The user manager does not see what a shell exports; without these the daemon would look for its
    configuration, state and cache elsewhere than the command line does. Relative values are left
    out, as the XDG specification asks. XDG_RUNTIME_DIR is the manager's own (`%t` in the socket).
    """
    return {
        name: value
        for name, default in _DEFAULT_FOLDERS.items()
        if (value := environment.get(name, "")).startswith("/") and Path(value) != home / default
    }


def seal(text: str) -> str:
    return f"# Written by nibd; sha256 of what follows: {_digest(text)}\n{text}"


def is_as_written(text: str) -> bool:
    """Whether `text` carries a seal and nobody changed anything below it."""
    found = _SEAL.match(text)
    return found is not None and found.group(1) == _digest(text[found.end() :])


def has_seal(text: str) -> bool:
    return _SEAL.match(text) is not None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _template(name: str) -> str:
    return resources.files("nibd.systemd").joinpath("units", name).read_text("utf-8")


def _program(executable: Path) -> str:
    text = str(executable)
    if not executable.is_absolute():
        raise UnitTextError(f"a unit needs the absolute path of a program, not {text!r}")
    if _REFUSED_IN_PROGRAM.search(text):
        raise UnitTextError(
            f"systemd starts no program whose path has quotes, backslashes or control characters: {text!r}"
        )
    return _quote(text)


def _assignment(name: str, value: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise UnitTextError(f"not the name of an environment variable: {name!r}")
    return f"Environment={_quote(f'{name}={value}')}"


def _quote(text: str) -> str:
    """Return `text` as one double-quoted word of a unit file."""
    if "\0" in text or not _is_unicode(text):
        raise UnitTextError(f"a unit file holds UTF-8 text without NUL, which this is not: {text!r}")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + re.sub(r"[\x01-\x1f\x7f]", lambda found: f"\\x{ord(found.group()):02x}", escaped) + '"'


def _is_unicode(text: str) -> bool:
    """Whether `text` came from UTF-8: Python keeps other bytes of a path as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
