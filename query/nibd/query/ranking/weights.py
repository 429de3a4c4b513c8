"""Every weight and constant of the ranking. What set them is in docs/search.md and its decision.

Kinds of evidence have no weights of their own: each counts as much as any other. Fitted weights did no
better on repositories that they were not fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Zone(StrEnum):
    """Where in a query a word stands (see `understanding`)."""

    TITLE = "title"
    TITLE_CODE = "title-code"
    PROSE = "prose"
    HEAD = "head"
    INLINE = "inline"
    CODE = "code"
    TRACE = "trace"
    ENVIRONMENT = "environment"


# Words of the query. A word's weight is the sum over zones of the zone's times log2(1 + how often there).

ALL_ZONES: Mapping[Zone, float] = {
    Zone.TITLE: 2.0, Zone.TITLE_CODE: 3.0, Zone.PROSE: 1.0, Zone.HEAD: 0.3, Zone.INLINE: 2.0,
    Zone.CODE: 0.5, Zone.TRACE: 0.5, Zone.ENVIRONMENT: 0.1,
}  # fmt: skip
TITLE_ZONES: Mapping[Zone, float] = {Zone.TITLE: 1.0, Zone.TITLE_CODE: 1.0}
WORDS_ZONES: Mapping[Zone, float] = {Zone.TITLE: 1.5, Zone.PROSE: 1.0, Zone.HEAD: 0.3}
PROSE_ZONES: Mapping[Zone, float] = {Zone.PROSE: 1.0, Zone.HEAD: 1.0}
STOP_WEIGHT = 0.1
FORM_WEIGHT = 0.4
JOINED_WEIGHT = 0.5
"""Of two or three neighbouring words that the tree writes as one ("test case": `testcase`)."""
JOINED_CHARACTERS = 6
"""The least that neighbours have together."""
MOST_NEIGHBOURS = 300
"""So many runs of neighbours are looked up."""
MOST_TERMS = 96
"""The terms of a query that count most; a long issue has several hundred."""
CANDIDATE_TERMS = 24
"""So many of them find candidates."""

# Text: BM25 over fields. (weight, b) by field.

K1 = 1.2
FILE_BODY, FILE_PATH, FILE_NAMES = (1.0, 0.6), (6.0, 0.3), (4.0, 0.75)
UNIT_BODY, UNIT_NAME, UNIT_PATH = (1.0, 0.75), (3.0, 0.5), (2.0, 0.3)
NAMES_B = 0.3
FIFTH = 5

# Names and paths.

DEFINITION_ZONES: Mapping[Zone, float] = {
    Zone.TITLE: 1.5, Zone.TITLE_CODE: 1.5, Zone.PROSE: 1.0, Zone.INLINE: 1.0, Zone.HEAD: 0.3,
    Zone.CODE: 0.3, Zone.TRACE: 0.5, Zone.ENVIRONMENT: 0.05,
}  # fmt: skip
QUALIFIER_SHARE = 0.5
"""What the component before the last one counts: of `Job.run`, `Job`."""
QUALIFIED = 10.0
"""For a query of one word, a unit whose qualified name ends in it: more than scores lie apart."""
MOST_DEFINITIONS = 200
"""A name that more units have tells nothing: divided by 1 + ln of so many it would hardly tell files apart
that define it, all of which would become candidates."""
MOST_IDENTIFIERS = 48
PATH_ZONES: Mapping[Zone, float] = {**DEFINITION_ZONES, Zone.CODE: 0.4, Zone.ENVIRONMENT: 0.1}
MOST_FILES_OF_PATH = 5
MOST_FILES_OF_FRAME = 3
FRAME_DEPTH = 0.3
"""The last frame counts 1, the one d before it 1 / (1 + 0.3 d)."""
PLACE = 2.0
"""What a unit gets that a frame or a line tells, times what that tells of its file."""
MOST_PATHS = 64
STEM_CHARACTERS = 4
STEM_SHARE = 0.05
"""A word with less than this share of the greatest importance says nothing of a stem."""

# From strong files on.

IMPORTS_FROM = 10
FOLDER_FROM = 30

# Sums.

MOST = 1.5
"""What evidence may exceed the best of an ordinary file by."""
PENALTIES: Mapping[str, float] = {
    "test": 6.0, "noncode": 6.0, "example": 2.0, "doc": 2.0, "bench": 2.0, "generated": 2.0,
    "build": 2.0, "tool": 2.0, "legacy": 2.0, "vendored": 2.0,
}  # fmt: skip
"""By class of path (see `path_classes`), where it is not asked for."""
NOT_ORDINARY = frozenset({"test", "noncode", "example", "doc", "bench", "generated", "vendored"})

# Units.

UNIT_B, UNIT_K1 = 0.2, 0.9
"""Longer functions are changed more often: length counts less than for a file's best unit."""
UNIT_PROSE, UNIT_TITLE = 0.5, 0.5
"""Each apart from the other: with the title in both, it spoke twice and the prose hardly. A query without
prose has its title and prose, which is the title, in the place of the prose."""
UNIT_FILE = 0.225
UNIT_POINT = 0.25
"""What each point of its file's penalties takes off a unit besides, in the answer to an issue."""
FILES_OF_UNITS = 40
LATER = 10.0
"""Off the score of units that come after all others (`later_units`); more than scores lie apart."""

# Candidates, for issues and for short queries.

ISSUE_CANDIDATES = 240
SHORT_CANDIDATES = 25
