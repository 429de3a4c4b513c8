"""What Tantivy raises, as errors of the stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nibd.stores.errors import StoreError


@contextmanager
def raised_as(error_type: type[StoreError], path: Path) -> Iterator[None]:
    """Raise what goes wrong inside Tantivy at `path` as an `error_type`.

    Tantivy raises OSError for files and ValueError for its own errors. On damaged files it may also
    panic, which arrives as a BaseException whose type has no name that can be imported.
    """
    try:
        yield
    except (OSError, ValueError, LookupError) as error:
        raise error_type(f"{path}: {error}") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise error_type(f"{path}: {error}") from error
        raise
