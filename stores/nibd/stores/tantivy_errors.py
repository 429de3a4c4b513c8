"""What Tantivy raises, as errors of the stores."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from nibd.stores.errors import StoreError


class raised_as:  # noqa: N801 - reads as a statement; a generator would cost three times as much
    """Raise what goes wrong inside Tantivy at `path` as an `error_type`.

    Tantivy raises OSError for files and ValueError for its own errors. On damaged files it may also
    panic, which arrives as a BaseException whose type has no name that can be imported.
    """

    __slots__ = ("_error_type", "_path")

    def __init__(self, error_type: type[StoreError], path: Path) -> None:
        self._error_type, self._path = error_type, path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, OSError | ValueError | LookupError) or type(error).__name__ == "PanicException":
            raise self._error_type(f"{self._path}: {error}") from error
