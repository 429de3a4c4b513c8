"""The optional reranker: a small cross-encoder, made here, in the embedder process; and what hits become."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import structlog

from daemon_world import Daemon, configure, running
from gitrepo import Repo
from nibd.daemon.doctor import Verdict, check_reranker
from nibd.daemon.reranking import Reranking
from nibd.daemon.settings import DenseSettings, Settings
from nibd.ipc.children import ChildDied, ChildProcess
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.query.hits import Hit
from nibd.query.reranking import DEPTH, cut, reranked
from nibd.query.search import Found, Nearness, Trace
from nibd.repair.embedding_profile import EmbeddingError
from nibd.repair.reranking import Reranker, find, stamp
from nibd.stores.types import BlobId, RepoPath
from tiny_model import WORDS, make_tiny_reranker
from waiting import wait_until

pytestmark = pytest.mark.dense

TEXTS = [" ".join(WORDS[at : at + 3 + at % 7]) for at in range(12)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_reranker(tmp_path_factory.mktemp("reranker") / "model")


@pytest.fixture(scope="module")
def loaded(model: Path) -> Reranker:
    return Reranker.load(model)


def test_a_score_depends_on_no_other_text_and_no_order(loaded: Reranker) -> None:
    scores = loaded.scores("close the session", TEXTS)
    assert len(set(scores)) > len(TEXTS) // 2
    assert loaded.scores("close the session", TEXTS[::-1]) == scores[::-1]
    assert [loaded.scores("close the session", [text])[0] for text in TEXTS] == scores
    assert loaded.scores("open a file", TEXTS) != scores


def test_a_text_longer_than_the_model_reads_is_cut(loaded: Reranker) -> None:
    assert len(loaded.scores("close", ["session " * 5000])) == 1


def test_what_is_no_reranker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="gives 3 scores, one is needed"):
        Reranker.load(make_tiny_reranker(tmp_path / "three", labels=3))
    with pytest.raises(EmbeddingError, match="there is no folder"):
        Reranker.load(tmp_path / "nowhere")


def test_the_embedder_process_scores_what_this_one_does(model: Path, loaded: Reranker) -> None:
    async def asked() -> Any:
        child = await ChildProcess.spawn([sys.executable, "-m", "nibd.daemon.embedder"])
        try:
            await child.call("load_reranker", {"model": str(model)})
            return await child.call("rerank", {"query": "close", "texts": TEXTS})
        finally:
            await child.stop()

    assert asyncio.run(asked()) == {"model": str(model), "scores": loaded.scores("close", TEXTS)}


def hit(line: int) -> Hit:
    return Hit(RepoPath(b"a.py"), line, line, "function", f"f{line}", None, "python", BlobId("0" * 40), 1.0)


def test_the_first_hits_are_ordered_anew_and_pages_are_of_that_order() -> None:
    hits = [hit(line) for line in range(1, 8)]
    trace = Trace(nearness={each.address_key: Nearness(each.start_line, 1, 0.0) for each in hits})
    found = Found(hits, trace)
    again = reranked(found, [0.5, 2.0, 2.0, -1.0])
    assert [each.start_line for each in again.hits] == [2, 3, 1, 4, 5, 6, 7]
    assert [each and each.cosine for each in again.nearness] == [2, 3, 1, 4, 5, 6, 7]
    assert [each.start_line for each in cut(again, 2, 3).hits] == [1, 4, 5]


@pytest.fixture
def daemon(model: Path) -> Iterator[Daemon]:
    configure(f'[dense]\nreranker = "{model}"\n[relations]\nenabled = false\n')
    with running() as started:
        yield started


def test_a_search_is_reranked_once_the_model_is_loaded_and_says_so(
    daemon: Daemon, tmp_path: Path, model: Path, loaded: Reranker
) -> None:
    repo = Repo(tmp_path / "repo")
    for at, text in enumerate(TEXTS):
        repo.write(f"f{at}.py", f"def close_{at}():\n    '''{text}'''\n")
    repo.commit("one")
    daemon.add(repo.path)
    daemon.published(repo.path)

    def ask(**params: Any) -> Any:
        return daemon.call("search", path=str(repo.path), query="close", level="L2", **params)

    first = ask()["reranker"]
    assert (first["model"], first["used"], first["reason"]) == (str(model), False, "warming")
    wait_until(lambda: ask()["reranker"]["used"], 120.0, "the reranker to be loaded")

    answer = ask(explain=True)
    plain = ask(rerank=False, k=DEPTH)
    assert plain["reranker"] is None
    assert answer["reranker"]["hits"] == len(TEXTS)
    assert answer["explain"]["milliseconds"]["reranker"] > 0
    pairs = [f"{each['path']} {each['name']}\n{_source(repo, each)}" for each in plain["hits"]]
    scores = dict(zip((each["name"] for each in plain["hits"]), loaded.scores("close", pairs), strict=True))
    whole = ask(k=DEPTH)["hits"]
    order = [scores[each["name"]] for each in whole]
    assert order == sorted(order, reverse=True)
    assert [each["name"] for each in whole] != [each["name"] for each in plain["hits"]]
    assert ask(k=3)["hits"] + ask(k=DEPTH, offset=3)["hits"] == whole


def test_one_that_cannot_be_loaded_is_tried_once_until_its_files_are_others(
    tmp_path: Path, model: Path
) -> None:
    folder = tmp_path / "reranker"
    shutil.copytree(model, folder)
    sound = (folder / "config.json").read_text()
    of_three = json.loads(sound) | {"id2label": {"0": "a", "1": "b", "2": "c"}}
    (folder / "config.json").write_text(json.dumps(of_three))
    configure(f'[dense]\nreranker = "{folder}"\n[relations]\nenabled = false\n')
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", "def close():\n    pass\n")
    repo.commit("one")
    with running() as daemon:
        daemon.add(repo.path)
        daemon.published(repo.path)

        def ask() -> Any:
            return daemon.call("search", path=str(repo.path), query="close")["reranker"]

        wait_until(lambda: ask()["reason"] != "warming", 120.0, "the reranker to be refused")
        for _ in range(3):
            told = ask()
            assert (told["used"], told["hits"]) == (False, 0)
            assert "gives 3 scores, one is needed; it is tried again after" in told["reason"]
        assert [each for each in daemon.call("doctor")["problems"] if each.startswith("reranker: ")] == [
            f"reranker: {told['reason']}"
        ]
        assert daemon.log.read_text().count("reranker_not_loaded") == 1

        (folder / "config.json").write_text(sound)
        wait_until(lambda: ask()["used"], 120.0, "the reranker to be loaded")
        assert daemon.call("doctor")["problems"] == []


class Dying:
    """In place of the embedder's supervisor: each process dies of what it is asked."""

    pid = None

    def __init__(self) -> None:
        self.asked = 0

    async def call(self, method: str, params: Any) -> Any:
        self.asked += 1
        raise ChildDied(-9, "")


def test_one_that_kills_its_process_is_tried_again_after_pauses_that_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr("nibd.daemon.reranking.time", SimpleNamespace(monotonic=lambda: now))
    child: Any = Dying()
    reranking = Reranking(DenseSettings(reranker=str(tmp_path)), child, structlog.get_logger())

    async def look() -> tuple[str | None, int]:
        reranking.missing()
        if reranking._loading:
            await reranking._loading
        return reranking.missing(), child.asked

    async def looks() -> None:
        nonlocal now
        for at, asked, pause in ((0, 1, 60), (59, 1, 60), (60, 2, 120), (179, 2, 120), (180, 3, 240)):
            now = float(at)
            reason, tries = await look()
            assert tries == asked
            assert f"it is tried again after {pause} s, or once the files" in str(reason)
        (tmp_path / "new").write_text("")
        assert reranking.failure is None
        assert (await look())[1] == 4

    asyncio.run(looks())


class Refusing(Dying):
    """In place of the embedder's supervisor: there is no reranker where it looks."""

    async def call(self, method: str, params: Any) -> Any:
        self.asked += 1
        raise RpcError(ErrorCode.INTERNAL, "there is none")


def test_a_folder_that_is_missing_is_tried_again_once_it_is_there(tmp_path: Path) -> None:
    folder, child = tmp_path / "soon", cast(Any, Refusing())

    async def look(reranker: str) -> Reranking:
        reranking = Reranking(DenseSettings(reranker=reranker), child, structlog.get_logger())
        assert reranking.missing() == "warming"
        assert reranking._loading
        await reranking._loading
        return reranking

    async def looks() -> None:
        by_name = await look("no-such/model")
        assert by_name.failure == "there is none; it is tried again after 60 s"
        missing = await look(str(folder))
        told = "there is none; it is tried again after 3600 s, or once it is there"
        assert (missing.missing(), missing.failure, child.asked) == (told, told, 2)
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        assert (missing.failure, missing.missing()) == (None, "warming")
        assert missing._loading
        await missing._loading
        assert child.asked == 3
        assert "the files of its folder are others" in str(missing.failure)

    asyncio.run(looks())


def test_a_folder_is_looked_at_without_loading_what_it_holds(tmp_path: Path, model: Path) -> None:
    assert find(model) == model.resolve()
    folder = tmp_path / "copy"
    shutil.copytree(model, folder)
    before = stamp(str(folder))
    assert before == stamp(str(folder))
    (folder / "model.safetensors").unlink()
    assert stamp(str(folder)) != before
    with pytest.raises(EmbeddingError, match="has no weights"):
        find(folder)
    (folder / "config.json").write_text("[")
    with pytest.raises(EmbeddingError, match=r"config\.json"):
        find(folder)
    assert stamp(str(tmp_path / "nowhere")) == ()


def test_doctor_looks_at_the_reranker_that_the_settings_name(tmp_path: Path, model: Path) -> None:
    def checks(name: object, enabled: bool = True) -> list[tuple[Verdict, str]]:
        dense = DenseSettings(reranker=str(name), enabled=enabled)
        return [(each.verdict, each.advice) for each in check_reranker(Settings(dense=dense))]

    assert checks("") == checks(model, enabled=False) == []
    assert checks(model) == [(Verdict.OK, "")]
    ((verdict, advice),) = checks(tmp_path / "nowhere")
    assert (verdict, "there is no folder" in advice) == (Verdict.WARNING, True)


@pytest.mark.parametrize("name", ["", "nowhere"], ids=["there", "missing"])
def test_what_the_daemon_says_of_the_reranker_is_said_once(tmp_path: Path, name: str) -> None:
    settings = Settings(dense=DenseSettings(reranker=str(tmp_path / name)))
    (check,) = check_reranker(settings, ["reranker: it can't be loaded"])
    assert (check.verdict, check.advice) == (Verdict.WARNING, "it can't be loaded")


def _source(repo: Repo, each: Any) -> str:
    lines = (repo.path / each["path"]).read_text().splitlines(keepends=True)
    return "".join(lines[each["start_line"] - 1 : each["end_line"]])
