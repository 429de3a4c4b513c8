"""What is asked of C and C++ after a change, and the clangd that is asked about each file alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from language_servers import Project
from nibd.repair.servers import Unknown, by_file
from nibd.repair.servers.word_guesses import MOST_WORDS, WordGuesses
from nibd.stores.types import RepoPath
from relations_world import World


def test_an_answer_does_not_depend_on_what_was_asked_before(tmp_path: Path) -> None:
    files = {
        "lib.h": "int greet(int n);\n",
        "lib.c": '#include "lib.h"\nint greet(int n) { return n; }\n',
        "app.c": '#include "lib.h"\nint use(void) { return greet(1); }\n',
    }
    with Project(tmp_path, "c", files) as project:
        alone = project.ask("app.c", "greet")
        assert project.ask("lib.c", "greet") == {("lib.h", 0, "greet")}
        assert project.ask("app.c", "greet") == alone == {("lib.h", 0, "greet")}


def test_a_guess_by_the_word_counts_in_c_alone_and_where_it_leads_to_one_place(tmp_path: Path) -> None:
    off = "#ifdef OFF\nint unused(void) { return one() + two; }\n#endif\n"
    files = {
        "lib.h": "int one(void);\nstruct a { int two; };\nstruct b { int two; };\n" + off,
        "app.c": '#include "lib.h"\n' + off,
        "app.cpp": '#include "lib.h"\n' + off,
    }
    with Project(tmp_path, "c", files) as project:
        places = [
            project.place(*each)
            for each in (("app.c", "one"), ("app.c", "two"), ("app.cpp", "one"), ("app.cpp", "two"))
        ]
        assert [project.read(each) for each in project.server.definitions(places)] == [
            {("lib.h", 0, "one")}, set(), set(), set(),
        ]  # fmt: skip


def test_what_is_only_guessed_by_the_word_is_no_answer_in_a_template(tmp_path: Path) -> None:
    files = {
        "app.cpp": "struct Box { int unpack() { return 1; } };\n"
        "template <class T> int use(T t) { return t.unpack(); }\n"
        "int direct() { Box box; return box.unpack() + use(box); }\n",
    }
    with Project(tmp_path, "c", files) as project:
        places = [project.place("app.cpp", "unpack", nth) for nth in (1, 2)]
        assert [project.read(each) for each in project.server.definitions(places)] == [
            set(), {("app.cpp", 0, "unpack")},
        ]  # fmt: skip


def test_guesses_are_told_from_the_log_however_it_is_cut() -> None:
    log = (
        b"I[10:00:00.000] <-- textDocument/definition(7)\n"
        b'V[10:00:00.000] <<< {"text":"I[1] Found definition heuristically in index"}\n'
        b"I[10:00:00.001] --> reply:textDocument/definition(7) 0 ms\n"
        b"I[10:00:00.001] <-- textDocument/definition(8)\n"
        b"I[10:00:00.002] Found definition heuristically in index for begin\n"
    )
    for size in (1, 10, len(log)):
        guesses = WordGuesses(RepoPath(b"a.cpp"), "")
        for start in range(0, len(log), size):
            guesses.hear(log[start : start + size])
        assert [guesses.is_void(number, 1) for number in (7, 8)] == [False, True]


def test_a_guess_with_which_many_words_of_the_file_begin_is_no_answer() -> None:
    log = b"".join(
        b"I[10:00:00.000] <-- textDocument/definition(%d)\n"
        b"I[10:00:00.000] Found definition heuristically in index for %s\n" % each
        for each in ((1, b"CURL"), (2, b"other"))
    )
    for more, is_void in ((0, False), (1, True)):
        begun = " ".join(f"curl_{number}" for number in range(MOST_WORDS - 1 + more))
        guesses = WordGuesses(RepoPath(b"a.c"), f"CURL curl others {begun} z")
        guesses.hear(log)
        assert [guesses.is_void(number, 1) for number in (1, 2)] == [is_void, False]
        assert guesses.is_void(2, 2)


def test_a_file_that_takes_too_much_is_unknown_and_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_file, "FILE_MEMORY_BYTES", 512 << 20)
    steps = range(28)
    templates = [
        f"template <int N> struct T{i} {{ T{i + 1}<N * 2> a; T{i + 1}<N * 2 + 1> b; }};\n" for i in steps
    ]
    files = {
        "endless.cpp": "".join(["template <int N> struct T28 {};\n", *templates[::-1], "T0<1> root;\n"]),
        "app.cpp": "int greet(int n) { return n; }\nint use() { return greet(1); }\n",
    }
    with Project(tmp_path, "c", files) as project:
        places = [project.place("app.cpp", "greet", 1), project.place("endless.cpp", "root")]
        app, endless = project.server.definitions(places)
        assert project.read(app) == {("app.cpp", 0, "greet")}
        assert isinstance(endless, Unknown)
        assert any("endless.cpp" in limit for limit in project.server.limits)
        started = project.server.requests["initialize"]
        assert project.server.definitions(places[1:]) == [endless]  # it is not tried again
        assert project.server.requests["initialize"] == started

        project.write("endless.cpp", "int root;\n")
        project.tell(modified="endless.cpp")
        assert project.ask("endless.cpp", "root") == {("endless.cpp", 0, "root")}
        assert project.server.limits == project.server.limits[:1]


def test_a_file_that_was_given_up_is_tried_again_when_what_it_includes_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_file, "FILE_MEMORY_BYTES", 512 << 20)
    templates = [
        f"template <int N> struct T{i} {{ T{i + 1}<N * 2> a; T{i + 1}<N * 2 + 1> b; }};\n" for i in range(28)
    ]
    files = {
        "deep.h": "".join(["template <int N> struct T28 {};\n", *templates[::-1]]),
        "lib.h": '#include "deep.h"\n',
        "endless.cpp": '#include "lib.h"\nT0<1> root;\n',
        "other.cpp": "int other();\n",
    }
    with World(tmp_path, "c", files) as world:
        assert world.relate().record.counts["unknown"] == 2
        world.commit({"other.cpp": "int other(int n);\n"})
        assert world.relate().record.counts["unknown"] == 2
        world.commit({"deep.h": "template <int N> struct T0 {};\n"})
        made = world.relate().record
        assert (made.counts["unknown"], made.reason and "endless.cpp" in made.reason) == (0, False)
        assert world.targets("endless.cpp", "T0") == ["deep.h:T0:T0"]


def test_flags_that_are_guessed_otherwise_have_everything_asked_again(tmp_path: Path) -> None:
    files = {
        "app.c": '#include "lib.h"\nint use(void) { return greet(1); }\n',
        "deep/include/lib.h": "static inline int greet(int n) { return n; }\n",
    }
    with World(tmp_path, "c", files) as world:
        world.relate()
        assert world.targets("app.c", "greet") == ["app.c:use:greet"]  # as C declares it by its use
        world.commit({"include/lib.h": files["deep/include/lib.h"]})
        world.relate()
        assert world.targets("app.c", "greet") == ["include/lib.h:greet:greet"]
        assert world.differences() == []


def test_a_source_is_asked_alone_and_a_header_with_who_includes_it(tmp_path: Path) -> None:
    lib = "static inline int greet(int n) { return n; }\n"
    app = '#include "lib.h"\nint use(void) { return greet(1); }\n'
    files = {"lib.h": lib, "app.c": app, "b.c": app.replace("use", "other"), "c.c": "int third(void);\n"}
    with World(tmp_path, "c", files) as world:
        world.relate()
        world.commit({"app.c": app.replace("(1)", "(2)") + "int third(void) { return 3; }\n"})
        assert world.relate().asked.keys() == {"app.c"}
        world.commit({"lib.h": f"int third(void);\n{lib.replace('n) {', 'n) { n++;')}"})
        assert set(world.relate().asked) <= {"lib.h", "app.c", "b.c"}
        assert world.differences() == []


def test_what_was_included_in_vain_is_there_and_what_it_makes_is_asked_about_after_it(tmp_path: Path) -> None:
    files = {
        "base.h": "#pragma once\nstruct A { void run(); };\n",
        "app.cpp": '#include "base.h"\n#include "late.h"\nusing ns::make;\n\n'
        "void use() { auto v = make(); v.run(); }\n",
    }
    with World(tmp_path, "c", files) as world:
        world.relate()
        world.commit({"late.h": '#pragma once\n#include "base.h"\nnamespace ns { A make(); }\n'})
        assert world.relate().asked["app.cpp"] == "ns make use v make v run"
        assert world.targets("app.cpp", "run") == ["base.h:A:run"]
        assert world.differences() == []
