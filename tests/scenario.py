"""Running scenario files: a tree, edits, what changes, and the work that it takes.

A file in tests/scenarios starts with a comment that says what it is for. It is a list of steps; each
makes edits and commits, then HEAD is repaired, and what was published is compared with a rebuild from
nothing. Lines, in any number and order within a step:

    step NAME                   begins a step
    write PATH                  the file's text stands on the next lines, four columns in
    bytes PATH [N *] b"..."     the file's bytes, as a Python literal
    replace PATH "OLD" "NEW"    in text that has OLD once
    delete PATH · move OLD NEW · copy OLD NEW · chmod +x PATH · chmod -x PATH · symlink PATH TARGET
    submodule PATH COMMIT       a submodule that nobody fetched
    commit [OPTION...]          commit all of it, also when nothing changed
    git ARGUMENT...             anything else that git does
    lose PATH                   take the object of HEAD's PATH out of the object store
    find-again [PATH]           put the object of HEAD's PATH back, or all of them
    policy NAME=VALUE...        from here on, with other settings (comma between patterns)
    reopen                      a new indexer: nothing in memory
    collect                     drop all that the checkout does not need now

    change + PATH LANGUAGE      the path came, as a language or as the reason of its skip
    change ~ PATH LANGUAGE      its bytes, mode, language or skip changed
    change - PATH               it went
    work NAME=COUNT...          what `views.Work` counts; what is not named is none
    kept                        an older snapshot is shown again: nothing is made
    hits QUERY [L0|L1|L2]       all of them, best first, on the next lines, four columns in:
                                PATH:FIRST-LAST KIND

    note TEXT                   a note of the status that begins so
    partial DONE OF             the views are partial, lexical and structural with this coverage

A path may hold escapes (`"\\xff.txt"`). Every change and note has to be named, `work` or `kept` has to be
said, and what is not said to be partial is exact.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from gitrepo import Repo
from nibd.query import lexical
from nibd.repair.policy import Policy
from nibd.stores.types import Assurance, FileVersion, Level, View
from views import MAIN, Made, Views, Work

INDENT = "    "
_BYTES = re.compile(r"""("[^"]+"|\S+) (?:(\d+) \* )?(b".*")""")
EXPECTATIONS = {"change", "work", "kept", "hits", "note", "partial"}
MOST = 8
"""So many differences from a rebuild are told of one step."""


@dataclass(frozen=True)
class Line:
    """A line of a scenario with the indented block below it. `words` are without the first."""

    number: int
    verb: str
    words: list[str]
    rest: str
    block: str


@dataclass(frozen=True)
class Step:
    number: int
    name: str
    lines: list[Line] = field(default_factory=list)

    def of(self, *verbs: str) -> list[Line]:
        return [line for line in self.lines if line.verb in verbs]


@dataclass(frozen=True)
class Scenario:
    path: Path
    steps: list[Step]


class ScenarioError(Exception):
    """A scenario file that can't be understood; the message names file and line."""


def load(path: Path) -> Scenario:
    steps: list[Step] = []
    for line in _lines(path):
        if line.verb == "step":
            steps.append(Step(line.number, line.rest))
        elif not steps:
            raise ScenarioError(f"{path}:{line.number}: {line.verb!r} stands before the first step")
        elif line.verb not in EXPECTATIONS and line.verb not in EDITS:
            raise ScenarioError(f"{path}:{line.number}: there is no {line.verb!r}")
        else:
            steps[-1].lines.append(line)
    return Scenario(path, steps)


def _lines(path: Path) -> Iterator[Line]:
    texts = path.read_text().split("\n")
    at = 0
    while at < len(texts):
        number, text = at + 1, texts[at]
        at += 1
        if not text.strip() or text.startswith("#"):
            continue
        if text.startswith(INDENT):
            raise ScenarioError(f"{path}:{number}: a block without a line that takes one")
        block: list[str] = []
        while at < len(texts) and (texts[at].startswith(INDENT) or (block and not texts[at].strip())):
            block.append(texts[at].removeprefix(INDENT))
            at += 1
        while block and not block[-1].strip():
            block.pop()
        verb, _, rest = text.partition(" ")
        words = [] if verb in {"step", "bytes"} else shlex.split(rest)
        yield Line(number, verb, words, rest, "".join(f"{each}\n" for each in block))


class Run:
    """A scenario in work. `failures` names what was other than expected, by line."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario = scenario
        self.repo = Repo(folder / "repo")
        self.views = Views(folder / "views", self.repo)
        self.failures: list[str] = []
        self._shown: dict[bytes, FileVersion] = {}
        self._lost: list[tuple[Path, Path]] = []

    def run(self) -> list[str]:
        try:
            for step in self.scenario.steps:
                self._step(step)
        finally:
            self.views.close()
        return self.failures

    def _step(self, step: Step) -> None:
        for line in step.lines:
            if line.verb in EDITS:
                EDITS[line.verb](self, line)
        made = self.views.repair()
        self._check_changes(step)
        self._check_work(step, made)
        self._check_said(step, made)
        for line in step.of("hits"):
            self._check_hits(line)
        for difference in self.views.differences()[:MOST]:
            self._fail(step.number, f"{step.name}: other than a rebuild: {difference}")

    def _check_changes(self, step: Step) -> None:
        structure, listing = self.views.stores.structure, self.views.side().listing
        now: dict[bytes, FileVersion] = {file.path: file for _, file in structure.files(listing)}
        found = _changes(self._shown, now)
        self._shown = now
        expected: set[_Change] = {
            (line.words[0], _path(line.words[1]), "".join(line.words[2:])) for line in step.of("change")
        }
        for change in sorted(found - expected):
            self._fail(step.number, f"{step.name}: also changed: {_shown(change)}")
        for change in sorted(expected - found):
            self._fail(step.number, f"{step.name}: did not change: {_shown(change)}")

    def _check_work(self, step: Step, made: Made) -> None:
        if made.kept != bool(step.of("kept")):
            was = "an older snapshot was shown" if made.kept else "a new snapshot was made"
            self._fail(step.number, f"{step.name}: {was}; it took {_counts(made.work)}")
        elif not made.kept:
            for line in step.of("work") or [Line(step.number, "work", [], "", "")]:
                expected = Work(**{name: int(count) for name, count in map(_setting, line.words)})
                if expected != made.work:
                    self._fail(line.number, f"{step.name}: it took {_counts(made.work)}")

    def _check_said(self, step: Step, made: Made) -> None:
        notes = self.views.current().notes
        expected = [line.rest for line in step.of("note")]
        if len(notes) != len(expected) or not all(map(str.startswith, notes, expected)):
            self._fail(step.number, f"{step.name}: notes {notes}")
        partial = [(int(line.words[0]), int(line.words[1])) for line in step.of("partial")]
        for view, record in made.snapshot.views.items():
            found = [(record.coverage.done, record.coverage.of)]
            if record.assurance is not (Assurance.PARTIAL if partial else Assurance.EXACT):
                self._fail(step.number, f"{step.name}: {view.value} is {record.assurance}")
            elif partial and view is not View.DENSE and found != partial:
                self._fail(step.number, f"{step.name}: {view.value} covers {found[0]}")

    def _check_hits(self, line: Line) -> None:
        level = Level(int(line.words[1][1])) if len(line.words) > 1 else None
        side = self.views.side()
        hits = lexical.search(side.lexical, side.facts, line.words[0], level, 100)
        found = "".join(
            f"{_printable(hit.path)}:{hit.address.start_line}-{hit.address.end_line} {hit.address.kind}\n"
            for hit in hits
        )
        if found != line.block:
            self._fail(line.number, f"{line.rest} finds\n{found}")

    def _fail(self, line: int, what: str) -> None:
        self.failures.append(f"{self.scenario.path.name}:{line}: {what}")

    # Edits

    def write(self, line: Line) -> None:
        self.repo.write(_path(line.words[0]), line.block)

    def write_bytes(self, line: Line) -> None:
        match = _BYTES.fullmatch(line.rest)
        assert match, f"line {line.number}: not bytes: {line.rest}"
        data = ast.literal_eval(match[3]) * int(match[2] or 1)
        self.repo.write(_path(match[1].strip('"')), data)

    def replace(self, line: Line) -> None:
        path, old, new = line.words
        target = self.repo.file(_path(path))
        data, what = target.read_bytes(), _path(old)
        assert data.count(what) == 1, f"line {line.number}: {old!r} is there {data.count(what)} times"
        target.write_bytes(data.replace(what, _path(new)))

    def delete(self, line: Line) -> None:
        self.repo.remove(_path(line.words[0]))

    def move(self, line: Line) -> None:
        self.repo.move(_path(line.words[0]), _path(line.words[1]))

    def copy(self, line: Line) -> None:
        self.repo.write(_path(line.words[1]), self.repo.file(_path(line.words[0])).read_bytes())

    def chmod(self, line: Line) -> None:
        self.repo.file(_path(line.words[1])).chmod(0o755 if line.words[0] == "+x" else 0o644)

    def symlink(self, line: Line) -> None:
        self.repo.symlink(_path(line.words[0]), line.words[1])

    def submodule(self, line: Line) -> None:
        path, commit = line.words
        self.repo.file(_path(path)).unlink(missing_ok=True)
        self.repo.file(_path(path)).mkdir(parents=True)
        self.repo.git("update-index", "--add", "--replace", "--cacheinfo", f"160000,{commit},{path}")

    def commit(self, line: Line) -> None:
        self.repo.commit("change", *line.words)

    def git(self, line: Line) -> None:
        self.repo.git(*line.words)

    def lose(self, line: Line) -> None:
        blob = self.repo.blob(line.words[0])
        place = self.repo.path / ".git" / "objects" / blob[:2] / blob[2:]
        aside = self.views.root / blob
        place.rename(aside)
        self._lost.append((aside, place))

    def find_again(self, line: Line) -> None:
        found = {self.repo.blob(path) for path in line.words}
        for aside, place in [*self._lost]:
            if not found or aside.name in found:
                aside.rename(place)
                self._lost.remove((aside, place))

    def policy(self, line: Line) -> None:
        types = {each.name: str(each.type) for each in fields(Policy)}
        settings = {name: _value(types[name], value) for name, value in map(_setting, line.words)}
        self.views.policy = Policy(**settings)

    def reopen(self, line: Line) -> None:
        self.views.reopen()

    def collect(self, line: Line) -> None:
        assert self.views.stores.catalog.current(MAIN), f"line {line.number}: nothing is published yet"
        self.views.collect()


EDITS: dict[str, Callable[[Run, Line], None]] = {
    "write": Run.write,
    "bytes": Run.write_bytes,
    "replace": Run.replace,
    "delete": Run.delete,
    "move": Run.move,
    "copy": Run.copy,
    "chmod": Run.chmod,
    "symlink": Run.symlink,
    "submodule": Run.submodule,
    "commit": Run.commit,
    "git": Run.git,
    "lose": Run.lose,
    "find-again": Run.find_again,
    "policy": Run.policy,
    "reopen": Run.reopen,
    "collect": Run.collect,
}


_Change = tuple[str, bytes, str]


def _changes(old: dict[bytes, FileVersion], new: dict[bytes, FileVersion]) -> set[_Change]:
    found = {("-", path, "") for path in old.keys() - new.keys()}
    found |= {("+", path, _made(new[path])) for path in new.keys() - old.keys()}
    both = old.keys() & new.keys()
    return found | {("~", path, _made(new[path])) for path in both if old[path] != new[path]}


def _made(file: FileVersion) -> str:
    return file.skip.value if file.skip else file.language


def _path(text: str) -> bytes:
    """A path, or other bytes, as a scenario writes it."""
    return text.encode().decode("unicode_escape").encode("latin-1") if "\\" in text else text.encode()


def _printable(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _shown(change: _Change) -> str:
    return f"{change[0]} {_printable(change[1])} {change[2]}".rstrip()


def _counts(work: Work) -> str:
    counts = {each.name: getattr(work, each.name) for each in fields(Work)}
    return " ".join(f"{name}={count}" for name, count in counts.items() if count) or "nothing"


def _setting(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value


def _value(kind: str, text: str) -> Any:
    if kind == "bool":
        return text == "true"
    return int(text) if kind == "int" else tuple(text.split(","))
