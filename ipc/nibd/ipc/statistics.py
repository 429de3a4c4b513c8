"""What a server has counted since its start."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from nibd.ipc.messages import ErrorCode, JsonObject


@dataclass(slots=True)
class MethodStatistics:
    """Of one method. Durations run from the start of the handler to its end, in seconds."""

    requests: int = 0
    errors: int = 0
    seconds: float = 0.0
    longest_s: float = 0.0

    def add(self, seconds: float, failed: bool) -> None:
        self.requests += 1
        self.errors += failed
        self.seconds += seconds
        self.longest_s = max(self.longest_s, seconds)


@dataclass(slots=True)
class Statistics:
    """Only methods that exist are counted by name: what clients make up can't fill the memory."""

    methods: dict[str, MethodStatistics]
    clients_total: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Connections closed at once: `foreign_uid`, `too_many`."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Connections ended by us: `bad_frame`, `slow_frame`, `slow_reader`."""
    errors: Counter[str] = field(default_factory=Counter)
    """Error responses by the wire name of their code."""
    ignored: int = 0
    """Messages that need no answer and mean nothing: unknown notifications, responses."""

    def count_error(self, code: int) -> None:
        self.errors[code.wire_name if isinstance(code, ErrorCode) else str(code)] += 1

    def as_json(self) -> JsonObject:
        return {
            "clients_total": self.clients_total,
            "refused": dict(self.refused),
            "dropped": dict(self.dropped),
            "errors": dict(self.errors),
            "ignored": self.ignored,
            "methods": {
                name: {
                    "requests": method.requests,
                    "errors": method.errors,
                    "seconds": round(method.seconds, 6),
                    "longest_s": round(method.longest_s, 6),
                }
                for name, method in self.methods.items()
                if method.requests
            },
        }
