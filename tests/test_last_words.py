"""Why a server ended, told from what it wrote last."""

from __future__ import annotations

import pytest

from nibd.repair.servers.last_words import MOST_CHARACTERS, last_words

RUST = """\
2026-01-02 03:04:05.138026164 ERROR panicked at crates/ty_server/src/document.rs:106:63:
URI to be valid UTF-8: "/tree/b\\xFFd.py"
   0: <unknown>
  16: start_thread
             at ./nptl/pthread_create.c:442:8

thread 'main' panicked at /cargo/jod-thread-1.0.0/src/lib.rs:33:22:
called `Result::unwrap()` on an `Err` value: Any { .. }
   0: <unknown>
  17: <unknown>
"""
GO = """\
some line before
panic: runtime error: index out of range [3] with length 2

goroutine 1 [running]:
main.main()
\t/src/main.go:8 +0x1d
exit status 2
"""
CLANG = """\
clangd: /llvm/clang/lib/Sema/Sema.cpp:12: void f(): Assertion `N < size()' failed.
PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/
Stack dump:
 #0 0x00005581 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int)
"""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            RUST,
            'panicked at crates/ty_server/src/document.rs:106:63: URI to be valid UTF-8: "/tree/b\\xFFd.py"',
        ),
        (
            RUST + "thread 'w' panicked at src/a.rs:1:2:\nand then that\n   0: x\n",
            "panicked at src/a.rs:1:2: and then that",
        ),
        (GO, "panic: runtime error: index out of range [3] with length 2"),
        (
            "fatal error: all goroutines are asleep\n\ngoroutine 1:\n",
            "fatal error: all goroutines are asleep",
        ),
        (CLANG, CLANG.splitlines()[0]),
        ("started\nno such option: --lsp\n", "no such option: --lsp"),
        ("", ""),
        ("x" * 1000, "x" * MOST_CHARACTERS),
    ],
)
def test_a_crash_is_told_by_its_message_and_all_else_by_the_last_line(said: str, words: str) -> None:
    assert last_words(said) == words
