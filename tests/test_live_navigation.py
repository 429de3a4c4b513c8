"""Live and automatic answers: what a real language server says beside its work, through the daemon."""

from __future__ import annotations

import asyncio
import fcntl
import signal
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gitrepo import Repo
from language_servers import SAMPLES
from live_world import CERTAIN, SETTINGS, WAIT_S, LiveHome, hits, lines
from navigator_jobs import job
from nibd.daemon.relations import live_wire
from nibd.daemon.relations.live_wire import Ask
from nibd.ipc.children import ChildProcess
from nibd.ipc.client import Client
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.repair.relations.live import Scope
from nibd.stores.snapshot import Snapshot
from nibd.stores.types import RepoPath
from relations_world import World
from waiting import wait_until

SHAPES = '''class Shape:
    """Something with an area."""

    def area(self, scale=1):
        return helper(self, scale)


class Square(Shape):
    def area(self, scale=2):
        return helper(self, scale) * len("é🙂"); helper(self, 3)


def helper(shape, scale):
    print(shape)
    return scale
'''
USES = """import shapes
from shapes import Square, helper


def use(shape):
    x = "é🙂"; helper(shape, 1)
    return shapes.helper(Square(), 2)
"""
FILES = {"shapes.py": SHAPES, "pkg/uses.py": USES, "notes.md": "# Notes\n"}
OPERATIONS = ("definition", "references", "callers", "callees", "implementations")
NO_PACKAGES = "no Python environment: imports of installed packages lead nowhere"
MANY = 30
"""Modules of a repository whose first build takes some seconds."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHome]:
    """One daemon for the tests that do it no harm."""
    with LiveHome(tmp_path_factory.mktemp("live")) as home:
        yield home


@pytest.fixture(scope="module")
def repo(shared: LiveHome) -> Repo:
    made = shared.repository(FILES)
    shared.related(made)
    return made


@pytest.fixture
def own(tmp_path: Path) -> Iterator[LiveHome]:
    with LiveHome(tmp_path) as home:
        yield home


def sites(text: str) -> list[tuple[int, int]]:
    """Where each word begins; line and column from 1."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        before = " "
        for col, character in enumerate(line, 1):
            if character.isidentifier() and not (before.isidentifier() or before.isdigit()):
                found.append((number, col))
            before = character
    return found


def refused(ask: Callable[[], Any]) -> RpcError:
    with pytest.raises(RpcError) as error:
        ask()
    return error.value


@pytest.mark.parametrize("operation", ["definition", "callers", "callees"])
def test_live_and_static_answers_are_alike_at_each_place(
    shared: LiveHome, repo: Repo, operation: str
) -> None:
    differing = {}
    for line, col in sites(USES):
        place = {"line": line, "col": col}
        static = shared.ask(repo, operation, "pkg/uses.py", provider="static", **place)
        live = shared.ask(repo, operation, "pkg/uses.py", provider="live", **place)
        if static["asked"]["kind"] and (hits(static), static["asked"]) != (hits(live), live["asked"]):
            differing[line, col] = (hits(static), hits(live), static["asked"], live["asked"])

    assert differing == {}


@pytest.mark.parametrize("operation", ["definition", "references", "callees"])
def test_a_line_means_the_same_to_live_and_static_answers(
    shared: LiveHome, repo: Repo, operation: str
) -> None:
    def meant(line: int, provider: str) -> Any:
        answer = shared.ask(repo, operation, "shapes.py", line=line, provider=provider)
        at = answer["asked"] and (answer["asked"]["line"], answer["asked"]["col"])
        return hits(answer), at, answer["candidates"], answer["candidates"] and answer["reason"]

    lines_of = range(1, SHAPES.count("\n") + 1)
    static = {line: meant(line, "static") for line in lines_of}
    assert {line: meant(line, "live") for line in lines_of} == static
    assert any(found[0] for found in static.values())
    assert any(found[2] for found in static.values()) == (operation != "callees")
    past = refused(lambda: shared.ask(repo, operation, "shapes.py", line=99, provider="live"))
    assert past.message == "line 99 is not there: shapes.py has 16 lines in the snapshot"


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", ["helper", "Shape", "Shape.area", "use"])
def test_live_and_static_answers_are_alike_for_a_name(
    shared: LiveHome, repo: Repo, operation: str, name: str
) -> None:
    static = shared.ask(repo, operation, name=name, provider="static", include_declaration=True)
    live = shared.ask(repo, operation, name=name, provider="live", include_declaration=True)

    assert hits(live) == hits(static)
    assert (live["total"], bool(live["reason"])) == (static["total"], bool(static["reason"]))


def test_a_live_answer_says_what_it_rests_on(shared: LiveHome, repo: Repo) -> None:
    answer = shared.ask(repo, "definition", "pkg/uses.py", line=6, col=17, provider="live")

    (step,) = answer["trace"]
    assert lines(answer) == [("shapes.py", 13)]
    assert answer["provider"] == "live"
    server = answer["server"]
    assert (server["family"], server["name"], server["limits"]) == ("python", "ty", [NO_PACKAGES])
    number = server["version"].split()[1]
    text = shared.nibd("def", "pkg/uses.py:6:17", "--provider", "live", cwd=repo.path).out
    assert text.splitlines()[0] == f"commit {repo.head()[:10]}; structural exact; live from ty {number}"
    static = shared.ask(repo, "definition", "pkg/uses.py", line=6, col=17, provider="static")
    assert static["server"] is None
    assert (step["provider"], step["outcome"], step["commit"]) == ("live", "answered", repo.head())
    assert step["milliseconds"] > 0
    assert answer["snapshot"]["commit"] == answer["head"]["commit"] == repo.head()
    assert answer["views"]["structural"]["relations"]["python"]["used"] is False
    assert answer["asked"] == {
        "path": "pkg/uses.py", "line": 6, "col": 15, "name": "helper", "kind": "call", "edited": False,
    }  # fmt: skip


def test_pages_declarations_and_candidates_are_as_in_static_answers(shared: LiveHome, repo: Repo) -> None:
    def pages(provider: str) -> list[Any]:
        more = {"name": "helper", "include_declaration": True, "k": 2, "provider": provider}
        return [lines(shared.ask(repo, "references", offset=at, **more)) for at in range(0, 6, 2)]

    assert pages("live") == pages("static")
    ambiguous = shared.ask(repo, "references", name="area", provider="live")
    assert ([hit["name"] for hit in ambiguous["candidates"]], ambiguous["hits"]) == (
        ["Shape.area", "Square.area"], [],
    )  # fmt: skip
    assert shared.ask(repo, "references", name="nowhere", provider="live")["reason"] == (
        "nothing is called nowhere"
    )


def test_a_live_answer_says_what_its_server_does_not_list(shared: LiveHome, repo: Repo) -> None:
    limit = "ty lists no uses by another name (import … as), and no calls of a class for its __init__"
    assert shared.ask(repo, "callers", name="helper", provider="live")["server"]["limits"] == [
        NO_PACKAGES, limit,
    ]  # fmt: skip
    assert shared.ask(repo, "callees", name="use", provider="live")["server"]["limits"] == [NO_PACKAGES]
    said = shared.nibd("refs", "helper", "--provider", "live", cwd=repo.path).out
    assert f"! LIMITED: {limit}" in said.splitlines()


@pytest.mark.parametrize("operation", ["references", "callers"])
def test_auto_hides_no_use_that_is_stored_and_a_server_does_not_list(own: LiveHome, operation: str) -> None:
    """ty lists no use by another name; while relations are only repaired, it is asked."""
    alias = "from shapes import helper as other\n\n\ndef use():\n    other(1, 2)\n"
    repo = own.repository({"shapes.py": SHAPES, "alias.py": alias})
    own.related(repo)
    expected = hits(own.ask(repo, operation, name="helper"))

    def was_repaired() -> bool:
        """Asks from a commit until its relations are verified; whether a server was passed over meanwhile."""
        repo.write("other.py", f"x = {repo.head()!r}\n")
        head = repo.commit()
        own_tree: list[Any] = []

        def is_certain() -> bool:
            answer = own.ask(repo, operation, name="helper")
            relations = answer["views"]["structural"]["relations"]["python"]
            if answer["snapshot"]["commit"] != head or not relations["commit"]:
                return False
            if relations["commit"] == head:
                own_tree.append(answer)
            return relations["commit"] == head and relations["assurance"] in CERTAIN

        wait_until(is_certain, WAIT_S, "relations that are verified")
        outcomes = [step["outcome"] for answer in own_tree for step in answer["trace"]]
        assert [hits(answer) for answer in own_tree] == [expected] * len(own_tree)
        return any("of what is stored" in outcome for outcome in outcomes)

    wait_until(was_repaired, WAIT_S, "a server to be passed over")


def test_what_no_server_can_be_asked_is_refused_with_the_reason(shared: LiveHome, repo: Repo) -> None:
    def live(operation: str, path: str = "", **params: Any) -> RpcError:
        return refused(lambda: shared.ask(repo, operation, path, provider="live", **params))

    assert live("imports", "pkg/uses.py").code == ErrorCode.UNSUPPORTED
    assert live("importers", "shapes.py").code == ErrorCode.UNSUPPORTED
    assert live("definition", "notes.md", line=1, col=3).code == ErrorCode.VIEW_ABSENT
    assert live("definition", "gone.py", line=1, col=1).code == ErrorCode.NOT_FOUND
    assert live("definition", "shapes.py", line=99, col=1).code == ErrorCode.NOT_FOUND


def test_auto_takes_what_is_stored_where_every_site_was_asked(shared: LiveHome, repo: Repo) -> None:
    for operation in OPERATIONS:
        answer = shared.ask(repo, operation, name="helper")
        assert answer["provider"] == "static"
        assert [step["provider"] for step in answer["trace"]] == ["static"]
    assert shared.ask(repo, "imports", "pkg/uses.py")["provider"] == "static"


def test_an_edited_file_is_answered_as_it_is_published(shared: LiveHome) -> None:
    repo = shared.repository({"shapes.py": SHAPES, "uses.py": USES}, "edited")
    shared.related(repo)
    repo.write("uses.py", "\n\n" + USES)

    answer = shared.ask(repo, "definition", "uses.py", line=6, col=17, provider="live")
    assert (answer["asked"]["edited"], lines(answer)) == (True, [("shapes.py", 13)])
    assert answer["hits"][0]["edited"] is False


def many_modules() -> dict[str, str]:
    body = "".join(
        f"def f{n}(value):\n    return helper(value, {n}) + len(str(value)) + max(value, {n})\n\n\n"
        for n in range(60)
    )
    return {f"m{n}.py": f"from shapes import helper\n\n\n{body}" for n in range(MANY)}


def test_a_server_answers_while_relations_are_made(own: LiveHome) -> None:
    repo = own.repository({**FILES, **many_modules()})

    answers: list[Any] = []

    def answered() -> bool:
        try:
            answers.append(own.ask(repo, "definition", "pkg/uses.py", line=6, col=17))
        except RpcError as error:
            if error.code != ErrorCode.VIEW_NOT_READY:  # its server is being started
                raise
        return bool(answers)

    wait_until(answered, WAIT_S, "an answer")
    while_at_work = own.status(repo)["work"]["running"]
    assert (answers[0]["provider"], lines(answers[0])) == ("live", [("shapes.py", 13)])
    assert [step["provider"] for step in answers[0]["trace"]] == ["static", "live"]
    assert [job["kind"] for job in while_at_work] == ["relations"]
    own.related(repo)
    assert own.ask(repo, "definition", "pkg/uses.py", line=6, col=17)["provider"] == "static"


def test_two_agents_get_their_own_answers_at_once(shared: LiveHome, repo: Repo) -> None:
    asked = {"helper": ("pkg/uses.py", 6, 17), "Square": ("pkg/uses.py", 7, 26)}
    expected = {"helper": [("shapes.py", 13)], "Square": [("shapes.py", 8)]}
    wrong: list[Any] = []

    def agent(name: str) -> None:
        path, line, col = asked[name]
        params = {"path": str(repo.path / path), "operation": "definition", "line": line, "col": col}
        with Client(shared.socket, WAIT_S) as client:
            for _ in range(20):
                answer: Any = client.call("navigate", {**params, "provider": "live"})
                if lines(answer) != expected[name] or answer["provider"] != "live":
                    wrong.append((name, answer))

    agents = [threading.Thread(target=agent, args=(name,)) for name in asked]
    for each in agents:
        each.start()
    for each in agents:
        each.join()
    assert wrong == []


def test_each_answer_is_of_the_tree_that_it_names(own: LiveHome) -> None:
    """Questions go on while the tree moves: they are answered at one commit or the other, or refused."""
    repo = own.repository(FILES)
    own.related(repo)
    lines_of = {repo.head(): 13}
    seen: set[str] = set()
    for moved in range(1, 4):
        repo.write("shapes.py", "\n" * moved + SHAPES)
        head = repo.commit()
        lines_of[head] = 13 + moved

        def reached(head: str = head) -> bool:
            try:
                answer = own.ask(repo, "definition", "pkg/uses.py", line=6, col=17, provider="live")
            except RpcError as error:
                if error.code not in (ErrorCode.MOVING, ErrorCode.TIMEOUT):
                    raise
                return False
            commit = answer["snapshot"]["commit"]
            seen.add(commit)
            assert lines(answer) == [("shapes.py", lines_of[commit])]
            return bool(commit == head)

        wait_until(reached, WAIT_S, "a live answer at the new commit")
    assert seen >= {repo.head()}


def test_a_server_that_dies_is_said_and_another_answers(own: LiveHome) -> None:
    repo = own.repository(FILES)
    own.related(repo)
    (server,) = own.servers()
    server.suspend()
    said: list[RpcError] = []

    def ask() -> None:
        said.append(refused(lambda: own.ask(repo, "references", name="helper", provider="live")))

    asking = threading.Thread(target=ask)
    asking.start()
    wait_until(lambda: requests_waiting(server), WAIT_S, "the question to reach the server")
    server.send_signal(signal.SIGKILL)
    asking.join()
    assert "the server is gone" in said[0].message

    answer = own.ask(repo, "references", name="helper", provider="live")
    assert answer["total"] == 6
    assert [each.pid for each in own.servers()] != [server.pid]


def requests_waiting(server: Any) -> bool:
    """Whether its input holds something that it has not read."""
    with Path(f"/proc/{server.pid}/fd/0").open("rb") as pipe:
        waiting = fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4)
    return bool(struct.unpack("i", waiting)[0])


def test_what_is_stored_answers_with_its_lag_where_no_server_is_left(tmp_path: Path) -> None:
    sample = SAMPLES["go"]
    with LiveHome(tmp_path, "go") as home:
        repo = home.repository(sample.files)
        home.related(repo)
        live = home.ask(repo, "references", name="greet", provider="live")
        static = home.ask(repo, "references", name="greet", provider="static")
        assert (hits(live), len(live["hits"])) == (hits(static), 1)

        first = repo.head()
        home.nibd("stop")
        home.config.write_text(SETTINGS)  # gopls is nowhere but in the folder that was named
        repo.write(sample.lib, sample.moved_lib)
        second = repo.commit()
        home.nibd("init", repo.path)
        wait_until(lambda: home.relations(repo).get("state") == "absent", WAIT_S, "gopls to be missed")

        answer = home.ask(repo, "references", name="greet")
        assert (answer["provider"], answer["snapshot"]["commit"]) == ("static", first)
        assert answer["views"]["structural"]["relations"]["go"]["lag"]["commits"] == 1
        assert [(step["provider"], step["commit"]) for step in answer["trace"]] == [
            ("static", second), ("static", first),
        ]  # fmt: skip
        error = refused(lambda: home.ask(repo, "references", name="greet", provider="live"))
        assert (error.code, "gopls" in error.message) == (ErrorCode.VIEW_ABSENT, True)


def test_a_question_does_not_move_servers_that_are_at_work_on_another_tree(tmp_path: Path) -> None:
    with World(tmp_path, "python", {**FILES, **many_modules()}) as world:
        large = world.publish()
        world.commit({"shapes.py": "\n\n" + SHAPES})
        small = world.publish()
        world.shut()

        async def asked() -> tuple[RpcError, Any, Any]:
            child = await ChildProcess.spawn([sys.executable, "-m", "nibd.daemon.navigator"])
            try:
                begun = asyncio.Event()
                relate = child.call("relate", job(world, large), lambda *_: begun.set())
                made = asyncio.ensure_future(relate)
                await begun.wait()
                with pytest.raises(RpcError) as error:
                    await child.call("ask", question(world, small))
                was_at_work = not made.done()
                await made
                assert was_at_work, "relations were made before the question was answered"
                return error.value, await child.call("ask", question(world, small)), made.result()
            finally:
                await child.stop()

        try:
            error, answer, made = asyncio.run(asked())
        finally:
            world.open()  # to be closed with the world
        assert (error.code, large.tree[:10] in error.message) == (ErrorCode.MOVING, True)
        (found,) = live_wire.defined(answer["found"])
        assert (answer["tree"], found.targets[0].path) == (small.tree, b"shapes.py")
        assert made["families"]["python"]["state"] == "ready"


def question(world: World, snapshot: Snapshot) -> dict[str, Any]:
    scope = Scope("python", snapshot.tree, snapshot.listing, WAIT_S)
    spot = (RepoPath(b"pkg/uses.py"), USES.encode().index(b"helper(shape"))
    return {"job": job(world, snapshot), "ask": Ask(live_wire.DEFINITION, scope, [spot]).as_params()}
