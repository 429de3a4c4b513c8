"""A scripted agent that looks for the files that an issue is about. It is no language model.

Its next step is a function of the messages that it is shown and nothing else: what a policy leaves out of
them is forgotten. It can look for a word (`grep`), read a stretch of a file (`read`), and answer.

1. *Clues* are what the issue names: paths, names in backquotes, names that are written as such, long words
   of the title. Each has a weight, more for what the issue repeats.
2. *Belief* in a file is a sum over what the messages show: where clues were found (the fewer files have one,
   the more it tells; a definition twice), units that were put into the prompt, by their rank, clues in the
   file's name, and how many of the clues are in what was read. What its newest note names counts where that
   is more. Texts that are no code count a quarter, tests not at all.
3. It looks for clues until it has `ENOUGH` to go by: each clue that it has looked for is one, and so are each
   unit that a packet shows and each file that a summary names; or until it has read one and knows of as many
   as it may answer with. Then it reads the file that it believes in most, until that is one that it has read,
   `READS` at most. Then it answers.

Each step comes with a note: what it believes, and what it does next. If `silent`, it says the latter alone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import Any

from nibd.query.context.compaction import MARK
from nibd.query.ranking.words import FORM_WORDS, STOP_WORDS

CLUES = 24
ENOUGH, READS, ANSWERED = 8, 4, 5
LINES_BEFORE = 20

PATH_WEIGHT, QUOTED_WEIGHT, NAME_WEIGHT, WORD_WEIGHT = 2.0, 2.0, 1.5, 1.0
REPEATED = 0.5
WORD_LETTERS = 5
UNIT_BELIEF, UNIT_RANKS = 3.0, 2.0
READ_BELIEF = 2.0
UNSEEN_SHARE = 0.25
"""What a path counts that only the issue names: it may be of another repository."""
CUT_SHARE = 0.25
"""What a clue tells that more files have than could be shown."""
STEM_SHARE = 0.5
NO_CODE_SHARE = 0.25

SYSTEM = f"""You find out which files of a repository have to be changed for an issue. You can call
grep PATTERN: the lines of the repository (without tests) that have PATTERN; if many, their files;
read PATH LINE: the lines of a file around LINE;
answer PATHS: the files that have to be changed, the surest first, {ANSWERED} at most, no tests.
One call a turn. Before each call say which files you think have to be changed, and what you do next."""

Message = Mapping[str, Any]

_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+\.\w{1,5}\b")
_QUOTED = re.compile(r"`([^`\n]{3,80})`")
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_WRITTEN = re.compile(r"[a-z0-9][A-Z]|\w_\w|[A-Z]{2,}[a-z]")
_FOUND = re.compile(r"^(\S[^:\n]*):(\d+): (.*)$", re.MULTILINE)
_COUNTED = re.compile(r"^(\S[^:\n]*): (\d+) lines$", re.MULTILINE)
_UNIT = re.compile(r"^(\S.*?):(\d+)-\d+ .*\(blob [0-9a-f]+\)$", re.MULTILINE)
_DEFINES = r"\b(?:def|class|func|function|fn|struct|interface|trait|enum|type|impl|module)\b[^=\n]*\b{}\b"
_TEST = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|testing|testdata|__tests__)(?:[/_.-]|$)", re.IGNORECASE)
_NO_CODE = re.compile(
    r"\.(?:md|rst|txt|adoc|json|lock|ya?ml|toml|ini|cfg|html?|s?css|svg|xml|csv|po|snap|map)$", re.IGNORECASE
)
_READ_PATHS = re.compile(r"^- (.+)$", re.MULTILINE)
_LAST_READ = re.compile(r"^Last read, (.+):$", re.MULTILINE)
_COMMON = STOP_WORDS | FORM_WORDS
BELIEF_SAYS = "Likely to be changed: "
MORE = "There are more."


@dataclass(frozen=True, slots=True)
class Clue:
    """`text` is what is looked for, as a whole word; a path's is the name of its file without ending."""

    text: str
    weight: float
    path: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """`tool` is `grep` (for `text`), `read` (`text` is the path, from `line` on) or `answer`."""

    tool: str
    note: str
    text: str = ""
    line: int = 1
    answer: tuple[str, ...] = ()


@dataclass(slots=True)
class _Known:
    """What the messages show."""

    belief: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    noted: dict[str, float] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    shown: int = 0
    looked_for: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    not_there: set[str] = field(default_factory=set)


def clues(issue: str) -> list[Clue]:
    """By falling weight, then as the issue has them; each once."""
    title = issue.strip().partition("\n")[0]
    times = Counter(_NAME.findall(issue))
    found: dict[str, Clue] = {}

    def add(text: str, weight: float, path: str = "") -> None:
        weight *= 1 + REPEATED * log2(max(1, times[text]))
        known = found.get(text)
        if known is None or known.weight < weight:
            found[text] = Clue(text, weight, path)

    for path in _PATH.findall(issue):
        add(path.rpartition("/")[2].partition(".")[0], PATH_WEIGHT, path)
    for quoted in _QUOTED.findall(issue):
        for name in _NAME.findall(quoted)[-1:]:
            add(name, QUOTED_WEIGHT)
    for name in _NAME.findall(issue):
        if _WRITTEN.search(name):
            add(name, NAME_WEIGHT)
    for word in _NAME.findall(title):
        if len(word) >= WORD_LETTERS and word.lower() not in _COMMON and word not in found:
            add(word.lower(), WORD_WEIGHT)
    return sorted(found.values(), key=lambda clue: -clue.weight)[:CLUES]


def next_step(history: Sequence[Message], silent: bool = False) -> Step:
    """`history` begins with the system's message and the issue."""
    issue = str(history[1]["content"])
    all_clues = clues(issue)
    known = _known(history, all_clues)
    ranked = _ranked(known, all_clues)
    to_go_by = len(known.looked_for) + known.shown
    first = tuple(path for path, _ in ranked[:ANSWERED])
    says = f"{BELIEF_SAYS}{', '.join(first)}.\n" if first and not silent else ""
    left = [clue for clue in all_clues if clue.text not in known.looked_for]
    is_on_its_way = bool(known.read) and len(first) == ANSWERED
    if to_go_by < ENOUGH and left and not is_on_its_way:
        return Step("grep", f"{says}Next: grep {left[0].text}", left[0].text)
    if first and first[0] not in known.read and len(known.read) < READS:
        line = max(1, known.lines.get(first[0], 1) - LINES_BEFORE)
        return Step("read", f"{says}Next: read {first[0]} {line}", first[0], line)
    return Step("answer", f"{says}Answer: {', '.join(first)}", answer=first)


def _is_test(path: str) -> bool:
    return bool(_TEST.search(path))


def _ranked(known: _Known, all_clues: Sequence[Clue]) -> list[tuple[str, float]]:
    belief = {path: value + _by_name(path, all_clues) for path, value in known.belief.items()}
    for clue in all_clues:
        if clue.path:
            belief.setdefault(clue.path, clue.weight * UNSEEN_SHARE)
    for path, value in belief.items():
        belief[path] = value * NO_CODE_SHARE if _NO_CODE.search(path) else value
    for path, value in known.noted.items():
        belief[path] = max(value, belief.get(path, 0.0))
    kept = [(p, value) for p, value in belief.items() if p not in known.not_there and not _is_test(p)]
    return sorted(kept, key=lambda each: (-each[1], each[0]))


def _by_name(path: str, all_clues: Sequence[Clue]) -> float:
    """What its own name, and a path of the issue that ends alike, tell."""
    name = path.rpartition("/")[2].partition(".")[0].lower()
    value = 0.0
    for clue in all_clues:
        if clue.path and (clue.path.endswith(path) or path.endswith(clue.path)):
            value += clue.weight
        elif clue.text.lower() in name:
            value += STEM_SHARE * clue.weight * len(clue.text) / len(name)
    return value


def _known(history: Sequence[Message], all_clues: Sequence[Clue]) -> _Known:
    known = _Known()
    for message in history[2:]:
        content = str(message["content"])
        if message["role"] == "assistant":
            _take_note(known, content)
        elif message.get("tool") == "grep":
            _take_found(known, message, content, all_clues)
        elif message.get("tool") == "read":
            known.read.add(message["path"])
            if message["ok"]:
                known.belief[message["path"]] += READ_BELIEF * _covered(content, all_clues)
            else:
                known.not_there.add(message["path"])
        elif content.startswith(f"{MARK}\n"):
            _take_summary(known, content, all_clues)
        else:
            units = _UNIT.findall(content)
            known.shown += len(units)
            for rank, (path, line) in enumerate(units, start=1):
                known.belief[path] += UNIT_BELIEF / (UNIT_RANKS + rank)
                known.lines.setdefault(path, int(line))
    return known


def _take_found(known: _Known, message: Message, content: str, all_clues: Sequence[Clue]) -> None:
    text = message["pattern"]
    known.looked_for.add(text)
    defines = re.compile(_DEFINES.format(re.escape(text)))
    found: dict[str, float] = {}
    for path, number, line in _FOUND.findall(content):
        tells = 2.0 if defines.search(line) else 1.0
        if tells > found.get(path, 0.0):
            found[path] = tells
            known.lines[path] = int(number)
    counted = {path: int(count) for path, count in _COUNTED.findall(content)}
    found |= {path: (1 + count / max(counted.values())) / 2 for path, count in counted.items()}
    weight = next((clue.weight for clue in all_clues if clue.text == text), WORD_WEIGHT)
    weight *= CUT_SHARE if content.endswith(MORE) else 1.0
    for path, tells in found.items():
        known.belief[path] += tells * weight / len(found) ** 0.5


def _take_note(known: _Known, content: str) -> None:
    """The newest one counts."""
    _, _, said = content.partition(BELIEF_SAYS)
    named = said.partition("\n")[0].rstrip(".").split(", ") if said else []
    if named:
        known.noted = {path: rank**-0.5 for rank, path in enumerate(named, start=1)}


def _take_summary(known: _Known, content: str, all_clues: Sequence[Clue]) -> None:
    """What compaction leaves of all that was done before."""
    head, _, rest = content.partition("\n\n")
    known.read.update(_READ_PATHS.findall(head))
    last = _LAST_READ.match(rest)
    if last:
        text, _, note = rest.rpartition("\n\nLast note:\n")
        known.belief[last[1]] += READ_BELIEF * _covered(text or rest, all_clues)
        _take_note(known, note)
        known.shown += len(known.noted)


def _covered(text: str, all_clues: Sequence[Clue]) -> float:
    """The weight of the clues that are in it, of that of all."""
    of = sum(clue.weight for clue in all_clues)
    words = set(_NAME.findall(text))
    words |= {word.lower() for word in words}
    return sum(clue.weight for clue in all_clues if clue.text in words) / of if of else 0.0
