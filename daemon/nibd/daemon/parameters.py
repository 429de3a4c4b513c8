"""Reading a method's parameters: each is taken once, by name and type; what is left over is an error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.stores.types import CommitId, Level, RepoPath

MAX_QUERY_CHARACTERS = 200_000
MAX_PATH_CHARACTERS = 4096
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class Parameters:
    """Every refusal is an `RpcError` that names the parameter, what was found and what is allowed."""

    def __init__(self, params: JsonObject) -> None:
        self._left = dict(params)

    def has(self, name: str) -> bool:
        """Whether it was given, and not as null, which is as good as not."""
        if self._left.get(name) is None:
            self._left.pop(name, None)
            return False
        return True

    def path(self, name: str) -> Path:
        """An absolute path, made real: registered paths are."""
        value = self._left.pop(name, None)
        if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
            raise _refused(name, value, "an absolute path")
        if len(value) > MAX_PATH_CHARACTERS:
            raise _refused(name, value, f"a path of at most {MAX_PATH_CHARACTERS} characters")
        return Path(value).resolve()

    def text(self, name: str) -> str:
        value = self._left.pop(name, None)
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_QUERY_CHARACTERS:
            raise _refused(
                name, value, f"text of 1 to {MAX_QUERY_CHARACTERS} characters, not of blanks alone"
            )
        return value

    def pattern(self, name: str) -> str:
        """As `text`, and it may be of blanks alone."""
        value = self._left.pop(name, None)
        if not isinstance(value, str) or not 0 < len(value) <= MAX_QUERY_CHARACTERS:
            raise _refused(name, value, f"text of 1 to {MAX_QUERY_CHARACTERS} characters")
        return value

    def repository_path(self, name: str) -> RepoPath:
        """A path from the top of a repository; the empty one by default."""
        value = self._left.pop(name, "")
        if not isinstance(value, str) or value.startswith("/") or len(value) > MAX_PATH_CHARACTERS:
            raise _refused(name, value, f"a path from the top, of at most {MAX_PATH_CHARACTERS} characters")
        return RepoPath(os.fsencode(value))

    def texts(self, name: str, most: int) -> list[str]:
        """A list of texts, none of them empty; by default there are none."""
        value = self._left.pop(name, None)
        if value is None:
            return []
        of_texts = isinstance(value, list) and all(isinstance(each, str) and each for each in value)
        if not isinstance(value, list) or not of_texts or len(value) > most:
            raise _refused(name, value, f"a list of at most {most} texts, none empty")
        return [str(each) for each in value]

    def some(self, name: str, allowed: Collection[str]) -> list[str]:
        """A list of any of `allowed`; by default there are none."""
        value = self._left.pop(name, None)
        if value is None:
            return []
        if not isinstance(value, list):
            raise _refused(name, value, f"a list of {', '.join(allowed)}")
        for each in value:
            if not isinstance(each, str) or each not in allowed:
                raise _refused(name, each, ", ".join(allowed))
        return [str(each) for each in value]

    def objects(self, name: str, most: int) -> list[JsonObject]:
        """A list of objects, at least one."""
        value = self._left.pop(name, None)
        of_objects = isinstance(value, list) and all(isinstance(each, dict) for each in value)
        if not isinstance(value, list) or not of_objects or not 0 < len(value) <= most:
            raise _refused(name, value, f"a list of 1 to {most} objects")
        return value

    def choice(self, name: str, allowed: Sequence[str], default: str | None) -> str | None:
        value = self._left.pop(name, None)
        if value is None:
            return default
        if value not in allowed:
            raise _refused(name, value, ", ".join(allowed))
        return str(value)

    def choices(self, name: str, allowed: Sequence[str]) -> list[str]:
        """Any of `allowed`, by default all."""
        value = self._left.pop(name, None)
        if value is None:
            return list(allowed)
        if not isinstance(value, list) or not value or not set(map(str, value)) <= set(allowed):
            raise _refused(name, value, f"a list of {', '.join(allowed)}")
        return [str(item) for item in value]

    def level(self, name: str) -> Level | None:
        value = self.choice(name, [f"L{int(level)}" for level in Level], None)
        return None if value is None else Level(int(value[1]))

    def integer(self, name: str, default: int, least: int, most: int) -> int:
        value = self._left.pop(name, None)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise _refused(name, value, f"a whole number from {least} to {most}")
        return value

    def number(self, name: str, default: float, most: float = sys.float_info.max) -> float:
        """A finite number, 0 or more."""
        value = self._left.pop(name, None)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            up_to = "or more" if most == sys.float_info.max else f"to {most:g}"
            raise _refused(name, value, f"a number, 0 {up_to}")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self._left.pop(name, default)
        if not isinstance(value, bool):
            raise _refused(name, value, "true or false")
        return value

    def commit(self, name: str) -> CommitId | None:
        """`None` for `latest`, which is the default."""
        value = self._left.pop(name, None)
        if value in (None, "latest"):
            return None
        if not isinstance(value, str) or not _COMMIT.fullmatch(value):
            raise _refused(name, value, "latest, or a whole commit id in lower case")
        return CommitId(value)

    def commit_id(self, name: str) -> CommitId | None:
        """A commit by its whole id; `None` when none was given."""
        value = self._left.pop(name, None)
        if value is not None and not (isinstance(value, str) and _COMMIT.fullmatch(value)):
            raise _refused(name, value, "a whole commit id in lower case")
        return None if value is None else CommitId(value)

    def widths(self, name: str, most: Mapping[str, int]) -> dict[str, int]:
        """An object of whole numbers from 1, each with its own bound; none by default."""
        value = self._left.pop(name, None)
        given = {} if value is None else value
        if not isinstance(given, dict):
            raise _refused(name, value, f"an object with any of {', '.join(most)}")
        for key in given:
            if key not in most:
                raise _refused(name, key, f"any of {', '.join(most)}")
        each = Parameters({f"{name}.{key}": width for key, width in given.items()})
        return {key: each.integer(f"{name}.{key}", 1, 1, most[key]) for key in given}

    def rest(self) -> JsonObject:
        """What was not taken, for another method to read."""
        left, self._left = self._left, {}
        return left

    def done(self) -> None:
        """Call it when every parameter was taken: a misspelt one must not be ignored."""
        if self._left:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"unknown parameters: {', '.join(sorted(self._left))}")


def _refused(name: str, value: Json, allowed: str) -> RpcError:
    number = f"{value:g}" if isinstance(value, float) else repr(value)
    found = "nothing" if value is None else number[:100]
    return RpcError(ErrorCode.INVALID_PARAMS, f"{name}: found {found}; allowed: {allowed}")
