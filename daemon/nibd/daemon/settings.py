"""What a user can set, and what a repository may ask for.

Each *setting* is declared once, as a field of its section with a default, the values allowed and
what a repository may do to it; reading, narrowing and docs/settings.md follow from that. The
user's file is `$XDG_CONFIG_HOME/nibd/config.toml`; a repository's own is read by
`nibd.daemon.repository_settings`.

A mistake is a SettingsError that names file, key, what was found and what is allowed. Whoever reads
decides what follows: the daemon does not start with a user's file that it cannot understand, and
does without those keys of a repository's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import cast

Value = int | bool | str | tuple[str, ...]

MAX_FILE_BYTES = 64 * 1024
MAX_PATTERNS = 256
MAX_PATTERN_CHARACTERS = 256


class SettingsError(Exception):
    """A file that cannot be used. `key` is empty when the file as a whole is meant."""

    def __init__(self, file: str, key: str, found: str, allowed: str) -> None:
        self.file, self.key, self.found, self.allowed = file, key, found, allowed
        super().__init__(f"{file}: {f'{key}: ' if key else ''}found {found}; allowed: {allowed}")


class Narrowing(StrEnum):
    """What a repository may do to a setting."""

    NOTHING = "nothing"
    LOWER = "lower it"
    ADD = "add to it"
    SKIP = 'set "skip"'
    OFF = "switch it off"


@dataclass(frozen=True, slots=True)
class Rule:
    """Which values a setting takes, besides being of its default's type, and what it is for."""

    about: str
    minimum: int = 0
    maximum: int = 0
    choices: tuple[str, ...] = ()
    repository: Narrowing = Narrowing.NOTHING


def _rule(
    about: str,
    within: tuple[int, int] = (0, 0),
    choices: tuple[str, ...] = (),
    repository: Narrowing = Narrowing.NOTHING,
) -> dict[str, Rule]:
    return {"rule": Rule(about, within[0], within[1], choices, repository)}


_TREATMENTS = ("skip", "index")
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """[index]"""

    max_file_bytes: int = field(
        default=_MIB,
        metadata=_rule("Larger files are skipped.", (1024, 64 * _MIB), repository=Narrowing.LOWER),
    )
    generated: str = field(
        default="skip",
        metadata=_rule("Files that are generated.", choices=_TREATMENTS, repository=Narrowing.SKIP),
    )
    vendored: str = field(
        default="skip",
        metadata=_rule("Files taken over from elsewhere.", choices=_TREATMENTS, repository=Narrowing.SKIP),
    )
    ignore: tuple[str, ...] = field(
        default=(),
        metadata=_rule("Files to leave out, in gitignore syntax.", repository=Narrowing.ADD),
    )
    workers: int = field(
        default=0,
        metadata=_rule("Processes that parse; 0: as many as the machine has processors.", (0, 64)),
    )


@dataclass(frozen=True, slots=True)
class DenseSettings:
    """[dense]"""

    enabled: bool = field(default=True, metadata=_rule("Keep the dense view.", repository=Narrowing.OFF))
    model: str = field(
        default="all-MiniLM-L6-v2",
        metadata=_rule("A sentence-transformers model: its name, or the absolute path of its folder."),
    )
    allow_download: bool = field(
        default=False, metadata=_rule("Fetch the model from the network when it is not on this machine.")
    )
    threads: int = field(
        default=0, metadata=_rule("Threads that embed; 0: as many as the machine has processors.", (0, 64))
    )
    reranker: str = field(
        default="",
        metadata=_rule(
            "A sentence-transformers cross-encoder that orders the first hits of a search anew: its name, or "
            "the absolute path of its folder."
        ),
    )
    idle_seconds: int = field(
        default=300, metadata=_rule("The embedder ends when it had nothing to do for so long.", (1, 86_400))
    )

    @property
    def absent(self) -> str | None:
        """Why there is no dense view, if the settings are the reason."""
        return None if self.enabled else "switched off by the settings ([dense] enabled)"


@dataclass(frozen=True, slots=True)
class RelationsSettings:
    """[relations]"""

    enabled: bool = field(
        default=True, metadata=_rule("Ask language servers for relations.", repository=Narrowing.OFF)
    )
    servers: str = field(
        default="", metadata=_rule("A folder in which servers are looked for before those of PATH.")
    )
    idle_seconds: int = field(
        default=1800,
        metadata=_rule("A repository's servers end when nothing was asked for so long.", (1, 86_400)),
    )
    audit_transitions: int = field(
        default=20,
        metadata=_rule(
            "Verified relations are audited by a fresh server after so many transitions; 0: never.",
            (0, 100_000),
        ),
    )

    @property
    def absent(self) -> str | None:
        """Why there are no relations, if the settings are the reason."""
        return None if self.enabled else "switched off by the settings ([relations] enabled)"


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """[context]"""

    tokenizer: str = field(
        default="",
        metadata=_rule("The tokenizer.json that counts tokens, by absolute path; else the model's own."),
    )


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """[daemon]"""

    compare_interval_s: int = field(
        default=60,
        metadata=_rule("How often HEAD, and what is installed, is looked at without a hint.", (1, 86_400)),
    )
    debounce_ms: int = field(default=25, metadata=_rule("Hints within this time are one.", (1, 10_000)))
    keep_snapshots: int = field(
        default=8,
        metadata=_rule("Commits kept a repository beside those that checkouts show.", (0, 1000)),
    )
    log_level: str = field(
        default="info",
        metadata=_rule("What is logged, from much to little.", choices=("debug", "info", "warning", "error")),
    )
    log_max_bytes: int = field(
        default=5 * _MIB, metadata=_rule("The log is rotated past this size.", (64 * 1024, 1024 * _MIB))
    )
    log_files: int = field(default=3, metadata=_rule("Rotated logs kept.", (1, 100)))
    request_timeout_s: int = field(
        default=30, metadata=_rule("A request that takes longer is cancelled.", (1, 3600))
    )
    max_clients: int = field(default=64, metadata=_rule("Connections at a time.", (1, 1024)))
    max_sessions: int = field(default=64, metadata=_rule("Sessions at a time.", (1, 1024)))
    session_idle_s: int = field(
        default=1800, metadata=_rule("A session ends when nothing was asked for so long.", (1, 86_400))
    )
    max_message_bytes: int = field(
        default=4 * _MIB, metadata=_rule("A larger request ends its connection.", (64 * 1024, 64 * _MIB))
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; without arguments, the defaults."""

    index: IndexSettings = field(default_factory=IndexSettings)
    dense: DenseSettings = field(default_factory=DenseSettings)
    relations: RelationsSettings = field(default_factory=RelationsSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    daemon: DaemonSettings = field(default_factory=DaemonSettings)

    def get(self, key: str) -> Value:
        """The value of `section.name`."""
        section, name = key.split(".")
        return cast(Value, getattr(getattr(self, section), name))


def _declared() -> Iterator[tuple[str, Rule]]:
    for section in fields(Settings):
        for setting in fields(getattr(Settings(), section.name)):
            yield f"{section.name}.{setting.name}", setting.metadata["rule"]


RULES: Mapping[str, Rule] = dict(_declared())
"""Every setting by its key, `section.name`, in the order of docs/settings.md."""
SECTIONS = tuple(section.name for section in fields(Settings))


def load(path: Path) -> Settings:
    """Read the user's file; the defaults when there is none. Raises SettingsError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        found = f"no way to read it ({error.strerror})"
        raise SettingsError(str(path), "", found, "a readable file") from error
    return parse(data, str(path))


def parse(data: bytes, file: str) -> Settings:
    """Return the defaults with what `data` sets. Raises SettingsError, which names `file`."""
    values: dict[str, Value] = {}
    for entry in entries(data, file):
        if isinstance(entry, SettingsError):
            raise entry
        values[entry[0]] = entry[1]
    return with_values(Settings(), values)


def entries(data: bytes, file: str) -> Iterator[tuple[str, Value] | SettingsError]:
    """Each key of a file with its value, or what is wrong with it, in the file's order.

    Raises SettingsError when the file as a whole can't be read.
    """
    for section, table in _toml_tables(data, file).items():
        if section not in SECTIONS:
            known = ", ".join(f"[{name}]" for name in SECTIONS)
            yield SettingsError(file, _shortened(section), "an unknown section", known)
        elif not isinstance(table, dict):
            yield SettingsError(file, section, _shortened(repr(table)), f"a section, [{section}]")
        else:
            for name, found in table.items():
                yield _entry(file, section, name, found)


def with_values(settings: Settings, values: Mapping[str, Value]) -> Settings:
    """Return `settings` with these values, by key."""
    sections: dict[str, dict[str, Value]] = {name: {} for name in SECTIONS}
    for key, value in values.items():
        section, name = key.split(".")
        sections[section][name] = value
    return Settings(**{name: replace(getattr(settings, name), **found) for name, found in sections.items()})


def as_toml(value: Value) -> str:
    """How a value is written in a file of settings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def allowed(key: str) -> str:
    """Say which values a setting takes."""
    rule, default = RULES[key], Settings().get(key)
    if rule.choices:
        return " or ".join(as_toml(choice) for choice in rule.choices)
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, int):
        return f"a whole number from {rule.minimum} to {rule.maximum}"
    if isinstance(default, str):
        return "a name or an absolute path"
    return (
        f"at most {MAX_PATTERNS} patterns in gitignore syntax, "
        f"each of 1 to {MAX_PATTERN_CHARACTERS} characters on one line"
    )


def _entry(file: str, section: str, name: str, found: object) -> tuple[str, Value] | SettingsError:
    key = f"{section}.{name}"
    if key not in RULES:
        names = (known.split(".")[1] for known in RULES if known.startswith(f"{section}."))
        return SettingsError(file, _shortened(key), "an unknown key", ", ".join(names))
    return _checked(file, key, found)


def _toml_tables(data: bytes, file: str) -> dict[str, object]:
    if len(data) > MAX_FILE_BYTES:
        raise SettingsError(file, "", f"{len(data)} bytes", f"at most {MAX_FILE_BYTES} bytes")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, a number or a nesting too long
        raise SettingsError(file, "", f"a mistake: {error}", "TOML in UTF-8") from error


def _checked(file: str, key: str, found: object) -> tuple[str, Value] | SettingsError:
    """Return `found` as a value of the setting `key`."""
    rule, default = RULES[key], Settings().get(key)
    if isinstance(default, tuple):
        if isinstance(found, list) and _are_patterns(found):
            return key, tuple(found)
    elif type(found) is type(default) and (found == default or _fits(rule, found)):  # `true` is no number
        return key, cast(Value, found)
    return SettingsError(file, key, _shortened(repr(found)), allowed(key))


def _fits(rule: Rule, found: object) -> bool:
    if rule.choices:
        return found in rule.choices
    if isinstance(found, str):
        return found.isprintable() and found.strip() == found and found[:1] not in ("", ".", "~")
    if isinstance(found, bool):
        return True
    return isinstance(found, int) and rule.minimum <= found <= rule.maximum


def _are_patterns(found: list[object]) -> bool:
    return len(found) <= MAX_PATTERNS and all(isinstance(item, str) and _is_pattern(item) for item in found)


def _is_pattern(text: str) -> bool:
    return 0 < len(text) <= MAX_PATTERN_CHARACTERS and not any(c < " " or c == "\x7f" for c in text)


def _shortened(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}…"
