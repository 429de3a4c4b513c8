"""Files in which answers would depend on what was asked before are read as a whole first."""

from __future__ import annotations

from pathlib import Path

from language_servers import Project, Target

LOOSE = """// @ts-check
/** @param {string[]} names */
function plugins(names) {
  const found = names.map((name) => {
    /** @type {Record<string, { main: string } | string>} */
    const table = JSON.parse(name);
    const parts = Object.entries(table)
      .flatMap(([_key, value]) => {
        if (typeof value === 'string') {
          return [];
        }
        return [value.main];
      })
      .filter((it) => {
        switch (name) {
          case 'client':
            return it === 'index';
        }
        return true;
      });
    return { name, parts };
  });
  return found.map((each) => each.parts.length);
}
"""
FILES = {"loose.js": LOOSE, "app.ts": "export const one = 1;\nexport const two = one;\n"}
INNER = ("flatMap", "main]", "filter")
"""Sites in the callback: after them alone, what the callback returns is not known any more."""
SHORTHAND = {("loose.js", 6, "parts"), ("loose.js", 20, "parts")}
MEMBER = {("loose.js", 20, "parts")}


def answers(project: Project, *first: str) -> list[set[Target]]:
    """Of the shorthand `parts`, the member `parts` and a constant in TypeScript, asked after `first`."""
    places = [project.place("loose.js", needle) for needle in first]
    places += [
        project.place("loose.js", "parts }"),
        project.place("app.ts", "one", -1),
        project.place("loose.js", "parts.length"),
    ]
    shorthand, constant, member = map(project.read, project.server.definitions(places)[len(first) :])
    return [shorthand, member, constant]


def test_answers_in_javascript_are_the_same_whatever_was_asked_first(tmp_path: Path) -> None:
    expected = [SHORTHAND, MEMBER, {("app.ts", 0, "one")}]
    with Project(tmp_path, "javascript", FILES) as project:
        assert answers(project, *INNER) == expected
        for needle in INNER:  # each on a program that nobody has asked anything yet
            project.write("loose.js", project.texts["loose.js"].decode() + f"// {needle}\n")
            project.tell(modified="loose.js")
            assert answers(project, needle) == expected


def test_a_file_is_read_again_after_each_change(tmp_path: Path) -> None:
    with Project(tmp_path, "javascript", FILES) as project:
        assert answers(project)[1] == MEMBER
        project.write("loose.js", LOOSE.replace("return { name, parts }", "\n    return { name, parts }"))
        project.tell(modified="loose.js")
        assert answers(project, "filter")[1] == {("loose.js", 21, "parts")}


def test_probes_leave_answers_in_javascript_as_they_are(tmp_path: Path) -> None:
    with Project(tmp_path, "javascript", FILES) as project:
        project.write("loose.js", LOOSE + "\n")
        project.tell(modified="loose.js")
        project.server.settle(60.0, [project.place("loose.js", "filter")])
        assert answers(project)[:2] == [SHORTHAND, MEMBER]


def test_each_file_that_is_asked_about_is_read_once(tmp_path: Path) -> None:
    with Project(tmp_path, "javascript", FILES) as project:
        before = project.server.requests.get("textDocument/semanticTokens/full", 0)
        answers(project, *INNER)
        assert project.server.requests["textDocument/semanticTokens/full"] - before == len(FILES)
