"""The methods `context` and `context.compact`: packets of what a search finds, and histories made short.

A packet rests on nothing but the search's hits: `context` asks `search` what it was asked itself, and reads
the texts of the hits from their blobs, which never change.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nibd.daemon.answers import Blobs
from nibd.daemon.host import Host
from nibd.daemon.parameters import Parameters
from nibd.daemon.registry import Checkout
from nibd.daemon.token_counting import TokenCounting
from nibd.daemon.wire import path_of
from nibd.ipc.handlers import Handler, RequestContext
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.query.context.compaction import READ_TOOLS, compact
from nibd.query.context.messages import MessageError, read
from nibd.query.context.packet import Packet, Piece, eager, lines_of
from nibd.query.context.tokens import Estimate, TokenCounter, TokenizerError
from nibd.query.hits import Hit
from nibd.repair.text import Text, decode
from nibd.stores.types import BlobId, CommitId

BUDGET = 8000
MAX_BUDGET = 1_000_000
MAX_MESSAGES = 10_000
MAX_TOOLS = 100
SHOWN = ("snippet", "snippet_line", "matches")
"""What a hit of a search has and one of a packet has not: its text is there."""


class Contexts:
    def __init__(self, search: Handler, blobs: Blobs, counting: TokenCounting, host: Host) -> None:
        self._search = search
        self._blobs = blobs
        self._counting = counting
        self._host = host

    async def context(self, params: JsonObject, context: RequestContext) -> Json:
        """Parameters that are not its own are those of `search`."""
        given = Parameters(params)
        budget = given.integer("budget", BUDGET, 1, MAX_BUDGET)
        found: Any = await self._search(given.rest(), context)
        checkout = self._host.state_of(Path(params["path"]).resolve()).checkout
        hits = found.pop("hits")
        return found | await self._host.in_query(
            self._packet, checkout, hits, CommitId(found["snapshot"]["commit"]), budget
        )

    async def compact(self, params: JsonObject, context: RequestContext) -> Json:
        given = Parameters(params)
        messages = given.objects("messages", MAX_MESSAGES)
        tools = given.texts("read_tools", MAX_TOOLS)
        given.done()
        return await self._host.in_query(self._compacted, messages, tools)

    # In a query thread

    def _packet(
        self, checkout: Checkout, hits: list[JsonObject], commit: CommitId, budget: int
    ) -> JsonObject:
        counter = self._counter()
        shown = {found.address_key: found for found in map(_of_wire, hits)}
        wired = dict(zip(shown, map(_address, hits), strict=True))
        pieces = [Piece(hit, self._text(checkout, hit)) for hit in shown.values()]
        packet = eager(pieces, commit, budget, counter)
        return {
            "text": packet.text,
            "tokens": _tokens(packet.tokens, counter) | {"budget": budget},
            "units": [
                wired[unit.hit.address_key]
                | {"tokens": unit.tokens, "also": [wired[each.address_key] for each in unit.also]}
                for unit in packet.units
            ],
            "left_out": _left_out(packet, wired),
        }

    def _text(self, checkout: Checkout, hit: Hit) -> str | None:
        data = self._blobs.read(checkout, hit.blob)
        text = None if data is None else decode(data)
        if not isinstance(text, Text):
            return None
        return lines_of(text.content.decode(), hit.start_line, hit.end_line)

    def _compacted(self, messages: list[JsonObject], tools: list[str]) -> JsonObject:
        counter = self._counter()
        try:
            compaction = compact(messages, set(tools) or READ_TOOLS)
            count = sum(counter.count(message.text) for message in read(compaction.history))
        except MessageError as error:
            raise RpcError(ErrorCode.INVALID_PARAMS, f"messages: {error}") from error
        return {
            "messages": compaction.history,
            "rewritten": compaction.rewritten,
            "tokens": _tokens(count, counter),
        }

    def _counter(self) -> TokenCounter:
        try:
            return self._counting.counter()
        except TokenizerError as error:
            raise RpcError(ErrorCode.UNSUPPORTED, f"tokens can't be counted: {error}") from error


def _tokens(count: int, counter: TokenCounter) -> JsonObject:
    reason = counter.reason if isinstance(counter, Estimate) else None
    return {"count": count, "tokenizer": counter.name, "exact": counter.exact, "reason": reason}


def _left_out(packet: Packet, wired: dict[tuple[bytes, int, int, str], JsonObject]) -> list[Json]:
    return [
        wired[each.hit.address_key] | {"reason": each.reason.value, "tokens": each.tokens}
        for each in packet.left_out
    ]


def _address(hit: JsonObject) -> JsonObject:
    return {key: value for key, value in hit.items() if key not in SHOWN}


def _of_wire(found: JsonObject) -> Hit:
    return Hit(
        path=path_of(found),
        start_line=found["start_line"],
        end_line=found["end_line"],
        kind=found["kind"],
        name=found["name"],
        level=None,
        language=found["language"],
        blob=BlobId(found["blob"]),
        score=found["score"],
    )
