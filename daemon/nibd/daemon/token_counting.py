"""Which tokenizer counts, and when it is loaded: at the first count, in a query thread.

The file that the settings name, else the embedding model's own, else an estimate that says that it is one.
A file that the settings name and that can't be used is an error, never replaced by something else.
"""

from __future__ import annotations

import threading
from pathlib import Path

from nibd.daemon.settings import Settings
from nibd.query.context.tokens import Estimate, TokenCounter, Tokenizer, TokenizerError, missing_tokenizers
from nibd.repair.embedding_profile import EmbeddingError, resolve

FILE = "tokenizer.json"
MOST_CHARACTERS = 256 * 1024
"""What is counted beside an answer, at most: 0.2 s."""


class TokenCounting:
    """May be used by several threads."""

    def __init__(self, settings: Settings) -> None:
        self._file = settings.context.tokenizer
        self._model = settings.dense.model
        self._lock = threading.Lock()
        self._counter: TokenCounter | None = None

    def counter(self) -> TokenCounter:
        """Raises TokenizerError."""
        with self._lock:
            if self._counter is None:
                self._counter = self._configured() if self._file else self._of_model()
            return self._counter

    def count(self, texts: list[str]) -> int | None:
        """`None` when it is too much to be counted aside, or the settings' tokenizer can't be used."""
        if sum(map(len, texts)) > MOST_CHARACTERS:
            return None
        try:
            counter = self.counter()
        except TokenizerError:
            return None  # whoever asks for a packet is told why
        return sum(counter.count(text) for text in texts)

    def _configured(self) -> TokenCounter:
        if not Path(self._file).is_absolute():
            raise TokenizerError(f"[context] tokenizer: found {self._file}; allowed: an absolute path")
        return Tokenizer.load(Path(self._file), self._file)

    def _of_model(self) -> TokenCounter:
        reason = missing_tokenizers()
        if reason:
            return Estimate(reason)
        try:
            folder = resolve(self._model)
        except EmbeddingError as error:
            return Estimate(str(error))
        for file in (folder / FILE, folder / "0_Transformer" / FILE):
            if file.is_file():
                return Tokenizer.load(file, self._model)
        return Estimate(f"the model {self._model} has no {FILE}")
