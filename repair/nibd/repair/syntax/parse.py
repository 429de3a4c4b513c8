"""Parsing and matching within bounds, whatever the bytes.

Each verdict but one follows from the bytes alone, on a slow machine as on a fast one:

1. Brackets nested deeper than `MAX_BRACKET_DEPTH` are refused before parsing; so is what makes a grammar
   dear in a single step (`Spec.at_most`).
2. Work: the parser's own progress reports are counted, and allowed in proportion to the text.
3. Error nodes with very many children, each of which costs a look at all those after it, are refused.
4. Depth: a tree deeper than `MAX_TREE_DEPTH` is refused before it is matched. Tree-sitter's cursors count
   depth in 16 bits, and past 65,535 their time grows with the square of it.
5. The number of matches in progress, hence the depth of nested units, is limited in the cursor.

Under them lies a net for parses that are dear beyond all this: one that takes `MAX_PARSE_SECONDS` of
processor time is stopped. This verdict, `Skip.PARSE_TIMEOUT`, depends on the machine, so nobody may
keep it as a fact.

Nothing here recurses: tree-sitter parses, matches and frees trees with its own stacks. Matching can't be
interrupted (tree-sitter 0.26 crashes on a query's progress callback), so what would make it slow is
refused before.
"""

from __future__ import annotations

import re
import time
from functools import cache
from itertools import islice

from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree
from tree_sitter_language_pack import get_language

from nibd.repair.syntax.brackets import is_nested_deeper
from nibd.repair.syntax.spec import Spec
from nibd.stores.types import Skip

MIN_PROGRESS_REPORTS = 1_000
BYTES_A_REPORT = 8
"""A text may make `MIN_PROGRESS_REPORTS` and one more for each so many bytes. Ordinary source makes one
in 120 bytes; of 9,921 files in 16 languages none made more than one in 38."""
MAX_PARSE_SECONDS = 10.0
MAX_BRACKET_DEPTH = 1_000
MAX_TREE_DEPTH = 5_000
"""The deepest tree of 8,995 files in 16 languages has 570 levels: a generated sum of 280 terms."""
MAX_ERROR_CHILDREN = 10_000
FALLBACK_ERROR_BYTES = 1_000
FALLBACK_GAIN = 2
"""How many times fewer bytes in errors a fallback must have, as it hides some of the text."""
MAX_MATCHES_IN_PROGRESS = 1_000
_CHUNK_BYTES = 65_536

Captures = dict[str, list[Node]]


def parse(spec: Spec, content: bytes) -> Tree | Skip:
    """Parse text of `spec`'s language; broken source gives a tree with error nodes in it.

    When much of it is in errors, the language's fallback is tried, and taken if that helps a lot.
    """
    if is_nested_deeper(content, MAX_BRACKET_DEPTH):
        return Skip.TOO_DEEP
    if any(_occurs_more(content, text, most) for text, most in spec.at_most):
        return Skip.TOO_DEEP
    tree = _parse(spec, content)
    if spec.fallback is None or tree == Skip.PARSE_TIMEOUT:
        return tree
    errors = _error_bytes(tree, content)
    if errors < FALLBACK_ERROR_BYTES:
        return tree
    second = _parse(spec, spec.fallback(content))
    if second == Skip.PARSE_TIMEOUT:
        return second
    return second if _error_bytes(second, content) * FALLBACK_GAIN <= errors else tree


def broken_line(tree: Tree) -> int:
    """The first line with something that the grammar has no place for, or lacks; 0 where there is none.

    What is wrong within a string alone hides no unit (an `&` in an attribute of JSX).
    """
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing:
            return node.start_point[0] + 1
        if node.has_error and "string" not in node.type:
            pending.extend(child for child in reversed(node.children) if child.has_error)
    return 0


def _parse(spec: Spec, content: bytes) -> Tree | Skip:
    parser = Parser(_language(spec.grammar))
    reports = 0
    most = MIN_PROGRESS_REPORTS + len(content) // BYTES_A_REPORT
    deadline = time.thread_time() + MAX_PARSE_SECONDS

    def read(offset: int, _point: object) -> bytes:
        return content[offset : offset + _CHUNK_BYTES]

    def must_stop(_offset: int, _has_error: bool) -> bool:
        nonlocal reports
        reports += 1
        return reports > most or time.thread_time() > deadline

    try:
        tree = parser.parse(read, progress_callback=must_stop)
    except ValueError:  # how the binding says that the callback stopped it
        return Skip.PARSER_FAILED if reports > most else Skip.PARSE_TIMEOUT
    if _has_vast_error(tree.root_node):
        return Skip.PARSER_FAILED
    return Skip.TOO_DEEP if _is_too_deep(tree.root_node) else tree


def matches(spec: Spec, tree: Tree) -> list[tuple[int, Captures]] | Skip:
    """Run the language's query: (index of the pattern, captured nodes), in the order of the text."""
    cursor = QueryCursor(_query(spec.grammar, spec.query), match_limit=MAX_MATCHES_IN_PROGRESS)
    found = cursor.matches(tree.root_node)
    return Skip.TOO_DEEP if cursor.did_exceed_match_limit else found


@cache
def _language(grammar: str) -> Language:
    return get_language(grammar)  # type: ignore[arg-type, no-any-return, unused-ignore]


@cache
def _query(grammar: str, query: str) -> Query:
    return Query(_language(grammar), query)


def _occurs_more(content: bytes, text: re.Pattern[bytes], most: int) -> bool:
    return next(islice(text.finditer(content), most, None), None) is not None


def _has_vast_error(root: Node) -> bool:
    pending = [root] if root.has_error else []
    while pending:
        node = pending.pop()
        if node.is_error and node.child_count > MAX_ERROR_CHILDREN:
            return True
        pending.extend(child for child in node.children if child.has_error)
    return False


def _is_too_deep(root: Node) -> bool:
    """Look only at nodes with as many nodes in them as there are levels to go: in ordinary trees, few."""
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        if depth >= MAX_TREE_DEPTH:
            return True
        pending.extend(
            (child, depth + 1) for child in node.children if child.descendant_count + depth > MAX_TREE_DEPTH
        )
    return False


def _error_bytes(tree: Tree | Skip, content: bytes) -> int:
    """How much of a text stands in error nodes: all of it when there is no tree."""
    if isinstance(tree, Skip):
        return len(content)
    total, pending = 0, [tree.root_node]
    while pending:
        node = pending.pop()
        if node.is_error:
            total += node.end_byte - node.start_byte
        elif node.has_error:
            pending.extend(child for child in node.children if child.has_error)
    return total
