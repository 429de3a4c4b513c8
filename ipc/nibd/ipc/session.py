"""A session with the daemon: a client's questions about one checkout, all answered from one snapshot.

    with Session(socket_path, "/home/ann/flask", views=["lexical", "structural"]) as session:
        packet = session.call("context", query="url for endpoint", budget=4000)
        for request in session.trace()["requests"]:
            print(request["method"], request["milliseconds"], request["tokens"])

It has a connection of its own, and ends with it. What the methods mean is said in docs/protocol.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from nibd.ipc.client import Client
from nibd.ipc.messages import Json, JsonObject


class Session:
    """Opened when made. Use as a context manager. Not thread-safe.

    `views` and `relations` (language families) are what it requires: RpcError when one is missing.
    """

    def __init__(
        self,
        socket: str | os.PathLike[str],
        path: str | os.PathLike[str],
        views: Sequence[str] = ("lexical", "structural"),
        relations: Sequence[str] = (),
        at: str = "latest",
        timeout_s: float = 30.0,
    ) -> None:
        self._path = str(Path(path).absolute())
        self._client = Client(socket, timeout_s)
        asked: JsonObject = {"path": self._path, "views": [*views], "at": at}
        if relations:
            asked["relations"] = [*relations]
        try:
            opened = self._client.call("session.open", asked)
        except BaseException:
            self._client.close()
            raise
        self.id: str = opened["session"]
        self.snapshot: JsonObject = opened["snapshot"]
        """`commit`, `tree`, `generation` and `published_at` of what all answers rest on."""
        self.views: JsonObject = opened["views"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(self, method: str, **params: Json) -> Json:
        """The result of a method that takes a session; `path` is the checkout's unless one is given."""
        return self._client.call(method, {"path": self._path, "session": self.id, **params})

    def trace(self) -> JsonObject:
        """What was asked so far."""
        found: JsonObject = self._client.call("session.trace", {"session": self.id})
        return found

    def close(self) -> None:
        """Disconnect, which ends it. May be called again."""
        self._client.close()
