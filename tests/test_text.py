"""Bytes to text, and which language a file is in."""

from __future__ import annotations

import pytest

from nibd.repair.languages import language_of
from nibd.repair.text import Text, decode, is_minified, line_count
from nibd.stores.types import RepoPath, Skip


@pytest.mark.parametrize(
    ("data", "content", "encoding"),
    [
        (b"", "", "utf-8"),
        ("é\r\n".encode(), "é\r\n", "utf-8"),
        (b"\xef\xbb\xbfx", "x", "utf-8"),
        (b"\xff\xfe" + "aé\n".encode("utf-16-le"), "aé\n", "utf-16-le"),
        (b"\xfe\xff" + "aé\n".encode("utf-16-be"), "aé\n", "utf-16-be"),
        (b"\xff\xfe\0\0" + "a\n".encode("utf-32-le"), "a\n", "utf-32-le"),
        (b"\0\0\xfe\xff" + "a\n".encode("utf-32-be"), "a\n", "utf-32-be"),
        (b"caf\xe9 \x80 \x81", "café € \x81", "cp1252"),
        (b"a" * 8_000 + b"\0b", "a" * 8_000 + " b", "utf-8"),
    ],
)
def test_text_is_decoded_to_utf_8_without_a_mark(data: bytes, content: str, encoding: str) -> None:
    assert decode(data) == Text(content.encode(), encoding)


@pytest.mark.parametrize("data", [b"\x7fELF\0", b"a" * 7_999 + b"\0", b"\xff\xfea", b"\xff\xfe\0\xd8a\0"])
def test_what_is_no_text_is_binary(data: bytes) -> None:
    assert decode(data) == Skip.BINARY


def test_minified_code_is_told_from_code_with_long_literals() -> None:
    ordinary = b"def f(x):\n    return x + 1\n" * 200
    assert not is_minified(ordinary, code=True)
    assert not is_minified(ordinary + b"data = '" + b"x" * 100_000 + b"'\n", code=True)
    assert is_minified(b"/* licence */\n" * 5 + b"var a=1;" * 10_000, code=True)
    assert is_minified((b"var a=1;" * 60 + b"\n") * 100, code=True)
    assert not is_minified(b"x = 1;" * 300, code=True)


def test_prose_with_a_paragraph_a_line_is_not_minified() -> None:
    assert not is_minified((b"word " * 150 + b"\n\n") * 100, code=False)
    assert is_minified(b"<svg " + b"M0 1 " * 10_000 + b"/>\n", code=False)


@pytest.mark.parametrize(
    ("content", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\r\nb\rc", 2), (b"\n\n", 2)]
)
def test_lines_are_counted_as_git_does(content: bytes, lines: int) -> None:
    assert line_count(content) == lines


@pytest.mark.parametrize(
    ("path", "content", "language"),
    [
        (b"a/b.py", b"", "python"),
        (b"a.PYI", b"", "python"),
        (b"x.jsx", b"", "javascript"),
        (b"x.d.ts", b"", "typescript"),
        (b"x.tsx", b"", "tsx"),
        (b"x.C", b"", "cpp"),
        (b"x.c", b"", "c"),
        (b"na\xefve\n.go", b"", "go"),
        (b"Rakefile", b"", "ruby"),
        (b".py", b"", "text"),
        (b"README.md", b"", "markdown"),
        (b"LICENSE", b"", "text"),
        (b"data.csv", b"a,b\n", "text"),
        (b"bin/tool", b"#!/usr/bin/env python3\n", "python"),
        (b"bin/tool", b"#! /usr/bin/env -S FOO=1 python3.12 -u\r\n", "python"),
        (b"bin/tool", b"#!/bin/sh -e\n", "bash"),
        (b"bin/tool.in", b"#!/usr/bin/node\n", "javascript"),
        (b"bin/tool", b"#!/usr/bin/perl\n", "text"),
        (b"bin/tool", b"#!\n", "text"),
        (b"x.h", b"int f(void);\nstruct class_ *x;\n", "c"),
        (b"x.h", b"/*\nclass A {\nnamespace\n*/ // std::x\nint f();\n", "c"),
        (b"x.h", b'#ifdef __cplusplus\nextern "C" {\n#endif\n#include <stdio.h>\n', "c"),
        (b"x.h", b"#include <vector>\nint f();\n", "cpp"),
        (b"x.h", b"template <typename T>\nT f(T);\n", "cpp"),
        (b"x.h", b"  namespace a::b { int f(); }\n", "cpp"),
        (b"x.h", b"@interface A : NSObject\n@end\n", "text"),
        (b"x.h", b"/*" * 400_000, "c"),
    ],
)
def test_language_follows_from_path_and_bytes(path: bytes, content: bytes, language: str) -> None:
    assert language_of(RepoPath(path), content) == language
