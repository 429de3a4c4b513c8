"""Context packets and compaction, asked of a daemon, and of `nibd context`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli_run import Home
from daemon_world import NO_DENSE, Daemon, configure, running, running_at_home
from gitrepo import Repo
from nibd.daemon.settings import ContextSettings, DenseSettings, Settings
from nibd.daemon.token_counting import MOST_CHARACTERS, TokenCounting
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.query.context.tokens import Estimate, TokenizerError
from test_context_packets import made_tokenizer

ALPHA = "def alpha(value):\n    return value + 1\n"
CLASS = '''class Alpha:
    def alpha(self):
        return "alpha"

    def beta(self):
        return 2
'''


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon, in a home of its own, whose settings name a tokenizer."""
    home = tmp_path_factory.mktemp("home")
    tokenizer = made_tokenizer(home / "tokenizer.json")
    with running_at_home(home, f'{NO_DENSE}[context]\ntokenizer = "{tokenizer}"\n') as started:
        yield started


@pytest.fixture
def made(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "made")
    repo.write("a.py", ALPHA)
    repo.write("copy.py", ALPHA)
    repo.write("c.py", CLASS)
    repo.write(b"caf\xe9.py", b"# \xe9\ndef alpha_latin():\n    return 'caf\xe9'\n")
    repo.commit("one")
    return repo


def refused(daemon: Daemon, method: str, **params: Any) -> RpcError:
    with pytest.raises(RpcError) as refusal:
        daemon.call(method, **params)
    return refusal.value


def test_a_packet_has_whole_units_from_blobs_with_their_addresses(counted: Daemon, made: Repo) -> None:
    counted.add(made.path)
    counted.published(made.path)
    made.write("a.py", "def alpha():\n    return 'edited since'\n")
    where: dict[str, Any] = {"path": str(made.path), "query": "alpha", "k": 20}

    packet = counted.call("context", budget=500, **where)
    found = counted.call("search", **where)

    assert packet["snapshot"] == found["snapshot"]
    assert packet["tokens"]["tokenizer"].endswith("/tokenizer.json")
    assert packet["tokens"]["exact"] is True
    assert 0 < packet["tokens"]["count"] <= packet["tokens"]["budget"] == 500
    assert "edited since" not in packet["text"]
    also = [each for unit in packet["units"] for each in unit["also"]]
    delivered = [*packet["units"], *also, *packet["left_out"]]
    assert sorted(map(place, delivered)) == sorted(map(place, found["hits"]))
    unit = next(each for each in packet["units"] if each["path"] in ("a.py", "copy.py"))
    assert unit["blob"] == made.blob("copy.py")
    assert {each["path"] for each in (unit, *unit["also"])} == {"a.py", "copy.py"}
    assert packet["text"].count(ALPHA.rstrip()) == 1
    latin = next(each for each in packet["units"] if "path_base64" in each)
    assert latin["path"] == "caf\\xe9.py"
    assert "return 'café'" in packet["text"]
    assert counted.call("context", budget=500, **where) == packet


def place(hit: Any) -> tuple[str, int, int, str]:
    return hit["path"], hit["start_line"], hit["end_line"], hit["kind"]


def test_what_does_not_fit_is_said_and_parameters_are_those_of_search(counted: Daemon, made: Repo) -> None:
    counted.add(made.path)
    counted.published(made.path)
    where = {"path": str(made.path), "query": "alpha"}

    small = counted.call("context", budget=20, **where)
    callables = counted.call("context", level="L2", **where)

    assert small["tokens"]["count"] <= 20
    assert "no_room" in {each["reason"] for each in small["left_out"]}
    assert {unit["kind"] for unit in callables["units"]} == {"function", "method"}
    assert refused(counted, "context", colour="red", **where).code == ErrorCode.INVALID_PARAMS
    assert refused(counted, "context", budget=0, **where).code == ErrorCode.INVALID_PARAMS
    assert "unknown parameters: colour" in refused(counted, "context", colour="red", **where).message


def test_a_history_is_made_short_over_the_socket(counted: Daemon) -> None:
    history = [
        {"role": "user", "content": "alpha alpha"},
        {"role": "assistant", "content": "beta"},
        {"role": "tool", "tool": "view", "path": "a.py", "ok": True, "content": "alpha beta"},
    ]

    as_it_is = counted.call("context.compact", messages=history)
    short = counted.call("context.compact", messages=history, read_tools=["view"])

    assert (as_it_is["messages"], as_it_is["rewritten"]) == (history, False)
    assert as_it_is["tokens"]["count"] == 5
    assert short["rewritten"]
    assert short["messages"][0] == history[0]
    again = counted.call("context.compact", messages=[*short["messages"], history[1]], read_tools=["view"])
    assert again["messages"] == [*short["messages"], history[1]]
    for wrong in ([], "text", [3], [{"role": "robot"}]):
        assert refused(counted, "context.compact", messages=wrong).code == ErrorCode.INVALID_PARAMS


def test_a_tokenizer_that_cannot_be_used_is_an_error_and_not_an_estimate(repo: Repo, tmp_path: Path) -> None:
    configure(f'{NO_DENSE}[context]\ntokenizer = "{tmp_path / "none.json"}"\n')
    with running() as daemon:
        daemon.add(repo.path)
        daemon.published(repo.path)
        error = refused(daemon, "context", path=str(repo.path), query="alpha")

        assert error.code == ErrorCode.UNSUPPORTED
        assert "none.json can't be read" in error.message


def test_a_model_without_a_tokenizer_is_an_estimate_that_says_so(tmp_path: Path) -> None:
    counter = TokenCounting(Settings(dense=DenseSettings(model=str(tmp_path)))).counter()

    assert isinstance(counter, Estimate)
    assert counter.reason == f"the model {tmp_path} has no tokenizer.json"


def test_a_model_that_is_not_there_is_an_estimate_that_says_so(tmp_path: Path) -> None:
    counting = TokenCounting(Settings(dense=DenseSettings(model=str(tmp_path / "none"))))

    counter = counting.counter()
    assert isinstance(counter, Estimate)
    assert "there is no folder" in counter.reason
    assert counting.count(["abc", "d"]) == 2
    assert counting.count(["a" * MOST_CHARACTERS, "b"]) is None


def test_a_tokenizer_of_the_settings_is_named_by_an_absolute_path() -> None:
    counting = TokenCounting(Settings(context=ContextSettings(tokenizer="mine")))

    with pytest.raises(TokenizerError, match="found mine; allowed: an absolute path"):
        counting.counter()
    assert counting.count(["abc"]) is None


@pytest.mark.dense
def test_by_default_the_embedding_model_counts() -> None:
    counter = TokenCounting(Settings()).counter()

    assert (counter.name, counter.exact) == ("all-MiniLM-L6-v2", True)
    assert counter.count("Get the value") == 3
    assert counter.count("value " * 1000) == 1000


def test_the_command_prints_the_packet_alone_and_says_the_rest_on_stderr(
    made: Repo, tmp_path: Path
) -> None:
    file = made_tokenizer(tmp_path / "tokenizer.json")
    settings = f'{NO_DENSE}[context]\ntokenizer = "{file}"\n'
    home = Home(tmp_path / "home", settings)
    try:
        home.nibd("init", made.path)
        done = home.nibd("context", "alpha", "--budget", "60", "-k", "20", "--repo", made.path)
        document = home.json("context", "alpha", "--budget", "60", "-k", "20", "--repo", made.path)
        nothing = home.nibd("context", "zzzz", "--repo", made.path, status=1)
    finally:
        home.close()

    assert done.out == document["text"]
    assert done.out.startswith(f"Source units of commit {made.head()[:10]}:\n")
    assert f"; {len(document['units'])} units; {document['tokens']['count']} of 60 tokens" in done.err
    left = document["left_out"][0]
    assert f"left out: {left['path']}:{left['start_line']}-{left['end_line']} (" in done.err
    assert nothing.out == ""
    assert "; 0 units; 0 of 8000 tokens" in nothing.err
