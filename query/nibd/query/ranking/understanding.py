"""What a query says: a pasted issue, half a thought or a symbol, cut into words, names, paths and frames.

Steps: drop what a form put there (comments, check lists, images, tags, addresses); tell the *zones* of the
rest apart, line by line; in each, collect tokens, identifiers, paths. A zone says how much a word in it
tells:

title       the first line that is not a bare heading
prose       sentences
head        headings and bold lines that stand alone
inline      between backticks in prose; `title-code` the same in the title
code        fenced or indented code, output, data, rows of tables
trace       lines that are stack frames
environment what stands under a heading such as "Version" or "Environment", code there included

Nothing here looks at a repository: the same text is always understood the same way. A query comes from
anywhere, so only its first `MOST_CHARACTERS` are read and only the first `LINE_CHARACTERS` of a line; no
pattern takes longer than the square of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from nibd.query.ranking.weights import Zone


class Shape(StrEnum):
    """What candidates and units go by."""

    SYMBOL = "symbol"  # one word
    SHORT = "short"  # one line of up to `SHORT_WORDS` words
    ISSUE = "issue"


@dataclass(frozen=True, slots=True)
class Frame:
    """A stack frame; `depth` counts back from the one that is printed last, 0."""

    path: str
    line: int
    function: str
    depth: int


@dataclass(frozen=True, slots=True)
class Position:
    """A line of a file that is named outside of stack frames."""

    path: str
    line: int
    zone: Zone


@dataclass(slots=True)
class Understood:
    """Each token, identifier and path with its zone, in the order of the query. `title` is a line.

    The number of a line is no token.
    """

    title: str = ""
    tokens: list[tuple[str, Zone]] = field(default_factory=list)
    identifiers: list[tuple[str, Zone]] = field(default_factory=list)
    paths: list[tuple[str, Zone]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    shape: Shape = Shape.ISSUE


SHORT_WORDS = 16
MOST_CHARACTERS = 40_000
LINE_CHARACTERS = 600
IDENTIFIER_CHARACTERS = 200
HOST_ENDINGS = frozenset(
    "ai arpa biz co com corp edu eu gov int internal io lan localdomain mil net onion org uk".split()  # noqa: SIM905
)
"""Ends of host names that no source file has: the number behind one is a port. Those of countries that are
endings of files too (`.py`, `.rs`, `.sh`) and those that settings are kept apart by (`.dev`, `.local`) are
not among them."""

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r"[ \t>]*(?:```|~~~)")
_FENCE_END = re.compile(r"[ \t>]*(?:```+|~~~+)[ \t]*$")
_STRONG = re.compile(r"\*\*([^*]{2,60})\*\*:?|__([^_]{2,60})__:?")
_ENVIRONMENT = re.compile(
    r"\b(versions?|environment|env|platform|system info|operating system|os|installed|additional context"
    r"|screenshots?|config(?:uration)? (?:file)?|dependencies|checklist|checks|output of)\b|^configuration$",
    re.IGNORECASE,
)
_CHECK_LIST = re.compile(r"\s*[-*+]\s*\[[ xX]\]")
_INDENTED_CODE = re.compile(r"(?: {4}|\t)\S")
_TABLE_ROW = re.compile(r"[ >]*\|.*\|\s*$")
_LOOKS_LIKE_CODE = re.compile(r"[=(){};]|^\s*at |File \"")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_TAG = re.compile(
    r"<(?:img|br|details|summary|/\w+|kbd|p|div|a|picture|source|video|sub|sup)\b[^>]*>", re.IGNORECASE
)
_ADDRESS = re.compile(r"https?://[^\s)>\]]+")
_ADDRESS_OF_FILE = re.compile(r"/(?:blob|tree|raw|blame)/[^/]+/([^#?]+)")
_BACKTICKS = re.compile(r"(`+[^`\n]+`+)")
_FRAMES = [
    re.compile(pattern)
    for pattern in (
        r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>[\w<>.]+))?',
        r"^\s*at (?:async )?(?:(?P<function>[\w$.<>\[\] ]+?) )?"
        r"\(?(?P<path>[^\s():]+\.[A-Za-z]\w{0,4}):(?P<line>\d+)",
        r"^\s*at (?P<function>[\w$.]+)\((?P<path>\w+\.(?:java|kt|scala|cs)):(?P<line>\d+)\)",
        r"^\s*#\d+\s+(?:0x[0-9a-f]+ in )?(?P<function>[\w:~<>]+)?.*?"
        r"(?: at | )(?P<path>[\w./+-]+\.[A-Za-z]\w{0,3}):(?P<line>\d+)",
        r"^\s*(?P<path>(?:[\w.@~-]*/)+[\w.-]+\.go):(?P<line>\d+)",
        r"(?P<path>(?:[\w.-]+/)+[\w.-]+\.(?:rs|c|cc|cpp|h|hpp|py|js|ts|go)):(?P<line>\d+)",
    )
]
_HAS_LINE = re.compile(r":\d|line \d")
_PATH = re.compile(
    r"(?<![\w@])(?:[\w.@+-]+/)+[\w.@+-]+|\b[\w-]+(?:\.[\w-]+)*\.(?:py|js|jsx|ts|tsx|go|rs|c|h|cc|cpp|hpp"
    r"|java|rb|php|kt|swift|scala|sh|md|rst|json|ya?ml|toml|css|html|cs)\b"
)
_POSITION = re.compile(r"([\w@+-][\w./@+-]{0,200}\.[A-Za-z]\w{0,4}):(\d{1,9})(?::\d+)?\b")
_DATE_OR_NUMBER = re.compile(r"[\d.,:TZ+-]+")
_LINE_NUMBER = re.compile(r"(?<=\w):\d+(?::\d+)?\b|(?<=, line )\d+\b")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$~][\w$]*)*(?:\(\))?")
_NAME_LIKE = re.compile(
    r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|^_+[A-Za-z]|::|->|[A-Za-z_]\.[A-Za-z_]|^[A-Z][A-Z]+[a-z]"
)
_WORD = re.compile(r"\w+")
_BARE_TITLE = re.compile(r"^\W*title(?:\W*:\W*|\W*$)", re.IGNORECASE)


def understand(text: str) -> Understood:
    """Cut a query into what ranking weighs apart."""
    found = Understood()
    frames: list[tuple[str, int, str]] = []
    for zone, line in _zones(_COMMENT.sub(" ", text[:MOST_CHARACTERS].replace("\r\n", "\n"))):
        frame = None if zone is Zone.TITLE else _frame(line)
        if frame:
            frames.append(frame)
            _collect(found, line, Zone.TRACE)
        else:
            _read_line(found, zone, line)
    found.frames = [Frame(*frame, depth) for depth, frame in enumerate(reversed(frames))]
    words = text.split()
    if len(words) == 1:
        found.shape = Shape.SYMBOL
        found.identifiers.append((_POSITION.sub(r"\1", words[0]), Zone.TITLE))
    elif len(words) <= SHORT_WORDS and "\n" not in text.strip():
        found.shape = Shape.SHORT
    found.identifiers = [each for each in found.identifiers if len(each[0]) <= IDENTIFIER_CHARACTERS]
    return found


def may_be_file(text: str) -> bool:
    """Whether what stands before a colon and a number may be a file; else it is a host, a time or a date."""
    if "/" in text or "\\" in text:
        return True
    last = text.rpartition(".")[2].lower()
    return last not in HOST_ENDINGS and last != "localhost" and not _DATE_OR_NUMBER.fullmatch(text)


def _frame(line: str) -> tuple[str, int, str] | None:
    if not _HAS_LINE.search(line):
        return None
    match = next(filter(None, (pattern.search(line) for pattern in _FRAMES)), None)
    if match is None or len(match["line"]) > 9 or not may_be_file(match["path"]):
        return None
    return match["path"], int(match["line"]), match.groupdict().get("function") or ""


def _zones(text: str) -> Iterator[tuple[Zone, str]]:
    fenced, titled, section = False, False, Zone.PROSE
    for whole in text.split("\n"):
        line = whole[:LINE_CHARACTERS]
        if fenced:
            if _FENCE_END.match(line):
                fenced = False
            else:
                yield (section if section is Zone.ENVIRONMENT else Zone.CODE), line
        elif titled and _FENCE.match(line):
            fenced = True
        elif not titled:
            title = _BARE_TITLE.sub("", line.strip().lstrip("#"), count=1)
            if title.strip(' *"#:'):
                titled = True
                yield Zone.TITLE, title
        elif heading := _heading(line):
            is_environment = len(heading) < 60 and _ENVIRONMENT.search(heading)
            section = Zone.ENVIRONMENT if is_environment else Zone.PROSE
            yield Zone.HEAD, heading
        elif _CHECK_LIST.match(line):
            continue
        elif _is_code(section, line):
            yield Zone.CODE, line
        else:
            yield section, line


def _is_code(section: Zone, line: str) -> bool:
    """A row of a table counts as data, unless what is said of the environment is written as one."""
    if section is Zone.PROSE and _TABLE_ROW.match(line):
        return True
    return _INDENTED_CODE.match(line) is not None and _LOOKS_LIKE_CODE.search(line) is not None


def _heading(line: str) -> str | None:
    if len(line) - len(line.lstrip(" ")) > 3:
        return None
    line = line.strip()
    marks = len(line) - len(line.lstrip("#"))
    if 0 < marks <= 6 and line[marks : marks + 1].isspace():
        return line.strip("#").strip() or None
    strong = _STRONG.fullmatch(line)
    return strong and (strong[1] or strong[2])


def _read_line(found: Understood, zone: Zone, line: str) -> None:
    line = _TAG.sub(" ", _IMAGE.sub(" ", line))
    for address in _ADDRESS.findall(line):
        if named := _ADDRESS_OF_FILE.search(address):
            found.paths.append((named[1], Zone.INLINE))
    line = _ADDRESS.sub(" ", line)
    if zone is Zone.TITLE:
        found.title = line
    if zone is Zone.CODE:
        _collect(found, line, zone)
        return
    inside = {Zone.TITLE: Zone.TITLE_CODE, Zone.ENVIRONMENT: Zone.ENVIRONMENT}.get(zone, Zone.INLINE)
    for part in _BACKTICKS.split(line):
        quoted = len(part) > 2 and part.startswith("`") and part.endswith("`")
        _collect(found, part.strip("`") if quoted else part, inside if quoted else zone)


def _collect(found: Understood, text: str, zone: Zone) -> None:
    found.paths += [(match[0], zone) for match in _PATH.finditer(text)]
    for match in _IDENTIFIER.finditer(text):
        name = match[0].removesuffix("()")
        quoted = zone in (Zone.INLINE, Zone.TITLE_CODE) and len(name) > 2
        if quoted or name != match[0] or _NAME_LIKE.search(name):
            found.identifiers.append((name, zone))
    if zone is Zone.TRACE:
        text = _LINE_NUMBER.sub("", text)
    elif ":" in text:
        places = [match for match in _POSITION.finditer(text) if _is_place(match)]
        found.positions += [Position(match[1], int(match[2]), zone) for match in places]
        text = _POSITION.sub(lambda match: match[1] if _is_place(match) else match[0], text)
    found.tokens += [(match[0], zone) for match in _WORD.finditer(text)]


def _is_place(match: re.Match[str]) -> bool:
    """Of a `_POSITION`: a line of a file. What follows `://` at once is a host, whatever its end."""
    return may_be_file(match[1]) and ("/" in match[1] or not match.string.endswith("://", 0, match.start()))
