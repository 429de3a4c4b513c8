"""What a language server tells and asks its client, apart from answers.

`ClientSide` is that client: it answers `workspace/configuration` from the driver's settings, agrees to
registrations and progress, refuses edits, and keeps what tells whether the server has settled:
work in progress (`$/progress`), rust-analyzer's `experimental/serverStatus`, and what it complained of.

Called by one thread, the reader of the connection; read by others, who may see it a moment late.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

METHOD_NOT_FOUND = -32601
LOG_LINES = 200
COMPLAINTS = 20
_WARNING = 2
"""`MessageType`: 1 is an error, 2 a warning."""

Json = Any
"""What JSON can hold; LSP's shapes are checked where they are used."""


class MethodNotFound(Exception):  # noqa: N818 - JSON-RPC's own name for it
    """The server asked for something that this client does not do."""


class ClientSide:
    """State and answers of one connection's client."""

    def __init__(self, root: Path, settings: Mapping[str, Json]) -> None:
        self.settings = settings
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self.work_begun = 0
        """How many pieces of work have begun so far."""
        self.quiescent: bool | None = None
        """What rust-analyzer said last; `None` when nothing was said."""
        self._root = root
        self._open_work: dict[str | int, str] = {}
        self._complaints: dict[str, None] = {}
        self._status_message = ""
        self._requests: dict[str, Callable[[Json], Json]] = {
            "workspace/configuration": self._configuration,
            "workspace/workspaceFolders": lambda _: [{"uri": self._root.as_uri(), "name": self._root.name}],
            "workspace/applyEdit": lambda _: {"applied": False, "failureReason": "read-only client"},
        }
        for method in (
            "client/registerCapability",
            "client/unregisterCapability",
            "window/workDoneProgress/create",
            "window/showMessageRequest",
            "workspace/semanticTokens/refresh",
            "workspace/inlayHint/refresh",
            "workspace/codeLens/refresh",
            "workspace/diagnostic/refresh",
        ):
            self._requests[method] = lambda _: None
        self._notifications: dict[str, Callable[[Json], None]] = {
            "$/progress": self._progress,
            "experimental/serverStatus": self._server_status,
            "window/logMessage": self._log_message,
            "window/showMessage": self._show_message,
        }

    @property
    def work(self) -> tuple[str, ...]:
        """Titles of the work in progress."""
        return tuple(self._open_work.values())

    @property
    def complaints(self) -> tuple[str, ...]:
        """What the server showed as a warning or an error, without repeats, the newest last."""
        status = (self._status_message,) if self._status_message else ()
        return (*self._complaints, *status)

    def respond(self, method: str, params: Json) -> Json:
        """The result for a server's request. Raises MethodNotFound."""
        handler = self._requests.get(method)
        if handler is None:
            raise MethodNotFound(method)
        return handler(params)

    def take(self, method: str, params: Json) -> bool:
        """Take in a notification; tell whether it can matter to who waits for the server to settle."""
        handler = self._notifications.get(method)
        if handler is None:
            return False
        handler(params)
        return method in ("$/progress", "experimental/serverStatus")

    def _configuration(self, params: Json) -> list[Json]:
        return [self._section(item.get("section") or "") for item in params["items"]]

    def _section(self, name: str) -> Json:
        """`""` is everything; `a.b` is looked for as such, then as `b` within `a`; `None` if not set."""
        found: Json = self.settings
        if not name or name in self.settings:
            return found if not name else self.settings[name]
        for part in name.split("."):
            if not isinstance(found, Mapping) or part not in found:
                return None
            found = found[part]
        return found

    def _progress(self, params: Json) -> None:
        value = params.get("value")
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind == "begin":
            self.work_begun += 1
            self._open_work[params["token"]] = str(value.get("title", ""))
        elif kind == "end":
            self._open_work.pop(params["token"], None)

    def _server_status(self, params: Json) -> None:
        self.quiescent = bool(params.get("quiescent"))
        healthy = params.get("health", "ok") == "ok"
        self._status_message = "" if healthy else str(params.get("message") or params["health"])

    def _log_message(self, params: Json) -> None:
        self.log.append(str(params.get("message", "")))

    def _show_message(self, params: Json) -> None:
        message = str(params.get("message", ""))
        self.log.append(message)
        if params.get("type", _WARNING) <= _WARNING:
            self._complaints.pop(message, None)
            self._complaints[message] = None
            if len(self._complaints) > COMPLAINTS:
                del self._complaints[next(iter(self._complaints))]
