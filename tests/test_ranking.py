"""Ranked search over small repositories, each case for one reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from nibd.stores.types import Level
from ranked_tree import ranked_tree

FILLER = {f"src/other{n}.py": f"def other_{n}(value):\n    return value + {n}\n" for n in range(6)}
"""Files that make words rare."""


def test_a_definition_comes_before_its_uses(tmp_path: Path) -> None:
    uses = "\n".join(f"def use_{n}():\n    return load_plan() + load_plan()\n" for n in range(5))
    files = {"src/uses.py": uses, "src/plan.py": "def load_plan():\n    return read()\n", **FILLER}
    with ranked_tree(tmp_path, files) as tree:
        assert tree.units("load_plan")[0] == ("src/plan.py", "load_plan")
        assert tree.files("load_plan")[0] == "src/plan.py"
        assert tree.evidence("load_plan", "src/plan.py")["defines what is mentioned"] > 0


def test_tests_come_last_unless_they_are_asked_for(tmp_path: Path) -> None:
    body = "def parcel_weight(parcel):\n    return parcel.weight\n"
    files = {"tests/test_parcel.py": body + body, "src/parcel.py": body, **FILLER}
    with ranked_tree(tmp_path, files) as tree:
        assert tree.files("weight of a parcel")[0] == "src/parcel.py"
        assert "test" not in tree.evidence("test of the weight of a parcel", "tests/test_parcel.py")
        assert tree.evidence("weight of a parcel", "tests/test_parcel.py")["test"] < 0


def test_a_kind_of_evidence_or_a_penalty_can_be_left_out(tmp_path: Path) -> None:
    body = "def parcel_weight(parcel):\n    return parcel.weight\n"
    with ranked_tree(tmp_path, {"tests/test_parcel.py": body, "src/parcel.py": body, **FILLER}) as tree:
        whole = tree.evidence("parcel_weight", "tests/test_parcel.py")
        left = tree.evidence("parcel_weight", "tests/test_parcel.py", without={"its stem", "test"})
        assert whole.keys() - left.keys() == {"its stem", "test"}
        assert left["file"] == pytest.approx(whole["file"] - whole["its stem"] - whole["test"])


@pytest.mark.parametrize(
    ("path", "class_name"),
    [
        ("docs/parcel.py", "doc"), ("examples/parcel.py", "example"), ("legacy/parcel.py", "legacy"),
        ("third_party/parcel.py", "vendored"), ("parcel.txt", "noncode"), ("benchmarks/parcel.py", "bench"),
    ],
)  # fmt: skip
def test_what_is_no_ordinary_code_comes_after_it(tmp_path: Path, path: str, class_name: str) -> None:
    body = "def parcel_weight(parcel):\n    return parcel.weight\n"
    with ranked_tree(tmp_path, {path: body + "# parcel weight\n", "src/parcel.py": body, **FILLER}) as tree:
        assert tree.files("weight of a parcel")[:2] == ["src/parcel.py", path]
        assert tree.evidence("weight of a parcel", path)[class_name] < 0


def test_a_file_that_is_named_by_its_path_comes_first(tmp_path: Path) -> None:
    body = "def run():\n    return queue\n"
    files = {"a/worker.py": body, "b/worker.py": body, "c/queue.py": body, **FILLER}
    with ranked_tree(tmp_path, files) as tree:
        assert tree.files("the queue hangs\n\nI think it is in `b/worker.py`.")[0] == "b/worker.py"
        blob = "https://example.org/o/r/blob/main/b/worker.py#L3"
        assert tree.files(f"it does not run\n\nSee {blob}")[0] == "b/worker.py"


def test_the_last_frame_of_a_stack_trace_tells_most(tmp_path: Path) -> None:
    body = "def run():\n    return start()\n"
    files = {"pkg/alpha.py": body, "pkg/beta.py": body, "pkg/gamma.py": body, **FILLER}
    trace = "\n".join(f'  File "/usr/lib/pkg/{name}.py", line 3, in run' for name in ("gamma", "beta"))
    with ranked_tree(tmp_path, files) as tree:
        ranked = tree.files(f"it fails\n\n```\nTraceback (most recent call last):\n{trace}\nError\n```\n")
        assert ranked[0] == "pkg/beta.py"
        evidence = tree.evidence(f"it fails\n\n```\n{trace}\n```\n", "pkg/gamma.py")
        assert 0 < evidence["is in the stack trace"] < 1


JAR = "\n".join(f"def {name}(jar):\n    jar.lid()\n    return jar\n" for name in ("close", "fill", "shake"))


def test_a_line_of_a_file_tells_the_unit_that_holds_it(tmp_path: Path) -> None:
    files = {"src/jar.py": JAR, "src/numbers.py": "def jar(py):\n    return 6, 6, 6\n", **FILLER}
    with ranked_tree(tmp_path, files) as tree:
        assert tree.units("jar.py:6")[0] == ("src/jar.py", "fill")
        assert tree.units("the jar is open\n\nSee src/jar.py:10.")[0] == ("src/jar.py", "shake")


def test_a_line_tells_a_unit_that_has_no_word_of_the_query(tmp_path: Path) -> None:
    text = "def first(box):\n    return box\n\n\ndef second(box):\n    return box\n"
    files = {"src/helpers.py": text, "tests/test_helpers.py": "def test_helpers():\n    return 5\n", **FILLER}
    with ranked_tree(tmp_path, files) as tree:
        assert tree.units("helpers.py:5")[0] == ("src/helpers.py", "second")


def test_the_function_of_a_frame_tells_more_than_its_line(tmp_path: Path) -> None:
    frame = '  File "/usr/lib/src/jar.py", line {}, in {}'
    with ranked_tree(tmp_path, {"src/jar.py": JAR, **FILLER}) as tree:
        for line, function, expected in (
            (2, "shake", "shake"),
            (10, "<lambda>", "shake"),
            (99, "fill", "fill"),
        ):
            issue = f"the jar is open\n\n```\nTraceback\n{frame.format(line, function)}\n```\n"
            assert tree.units(issue)[0] == ("src/jar.py", expected)


def test_forms_of_a_word_are_one(tmp_path: Path) -> None:
    files = {"src/a.py": "def parse_entry(text):\n    return text\n", **FILLER}
    with ranked_tree(tmp_path, files) as tree:
        for query in ("parsing of entries", "entry parses", "parsed entry"):
            assert tree.units(query)[0] == ("src/a.py", "parse_entry")


@pytest.mark.parametrize(("name", "asked"), [("class TocTree: ...", "toctree"), ("toctree = 1", "`TocTree`")])
def test_a_word_is_found_where_it_is_an_identifier_of_parts_and_the_other_way_round(
    tmp_path: Path, name: str, asked: str
) -> None:
    files = {"src/a.py": f"{name}\n", "src/b.py": "def toc_of(tree): ...\n", **FILLER}
    with ranked_tree(tmp_path, files) as tree:
        assert "src/a.py" in tree.files(f"{asked} is wrong")


@pytest.mark.parametrize("text", ["def testcase(): ...", "def test_case(): ...", "class TestCase: ..."])
def test_neighbouring_words_are_found_where_the_tree_writes_them_as_one(tmp_path: Path, text: str) -> None:
    with ranked_tree(tmp_path, {"src/a.py": f"{text}\n", **FILLER}) as tree:
        ranking = tree.rank("where is the test case", Level.FILE)
        assert "testcase" in dict(ranking.explanation.terms)
        assert ranking.hits[0].path == b"src/a.py"


def test_what_a_form_put_into_an_issue_is_ignored(tmp_path: Path) -> None:
    screen = "def checklist(duplicate):\n    '''searched'''\n"
    files = {"src/screen.py": screen, "src/a.py": "def fold(x): ...\n"}
    issue = (
        "fold drops the last item\n\n<!-- checklist: searched duplicate -->\n"
        "- [x] I searched for a duplicate checklist\n"
    )
    with ranked_tree(tmp_path, {**files, **FILLER}) as tree:
        assert tree.files(issue)[0] == "src/a.py"
        assert "src/screen.py" not in tree.files(issue)


def test_the_qualifier_of_a_name_tells_which_of_equal_names_is_meant(tmp_path: Path) -> None:
    classes = "\n".join(f"class {n}:\n    def run(self):\n        return 1\n" for n in ("Alpha", "Beta"))
    with ranked_tree(tmp_path, {"src/a.py": classes, **FILLER}) as tree:
        assert tree.units("Beta.run")[0] == ("src/a.py", "Beta.run")
        assert tree.units("Alpha.run")[0] == ("src/a.py", "Alpha.run")


def test_a_qualified_name_comes_before_one_whose_folder_is_called_like_the_class(tmp_path: Path) -> None:
    uses = "class View:\n    def dispatch(self):\n        return flask.dispatch(Flask.dispatch)\n"
    files = {
        "src/flask/app.py": "class Flask:\n    def dispatch(self, a, b, c, d, e):\n        return a + b\n",
        "src/flask/flask_views.py": uses, **FILLER,
    }  # fmt: skip
    with ranked_tree(tmp_path, files) as tree:
        for query in ("Flask.dispatch", "flask::dispatch"):
            assert tree.units(query)[0] == ("src/flask/app.py", "Flask.dispatch")


def test_a_word_in_code_tells_less_than_one_in_the_title(tmp_path: Path) -> None:
    files = {"src/a.py": "def marmalade(): ...\n", "src/b.py": "def gooseberry(): ...\n", **FILLER}
    issue = "marmalade is wrong\n\n```\ngooseberry\n```\n"
    with ranked_tree(tmp_path, files) as tree:
        assert tree.files(issue) == ["src/a.py", "src/b.py"]


def test_prose_tells_a_unit_without_what_the_title_says_again(tmp_path: Path) -> None:
    files = {
        "src/jam.py": """\
def first(one, two, three, four, five, six):
    return marmalade(one, two, three, four, five, six)

def second():
    return gooseberry(elderberry)
""",
        **FILLER,
    }
    with ranked_tree(tmp_path, files) as tree:
        assert tree.units("Marmalade\n\nGooseberry elderberry.\n")[0] == ("src/jam.py", "second")


def test_of_a_query_without_prose_the_title_counts_in_its_place(tmp_path: Path) -> None:
    with ranked_tree(tmp_path, {"src/jam.py": "def marmalade(): ...\n", **FILLER}) as tree:
        assert tree.rank("cold marmalade", Level.CALLABLE).hits[0].score == pytest.approx(2.0)


def test_what_the_best_files_import_is_pulled_up(tmp_path: Path) -> None:
    same = "def helper(value):\n    '''of the ledger'''\n    return value\n"
    files = {
        "pkg/ledger.py": "from pkg.zeta import helper\n\ndef ledger_total(ledger): ...\n",
        "pkg/zeta.py": same, "pkg2/eta.py": same, **FILLER,
    }  # fmt: skip
    with ranked_tree(tmp_path, files) as tree:
        assert tree.files("total of the ledger")[:2] == ["pkg/ledger.py", "pkg/zeta.py"]
        assert tree.evidence("total of the ledger", "pkg/zeta.py")["imported by the best files"] > 0


def test_what_imports_the_best_files_is_pulled_up(tmp_path: Path) -> None:
    same = "def helper(value):\n    '''of the ledger'''\n    return value\n"
    files = {
        "pkg/ledger.py": "def ledger_total(ledger): ...\n",
        "pkg2/zeta.py": "from pkg.ledger import ledger_total\n\n" + same, "pkg3/eta.py": same, **FILLER,
    }  # fmt: skip
    with ranked_tree(tmp_path, files) as tree:
        of_zeta = tree.evidence("total of the ledger", "pkg2/zeta.py")
        assert of_zeta["imports the best files"] > 0
        assert "imports the best files" not in tree.evidence("total of the ledger", "pkg3/eta.py")


def test_a_go_package_that_many_files_import_is_pulled_up_less(tmp_path: Path) -> None:
    """An import names the folder: how its files are called says nothing of how often it is imported."""
    importer = 'package a\n\nimport (\n\t"example.org/x/rare"\n\t"example.org/x/hub"\n)\n\n'
    helper = "package {}\n\nfunc Helper() {{}}\n"
    files = {
        "a/ledger.go": importer + "func LedgerTotal() { rare.Helper(); hub.Helper() }\n",
        "x/rare/hub.go": helper.format("rare"), "x/hub/rare.go": helper.format("hub"),
        **{f"b{n}/b.go": f'package b\n\nimport "example.org/x/hub"\n\nfunc F{n}() {{}}\n' for n in range(9)},
    }  # fmt: skip
    with ranked_tree(tmp_path, files) as tree:
        of_rare, of_hub = (
            tree.evidence("total of the ledger: helper", path)["imported by the best files"]
            for path in ("x/rare/hub.go", "x/hub/rare.go")
        )
        assert of_rare > of_hub


def test_units_of_one_file_with_one_name_are_one_hit(tmp_path: Path) -> None:
    overloads = "\n".join(f"def convert(value):\n    return value + {n}\n" for n in range(4))
    files = {"src/a.py": overloads, "src/b.py": "def convert(v): ...\n", **FILLER}
    with ranked_tree(tmp_path, files) as tree:
        assert sorted(tree.units("convert")) == [("src/a.py", "convert"), ("src/b.py", "convert")]


def test_an_issue_asks_for_units_that_define_something(tmp_path: Path) -> None:
    text = """gooseberry = gooseberry_jam = gooseberry_pie = 1

def pick(gooseberry):
    return 1
"""
    files = {"src/a.py": text, "inc/b.h": "int gooseberry_pick(int gooseberry);\n", **FILLER}
    issue = "gooseberry is wrong\n\nThe gooseberry is not ripe.\n"
    with ranked_tree(tmp_path, files) as tree:
        assert tree.units(issue, None)[0] == ("src/a.py", "pick")
        assert set(tree.units(issue, None)[1:3]) == {("src/a.py", ""), ("inc/b.h", "gooseberry_pick")}
        assert tree.units("gooseberry", None)[0] != ("src/a.py", "pick")


def test_tests_among_ordinary_code_come_last_in_an_issue_that_asks_for_none(tmp_path: Path) -> None:
    text = """fn pick(gooseberry: u8) {}

#[cfg(test)]
mod tests {
    fn gooseberry_is_ripe_gooseberry() { gooseberry(gooseberry) }
}
"""
    issue = "gooseberry is wrong\n\nThe gooseberry is not ripe.\n"
    with ranked_tree(tmp_path, {"src/a.rs": text, **FILLER}) as tree:
        assert [name for _, name in tree.units(issue)] == ["pick", "tests::gooseberry_is_ripe_gooseberry"]
        assert tree.units("Test of " + issue)[0][1] != "pick"


def test_in_an_issue_a_unit_of_a_file_with_a_penalty_comes_later_than_its_file_tells(tmp_path: Path) -> None:
    copy = "def pick(gooseberry):\n    return ripe(gooseberry)\n"
    wash = "\ndef wash(gooseberry):\n    return ripe(water)\n"
    line = "a gooseberry is picked ripe"
    with ranked_tree(tmp_path, {"dist/jam.py": copy, "src/jam.py": copy + wash, **FILLER}) as tree:
        assert [name for _, name in tree.units(line)] == ["pick", "pick", "wash"]
        issue = tree.units(f"{line}\n\nThe ripe gooseberry.\n")
        assert issue == [("src/jam.py", "pick"), ("src/jam.py", "wash"), ("dist/jam.py", "pick")]


def test_a_method_that_is_called_like_a_test_is_none(tmp_path: Path) -> None:
    text = """class Jam:
    def test_gooseberry(self):
        return self.gooseberry


class TestJam:
    def test_gooseberry(self):
        return self.gooseberry
"""
    issue = "gooseberry is wrong\n\nThe gooseberry is not ripe.\n"
    with ranked_tree(
        tmp_path, {"src/a.py": text, "src/b.py": "def pick(gooseberry): ...\n", **FILLER}
    ) as tree:
        names = [name for _, name in tree.units(issue)]
        assert set(names[:2]) == {"Jam.test_gooseberry", "pick"}
        assert names[2] == "TestJam.test_gooseberry"


def test_what_an_issue_mentions_is_never_taken_for_a_test(tmp_path: Path) -> None:
    text = "def test_ripeness(gooseberry):\n    return gooseberry\n\ndef test_size(gooseberry): ...\n"
    issue = "`test_ripeness` of a gooseberry is wrong\n\nThe gooseberry is not ripe.\n"
    with ranked_tree(
        tmp_path, {"src/a.py": text, "src/b.py": "def pick(gooseberry): ...\n", **FILLER}
    ) as tree:
        names = [name for _, name in tree.units(issue)]
        assert set(names[:2]) == {"test_ripeness", "pick"}
        assert names[2] == "test_size"


def test_equal_scores_go_by_address(tmp_path: Path) -> None:
    files = {f"src/{name}/x.py": "def convert(v): ...\n" for name in "cab"}
    with ranked_tree(tmp_path, {**files, **FILLER}) as tree:
        assert tree.files("convert") == ["src/a/x.py", "src/b/x.py", "src/c/x.py"]
        assert [path for path, _ in tree.units("convert")] == ["src/a/x.py", "src/b/x.py", "src/c/x.py"]


@pytest.mark.parametrize("query", ["nothinglikethis", "!?", "   ", "<!-- -->"])
def test_what_the_tree_has_nothing_of_has_no_hits(tmp_path: Path, query: str) -> None:
    with ranked_tree(tmp_path, dict(FILLER)) as tree:
        for level in (None, *Level):
            assert tree.rank(query, level).hits == []


def test_a_tree_without_files_has_no_hits(tmp_path: Path) -> None:
    with ranked_tree(tmp_path, {}) as tree:
        assert tree.files("anything at all") == []


def test_an_explanation_says_what_the_query_was_taken_for(tmp_path: Path) -> None:
    with ranked_tree(tmp_path, {"src/a.py": "def fold(x): ...\n", **FILLER}) as tree:
        told = tree.rank("fold", Level.CALLABLE).explanation
        assert told.shape == "symbol"
        assert [term for term, _ in told.terms] == ["fold"]
        assert told.counts["candidates"] == 1
        assert set(told.milliseconds) == {
            "understand", "terms", "names", "candidates", "counts", "evidence", "order"
        }  # fmt: skip
