"""The embedder as the daemon runs it: a child, killed, stopped, asked while it works."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nibd.ipc.children import ChildDied, ChildProcess
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.repair.embedding import Embedder
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.types import ProfileId, TextId
from tiny_model import make_tiny_model, texts
from waiting import wait_until

pytestmark = pytest.mark.dense

COUNT = 3000


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), dense_layer=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddingStore]:
    opened = EmbeddingStore.open(tmp_path / "embeddings.db")
    yield opened
    opened.close()


@asynccontextmanager
async def child(*arguments: str) -> AsyncIterator[ChildProcess]:
    started = await ChildProcess.spawn([sys.executable, "-m", "nibd.daemon.embedder", *arguments])
    try:
        yield started
    finally:
        await started.stop()


async def loaded(started: ChildProcess, model: Path) -> ProfileId:
    answer = await started.call("load", {"model": str(model), "threads": 1})
    assert answer["dimension"] == 32
    return ProfileId(answer["profile"])


def spooled(count: int) -> list[tuple[TextId, str]]:
    return [(TextId(hashlib.blake2b(text.encode(), digest_size=16).digest()), text) for text in texts(count)]


def run(store: EmbeddingStore, profile: ProfileId) -> dict[str, Any]:
    return {"embeddings_db": str(store.connection.path), "profile": profile}


async def until_some_are_put(store: EmbeddingStore) -> None:
    await asyncio.to_thread(wait_until, lambda: store.statistics().vectors > 0, 20.0, "the first vectors")


def test_a_killed_run_is_resumed_without_embedding_anything_twice(tiny: Path, store: EmbeddingStore) -> None:
    async def scenario() -> None:
        async with child() as first:
            profile = await loaded(first, tiny)
            store.spool.add(profile, spooled(COUNT))
            job = asyncio.create_task(first.call("run", run(store, profile)))
            await until_some_are_put(store)
            first.kill()
            with pytest.raises(ChildDied):
                await job
        put = store.statistics().vectors
        assert 0 < put < COUNT
        assert store.spool.pending(profile) == COUNT - put
        reports: list[Any] = []
        async with child() as second:
            assert await loaded(second, tiny) == profile
            answer = await second.call(
                "run", run(store, profile), on_notification=lambda _, value: reports.append(value)
            )
        assert (answer["done"], answer["left"], answer["stopped"]) == (COUNT - put, 0, False)
        assert reports[-1]["done"] == reports[-1]["total"] == COUNT - put
        assert store.statistics().vectors == COUNT
        assert store.description(profile)["model"] == str(tiny)

    asyncio.run(scenario())
    some = spooled(60)
    embedder = Embedder.load(tiny, threads=2)
    found = store.get_many(embedder.profile, [text for text, _ in some])
    expected = embedder.embed([content for _, content in some])
    assert [found[text] for text, _ in some] == [vector.tobytes() for vector in expected]


def test_a_query_is_answered_while_a_spool_is_drained(tiny: Path, store: EmbeddingStore) -> None:
    async def scenario() -> None:
        async with child() as started:
            profile = await loaded(started, tiny)
            alone = await started.call("embed_query", {"texts": ["open session"]})
            store.spool.add(profile, spooled(COUNT))
            job = asyncio.create_task(started.call("run", run(store, profile)))
            await until_some_are_put(store)
            answer = await started.call("embed_query", {"texts": ["open session", "read"]})
            assert not job.done()
            assert answer["profile"] == profile
            assert answer["vectors"][0] == alone["vectors"][0]
            vector = np.frombuffer(base64.b64decode(answer["vectors"][1]), "<f4")
            assert vector.shape == (32,)
            with pytest.raises(RpcError, match="being drained") as busy:
                await started.call("run", run(store, profile))
            assert busy.value.code == ErrorCode.BUSY
            await started.call("stop")
            stopped = await job
            assert stopped["stopped"]
            assert stopped["done"] + stopped["left"] == COUNT
            assert 0 < stopped["left"] == store.spool.pending(profile)

    asyncio.run(scenario())


def test_a_cancelled_run_keeps_what_it_had_done(tiny: Path, store: EmbeddingStore) -> None:
    async def scenario() -> None:
        async with child() as started:
            profile = await loaded(started, tiny)
            store.spool.add(profile, spooled(COUNT))
            job = asyncio.create_task(started.call("run", run(store, profile)))
            await until_some_are_put(store)
            job.cancel()
            with pytest.raises(asyncio.CancelledError):
                await job
            # Answered after the cancelled run has ended: one thread does both.
            answer = await started.call("run", run(store, profile))
            assert 0 < answer["done"] < COUNT
            assert store.statistics().vectors == COUNT

    asyncio.run(scenario())


def test_what_can_not_be_done_is_said(tiny: Path, store: EmbeddingStore) -> None:
    async def scenario() -> None:
        async with child() as started:
            with pytest.raises(RpcError, match="call load first"):
                await started.call("embed_query", {"texts": ["a"]})
            with pytest.raises(RpcError, match="there is no folder /none"):
                await started.call("load", {"model": "/none"})
            profile = await loaded(started, tiny)
            assert await loaded(started, tiny) == profile
            with pytest.raises(RpcError, match="list of strings"):
                await started.call("embed_query", {"texts": "a"})
            with pytest.raises(RpcError, match="other is wanted"):
                await started.call("run", run(store, ProfileId("other")))
            with pytest.raises(RpcError) as unknown:
                await started.call("dance")
            assert unknown.value.code == ErrorCode.METHOD_NOT_FOUND
            assert (await started.call("embed_query", {"texts": []}))["vectors"] == []

    asyncio.run(scenario())


def test_it_ends_itself_when_nothing_is_asked() -> None:
    async def scenario() -> None:
        started = await ChildProcess.spawn([sys.executable, "-m", "nibd.daemon.embedder", "--idle-s", "0.05"])
        assert await started.wait() == 0

    asyncio.run(scenario())
