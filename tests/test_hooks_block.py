"""The block as text: for any hook and marker, placing is idempotent and taking out gives back what was."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nibd.hooks.block import BEGIN, END, holds_block, is_broken, own_file, place, render, take_out
from nibd.hooks.suitability import SHELLS, obstacle

LINES = st.lists(st.sampled_from([b"", b"exit 0", b"# comment", b"caf\xe9 \r", b" " + BEGIN, b"x" + END]))
HOOKS = st.builds(
    lambda first, lines, last: first + b"\n".join(lines) + last,
    st.sampled_from([b"", b"#!/bin/sh\n", b"#!/usr/bin/env bash\n", b"#! /bin/sh -e\r\n"]),
    LINES,
    st.sampled_from([b"", b"\n"]),
)
NAMES = st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name)


def block_for(name: bytes) -> bytes:
    return render(Path("/" + os.fsdecode(name.replace(b"/", b"_"))))


@given(HOOKS, NAMES)
def test_taking_out_undoes_placing(hook: bytes, name: bytes) -> None:
    placed = place(hook, block_for(name))
    assert holds_block(placed)
    assert not is_broken(placed)
    assert take_out(placed) == hook


@given(HOOKS, NAMES, NAMES)
def test_placing_again_keeps_one_block(hook: bytes, name: bytes, other: bytes) -> None:
    once = place(hook, block_for(name))
    assert place(once, block_for(name)) == once
    assert place(once, block_for(other)) == place(hook, block_for(other))


@given(HOOKS, NAMES, st.sampled_from([BEGIN, END]))
def test_half_a_block_is_broken(hook: bytes, name: bytes, edge: bytes) -> None:
    lines = place(hook, block_for(name)).split(b"\n")
    assert is_broken(b"\n".join(line for line in lines if not line.startswith(edge)))


@given(NAMES)
def test_the_marker_is_one_word_of_shell(name: bytes) -> None:
    block = block_for(name).decode("latin-1")
    word = block[block.index(">|") + 2 : block.rindex("; } 2>/dev/null")]
    assert shlex.split(word) == ["/" + name.replace(b"/", b"_").decode("latin-1")]


def test_a_nested_begin_line_is_broken() -> None:
    block = block_for(b"m")
    assert is_broken(BEGIN + b"\n" + block)
    assert is_broken(block + END + b"\n")
    assert not is_broken(block + block)


def test_only_a_shebang_line_goes_before_the_block() -> None:
    block = block_for(b"m")
    assert own_file(block) == place(b"#!/bin/sh\n", block) == place(b"#!/bin/sh", block)
    assert place(b"#!/bin/sh\nexit\n", block) == b"#!/bin/sh\n" + block + b"exit\n"
    assert place(b"exit\n", block) == block + b"exit\n"


@pytest.mark.parametrize("shell", sorted(SHELLS))
@pytest.mark.parametrize(
    "form", ["#!/bin/{}", "#! /usr/local/bin/{} -eu", "#!/usr/bin/env {}", "#!/usr/bin/env -S {} -o errexit"]
)
def test_every_shell_is_known_in_every_form(shell: str, form: str) -> None:
    assert obstacle(form.format(shell).encode() + b"\n") is None


@pytest.mark.parametrize(
    "first",
    [
        "#!/bin/csh",
        "#!/usr/bin/env",
        "#!/usr/bin/env -i sh",
        "#!/usr/bin/env X=1 sh",
        "#!/bin/shell",
        "#!/bin/sh -n",
        "#!/bin/sh -c",
        "#!/bin/bash -o restricted",
        "#!/bin/bash --restricted",
        "#!/bin/bash script",
        "#! ",
    ],
)
def test_other_first_lines_are_not_taken_for_a_shell(first: str) -> None:
    assert obstacle(first.encode() + b"\ntrue\n") is not None


def test_importing_hooks_loads_nothing_heavy() -> None:
    code = "import sys, nibd.hooks; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"asyncio", "numpy", "pygit2", "sqlite3", "structlog", "torch"} & set(loaded)
    code = "import sys, nibd.hooks; print(*sorted(n for n in sys.modules if n.startswith('nibd.')))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert all(name.startswith("nibd.hooks") for name in loaded)
