"""Bash and other POSIX shells: functions, in either form, wherever they are defined.

A function inside another is as global as any, so its name stands alone. What `source` or `.` reads
is an import.
"""

from collections.abc import Mapping, Sequence

from nibd.repair.syntax.spec import Enclosing, Match, Naming, Spec

_LOADERS = {"source", "."}


def _naming(match: Match, _enclosing: Enclosing) -> Naming | None:
    return Naming(match.kind, match.name, match.name, match.name) if match.name else None


def _modules(texts: Mapping[str, str]) -> Sequence[str]:
    return (texts["module"].strip("'\""),) if texts["command"] in _LOADERS else ()


SPEC = Spec(
    grammar="bash",
    query="""
    (function_definition name: (_) @name body: (_)? @body) @callable.function
    (redirected_statement body: (function_definition) @inner) @outer
    (comment) @comment
    (command name: (command_name (word) @command) . argument: (_) @module) @import
    """,
    naming=_naming,
    modules=_modules,
)
