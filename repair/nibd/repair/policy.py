"""What of a repository is indexed, as far as neither Git nor a file's own bytes decide it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from nibd.repair.extract import EXTRACTOR_VERSION
from nibd.repair.rules import RULES_VERSION
from nibd.stores.lexical import LEXICAL_VERSION
from nibd.stores.terms import TERMS_VERSION
from nibd.stores.types import ProfileId, Skip

EXTRACTOR = f"{EXTRACTOR_VERSION};{TERMS_VERSION}"
"""Under which facts are kept: new grammars or another tokenizer make new facts."""


@dataclass(frozen=True, slots=True)
class Policy:
    """`ignore` holds patterns in gitignore syntax, from the user's or the repository's settings."""

    max_file_bytes: int = 1 << 20
    index_generated: bool = False
    index_vendored: bool = False
    ignore: tuple[str, ...] = ()

    @property
    def indexed(self) -> frozenset[Skip]:
        """Reasons of the rules for which nothing is left out after all."""
        generated = {Skip.GENERATED} if self.index_generated else set()
        vendored = {Skip.VENDORED} if self.index_vendored else set()
        return frozenset(generated | vendored)

    @property
    def profile(self) -> ProfileId:
        """Of the lexical and the structural view: both follow from facts and this policy."""
        text = json.dumps([EXTRACTOR, LEXICAL_VERSION, RULES_VERSION, asdict(self)], sort_keys=True)
        return ProfileId(hashlib.blake2b(text.encode(), digest_size=8).hexdigest())
