"""Rust: types, traits, impls, modules with a body, functions, `macro_rules!`; joined by `::`.

`impl Display for Job<T>` is called so, its name is `Job`, and what is in it begins with `Job::`.
Modules without a body (`mod x;`) are imports, as is each path of a `use` tree; aliases are left out.
Types inside an impl or a trait, constants, statics and closures are no units.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from nibd.repair.syntax.spec import Enclosing, Match, Naming, Spec, joined, nested_names

_MAX_PATHS = 1_000
_SEPARATOR = "::"
_POINTER = re.compile(r"(?:[&*]|'\w+|(?:mut|const|dyn|impl)\b|\s)*")
_PATH = re.compile(r"(?:::)?(?:r#)?\w+(?:::(?:r#)?\w+)*")
_ALIAS = re.compile(r"\s+as\s+\w+$")
_TOKEN = re.compile(r"[{},]|[^{},]+")
_nested = nested_names(_SEPARATOR)


def _naming(match: Match, enclosing: Enclosing) -> Naming | None:
    if match.kind == "impl":
        return _impl(match.texts, enclosing)
    is_member = enclosing.kind in ("impl", "trait")
    if match.kind == "type" and is_member:
        return None
    named = _nested(match, enclosing)
    if named is None or match.kind != "function" or not is_member:
        return named
    return Naming("method", named.name, named.qualified, named.prefix)


def _impl(texts: Mapping[str, str], enclosing: Enclosing) -> Naming:
    written = texts["type"]
    path = _PATH.match(written, _POINTER.match(written).end())  # type: ignore[union-attr]
    name = path[0].rpartition(_SEPARATOR)[2] if path else written
    negative = "!" if "negative" in texts else ""
    header = f"impl {negative}{texts['trait']} for {written}" if "trait" in texts else f"impl {written}"
    inside = joined(enclosing.prefix, _SEPARATOR, name)
    return Naming("impl", name, joined(enclosing.prefix, _SEPARATOR, header), inside)


def _modules(texts: Mapping[str, str]) -> Sequence[str]:
    return tuple(dict.fromkeys(_paths(texts["module"])))[:_MAX_PATHS]


def _paths(tree: str) -> Iterator[str]:
    """Each path of a `use` tree, whole: `a::{self, b::*}` is `a`, `a::b::*`."""
    prefixes = [""]
    last = ""
    for token in _TOKEN.findall(tree):
        if token == "{":
            prefixes.append(prefixes[-1] + last)
            last = ""
            continue
        if token in ",}":
            if last:
                yield _whole(prefixes[-1], last)
            last = ""
            if token == "}" and len(prefixes) > 1:
                prefixes.pop()
            continue
        last = _ALIAS.sub("", token.strip())
    if last:
        yield _whole(prefixes[-1], last)


def _whole(prefix: str, last: str) -> str:
    return prefix.removesuffix(_SEPARATOR) if last == "self" and prefix else prefix + last


SPEC = Spec(
    grammar="rust",
    query="""
    (struct_item name: (_) @name body: (field_declaration_list) @body) @scope.struct
    (struct_item name: (_) @name) @scope.struct
    (enum_item name: (_) @name body: (_) @body) @scope.enum
    (union_item name: (_) @name body: (_) @body) @scope.union
    (trait_item name: (_) @name body: (_) @body) @scope.trait
    (impl_item "!" @negative trait: (_) @trait type: (_) @type body: (_) @body) @scope.impl
    (impl_item trait: (_) @trait type: (_) @type body: (_) @body) @scope.impl
    (impl_item !trait type: (_) @type body: (_) @body) @scope.impl
    (mod_item name: (_) @name body: (_) @body) @scope.module
    (type_item name: (_) @name) @scope.type
    (function_item name: (_) @name body: (_) @body) @callable.function
    (function_signature_item name: (_) @name) @callable.function
    (macro_definition name: (_) @name) @callable.macro
    (attribute_item) @attribute
    (line_comment !inner) @comment
    (block_comment !inner) @comment
    (use_declaration argument: (_) @module) @import
    (extern_crate_declaration name: (_) @module) @import
    (mod_item name: (_) @module !body) @import
    """,
    naming=_naming,
    modules=_modules,
)
