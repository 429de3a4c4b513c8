"""What can go wrong with a language server, and what is no error.

    ServerError
    └── ServerFailed    it did not start, or refused `initialize`; `reason` says why

Once a server runs nothing is raised for what it does: a question that got no answer is `Unknown`.
"""

from __future__ import annotations

from dataclasses import dataclass


class ServerError(Exception):
    """The root of this package's errors."""


class ServerFailed(ServerError):  # noqa: N818 - said of a server
    """The server could not be started. `reason` is one line for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Unknown:
    """In place of an answer: the server said nothing that is one. Never to be taken for "there is none".

    `transient` tells that the server itself asks to be asked again (its content changed meanwhile).
    `message` is that of the server's error response, empty where there was none. `unbuilt`: the server says
    by it that it does not build the file, and the file says why; or there is no such file for any server; or
    it names too many places.
    """

    reason: str
    transient: bool = False
    message: str = ""
    unbuilt: bool = False


NOT_UTF8 = Unknown("the file's name is not UTF-8", unbuilt=True)
"""Of a file that the private tree leaves out for that: ty dies of such a name, gopls loses the package around
it, and rust-analyzer panics. So no server is asked, though clangd and TypeScript could be."""


def too_many(most: int) -> Unknown:
    """Of a name that is bound again and again: what it refers to is as good as unknown, and asked again it
    would be the same."""
    return Unknown(f"it names more than {most} places", message="too many places", unbuilt=True)
