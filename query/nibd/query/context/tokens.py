"""Counting tokens: by a tokenizer's own file, or as an estimate that says that it is one.

A *tokenizer* is the `tokenizer.json` of a model. It is loaded by the library `tokenizers` and counts what the
model would read of a text, without the marks that a model puts around it. Where there is none, `Estimate`
counts by length. Whoever shows a count shows `name` and `exact` with it.

Error: TokenizerError, whose message says what to do.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Protocol

ESTIMATED_BYTES = 3
"""Of source code, a token has 2.5 to 4 bytes of UTF-8, by the vocabulary; prose has longer ones."""
INSTALL_TOKENIZERS = "pip install 'nibd[context]'"


class TokenizerError(Exception):
    """A tokenizer can't be loaded; the message says what to do."""


class TokenCounter(Protocol):
    """Counts the tokens of a text: equal texts, equal counts."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool:
        """Whether a tokenizer counted; `False` for an estimate."""

    def count(self, text: str) -> int: ...


class Estimate:
    """A third of the bytes, rounded up. `reason` says why no tokenizer counts."""

    name = "estimate"
    exact = False

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def count(self, text: str) -> int:
        return -(-len(text.encode("utf-8", "surrogatepass")) // ESTIMATED_BYTES)


class Tokenizer:
    """A loaded tokenizer. May be used by several threads."""

    exact = True

    def __init__(self, name: str, tokenizer: Any) -> None:
        self.name = name
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, file: Path, name: str) -> Tokenizer:
        """From a tokenizer.json. Raises TokenizerError."""
        reason = missing_tokenizers()
        if reason:
            raise TokenizerError(reason)
        # Kept out of processes that count nothing: it takes 150 ms.
        from tokenizers import Tokenizer as Loaded  # noqa: PLC0415

        try:
            loaded = Loaded.from_buffer(file.read_bytes())
        except OSError as error:
            raise TokenizerError(f"{file} can't be read: {error.strerror or error}") from error
        except Exception as error:  # the library raises plain exceptions for what it can't parse
            raise TokenizerError(f"{file} is no tokenizer.json that can be used: {error}") from error
        # A model's file may cut its texts at what the model reads, and fill them up to that.
        loaded.no_truncation()
        loaded.no_padding()
        return cls(name, loaded)

    def count(self, text: str) -> int:
        # A lone surrogate, which JSON can carry, is no text to the library.
        known = text.encode("utf-8", "replace").decode()
        return len(self._tokenizer.encode(known, add_special_tokens=False))


def missing_tokenizers() -> str | None:
    """Why no tokenizer can be loaded, when the library is not installed. Imports nothing."""
    if importlib.util.find_spec("tokenizers") is None:
        return f"not installed: tokenizers; {INSTALL_TOKENIZERS}"
    return None
