"""What a repository's own file asks for, and what of that is granted.

`.nibd.toml` stands at the top of a *tree*, so it arrives as bytes and is untrusted: it can *narrow*
(index less, spend less), never widen, and it never chooses a program, a path, a model or how much of
the machine is used. Each key is judged by itself: what can be granted is, whatever stands beside it.
For the rest there is a *problem* each, a sentence that names the key, why, and what to do. Only a file
that can't be read as a whole (too large, not TOML) asks for nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from nibd.daemon.settings import (
    RULES,
    Narrowing,
    Settings,
    SettingsError,
    Value,
    as_toml,
    entries,
    with_values,
)

REPOSITORY_FILE = ".nibd.toml"
MAX_PROBLEMS = 20
"""So many are told; a hostile file has thousands of mistakes."""
_NOT_HONOURED = "this key is not honoured, the others are"


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    """What a repository asks for, checked but not yet granted (pairs of key and value), and the problems."""

    asked: tuple[tuple[str, Value], ...] = ()
    problems: tuple[str, ...] = ()


def parse_repository(data: bytes) -> RepositorySettings:
    """Return what a repository's file asks for. Never raises."""
    asked: list[tuple[str, Value]] = []
    problems: list[str] = []
    try:
        for entry in entries(data, REPOSITORY_FILE):
            if isinstance(entry, SettingsError):
                problems.append(f"{entry}; {_NOT_HONOURED}: correct it or take it out")
            elif RULES[entry[0]].repository is Narrowing.NOTHING:
                problems.append(_for_users_only(*entry))
            else:
                asked.append(entry)
    except SettingsError as error:
        return RepositorySettings((), (f"{error}; nothing of the file is honoured: correct it",))
    return RepositorySettings(tuple(asked), _told(problems))


def unusable(why: str) -> RepositorySettings:
    """What a file asks for that is not even read. `why` says what to do, too."""
    return RepositorySettings((), (f"{REPOSITORY_FILE}: nothing of the file is honoured: {why}",))


def effective(user: Settings, repository: RepositorySettings) -> Settings:
    """Return the user's settings, narrowed by what the repository asks for."""
    return with_values(user, {key: _narrowed(key, user.get(key), value) for key, value in repository.asked})


def refused(user: Settings, repository: RepositorySettings) -> tuple[str, ...]:
    """Return a sentence for each thing that a repository asked for and did not get."""
    return tuple(
        f"{REPOSITORY_FILE}: {key} = {as_toml(value)} would widen the user's {as_toml(user.get(key))}; "
        f"a repository can only {RULES[key].repository.value}: to have it, set it in your own config.toml"
        for key, value in repository.asked
        if not isinstance(value, tuple) and _narrowed(key, user.get(key), value) != value
    )


def _for_users_only(key: str, value: Value) -> str:
    return (
        f"{REPOSITORY_FILE}: {key} = {as_toml(value)}: only the user's own file sets this, since a "
        f"repository is not trusted to; {_NOT_HONOURED}: take it out, and set it in your own config.toml "
        "if you want it"
    )


def _told(problems: list[str]) -> tuple[str, ...]:
    more = len(problems) - MAX_PROBLEMS
    rest = [f"{REPOSITORY_FILE}: {more} more keys are not honoured"] if more > 0 else []
    return (*problems[:MAX_PROBLEMS], *rest)


def _narrowed(key: str, user: Value, asked: Value) -> Value:
    """Return what is granted of `asked`, by the setting's narrowing."""
    match RULES[key].repository:
        case Narrowing.LOWER:
            return min(cast(int, user), cast(int, asked))
        case Narrowing.SKIP:
            return asked if asked == "skip" else user
        case Narrowing.OFF:
            return bool(user and asked)
        case Narrowing.ADD:
            # The last pattern that matches decides, so a repository's `!pattern` must come first:
            # it can take back its own patterns and none of the user's.
            return (*cast(tuple[str, ...], asked), *cast(tuple[str, ...], user))
        case Narrowing.NOTHING:
            return user
