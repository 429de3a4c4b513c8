"""A made repository: as many small Python files as asked for, the same for the same number.

Its sources have what search and parsing meet in real ones (a class with methods, functions, documentation,
imports of other files), with words drawn from a vocabulary of which a few are in most files and most in
few. `git fast-import` writes it, since 50,000 files by `git add` take minutes.
"""

from __future__ import annotations

import itertools
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

FILES_A_FOLDER = 100
SYLLABLES = ("ba", "cor", "del", "fin", "gra", "hel", "jo", "kar", "lum", "mer", "nos", "or", "pel", "qua")
WORDS = tuple("".join(parts) for parts in itertools.product(SYLLABLES, repeat=3))
SOURCE = '''"""{a} {b} of the {c}."""

from {module} import {d}

{e} = {number}


def {a}_{b}({c}, {d}=None):
    """Give the {e} {f} of {c}, when there is {d}."""
    if {d} is None:
        return {c} + {number}
    return [{a}({f}) for {f} in {c}]


class {name}:
    """Keeps {f} by {g}."""

    def __init__(self, {g}):
        self.{g} = {g}

    def {f}_{c}(self, {h}):
        """Find the {h} whose {g} is {b}."""
        for {b} in self.{g}:
            if {b} == {h}:
                return {b}
        raise KeyError({h})

    def {d}_{h}(self):
        return len(self.{g}) * {number}
'''


def path_of(number: int) -> str:
    return f"package{number // FILES_A_FOLDER:04d}/module{number:06d}.py"


def make(target: Path, files: int) -> None:
    """Create a repository at `target` with `files` files in one commit on its branch `main`."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(target)], check=True)
    importer = subprocess.Popen(
        ["git", "fast-import", "--quiet"], cwd=target, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert importer.stdin is not None
    for part in _stream(files):
        importer.stdin.write(part)
    importer.stdin.close()
    if importer.wait():
        raise subprocess.CalledProcessError(importer.returncode, "git fast-import")


def _stream(files: int) -> Iterator[bytes]:
    yield b"commit refs/heads/main\ncommitter Bench <bench@example.org> 1704164645 +0000\n"
    yield b"data 4\nMake\n"
    for number in range(files):
        source = _source(number).encode()
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (path_of(number).encode(), len(source), source)
    yield b"\n"


def _source(number: int) -> str:
    chosen = random.Random(number)
    # The square makes the first words common and the last ones rare.
    words = [WORDS[int(len(WORDS) * chosen.random() ** 2)] for _ in range(8)]
    other = path_of(chosen.randrange(number + 1)).removesuffix(".py").replace("/", ".")
    return SOURCE.format(
        **dict(zip("abcdefgh", words, strict=True)),
        name="".join(word.title() for word in words[:2]),
        number=number,
        module=other,
    )
