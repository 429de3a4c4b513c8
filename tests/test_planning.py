"""What form a query has, and which plan answers it: tables."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from nibd.query.forms import Form, form_of
from nibd.query.planning import LARGEST, USUAL, Capabilities, Plan, Widths, Wishes, planned
from nibd.query.ranking.understanding import understand

TRACEBACK = """Traceback (most recent call last):
  File "src/app.py", line 12, in run
    self.load(path)
  File "src/load.py", line 3, in load
    raise KeyError(path)
KeyError: 'settings'
"""
ISSUE = f"""Loading fails when the settings are gone

I removed the file with the settings and started the program again, and it ended with a trace, where I would
have expected that it takes what it always takes when nothing is said.

```
{TRACEBACK}```
"""
FORMS = {
    "Flask.run": Form.IDENTIFIER,
    "cache": Form.IDENTIFIER,
    "std::vector": Form.IDENTIFIER,
    "Foo#bar()": Form.IDENTIFIER,
    "url_for get_root_path": Form.IDENTIFIER,
    "src/flask/app.py": Form.PATH,
    "app.py": Form.PATH,
    "src/flask": Form.PATH,
    "src/app.py:12": Form.PATH,
    "lib/index.ts:4:17": Form.PATH,
    TRACEBACK: Form.TRACE,
    "KeyError: 'settings'": Form.TRACE,
    "error[E0382]: use of moved value": Form.TRACE,
    "panic: runtime error: index out of range": Form.TRACE,
    "src/main.c:3:7: error: expected ';'": Form.TRACE,
    "main.c:3 expected ';'": Form.TRACE,
    "Makefile:12: *** missing separator": Form.TRACE,
    "C:\\src\\main.c:3: error": Form.TRACE,
    "conf.py:80": Form.PATH,
    "example.com:8080": Form.MIXED,
    "localhost:8000 refuses what comes": Form.PROSE,
    "10.0.0.1:80 refuses what comes": Form.PROSE,
    "12:30 is taken for a line": Form.PROSE,
    "2024-01-02T12:30:59 is taken for a line": Form.PROSE,
    "how are routes matched": Form.PROSE,
    "error printing and exit codes": Form.PROSE,
    "cache size": Form.PROSE,
    "where is `url_for` used": Form.MIXED,
    "why does parse_config ignore comments": Form.MIXED,
    ISSUE: Form.MIXED,
}


@pytest.mark.parametrize(("query", "form"), FORMS.items(), ids=lambda each: repr(each)[:40])
def test_the_form_of_a_query_follows_from_its_text(query: str, form: Form) -> None:
    assert form_of(query, understand(query)) is form


ALL = Capabilities(None)
NO_DENSE = Capabilities("its model is being loaded")
NOTHING = Wishes(None, {})


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("there_is", [ALL, NO_DENSE])
@pytest.mark.parametrize("time_ms", [None, 10.0, 100.0])
def test_only_prose_with_time_and_vectors_is_answered_by_meaning_too(
    form: Form, there_is: Capabilities, time_ms: float | None
) -> None:
    chosen = planned(form, Wishes(None, {}, time_ms), there_is)

    by_meaning = form is Form.PROSE and there_is is ALL and time_ms != 10.0
    assert chosen.plan is (Plan.HYBRID if by_meaning else Plan.LEXICAL)
    assert chosen.widths == USUAL[form]


@pytest.mark.parametrize(
    ("form", "there_is", "time_ms", "why"),
    [
        (Form.PATH, ALL, None, "a query of the form path is found by its terms"),
        (Form.PROSE, ALL, None, "prose is found by its meaning too"),
        (Form.PROSE, NO_DENSE, None, "prose, but the dense view can't be used: its model is being loaded"),
        (Form.PROSE, ALL, 5.0, "prose, but a vector takes longer than 5 ms"),
    ],
)
def test_why_a_plan_was_picked_is_said(
    form: Form, there_is: Capabilities, time_ms: float | None, why: str
) -> None:
    assert planned(form, Wishes(None, {}, time_ms), there_is).why == (why,)


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("plan", list(Plan))
def test_who_names_a_plan_and_widths_gets_them_whatever_there_is(form: Form, plan: Plan) -> None:
    chosen = planned(form, Wishes(plan, {"hops": 2, "fused": 9}, 1.0), Capabilities("off"))

    assert chosen.plan is plan
    assert (chosen.widths.hops, chosen.widths.fused) == (2, 9)
    assert chosen.widths.neighbours == Widths().neighbours
    assert chosen.why == (f"{plan.value}: asked for", "fused 9: asked for", "hops 2: asked for")


def test_usual_widths_are_within_their_bounds() -> None:
    for widths in USUAL.values():
        assert all(value <= asdict(LARGEST)[name] for name, value in asdict(widths).items())
