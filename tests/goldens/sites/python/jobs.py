"""Jobs that run: decorators, generics, patterns, comprehensions and names that are not ASCII."""

from __future__ import annotations

import asyncio, os.path as osp
from collections.abc import Callable as Fn, Mapping
from . import registry
from .base import *

type Table[K: str, *Rest, **P] = dict[K, list[Job[K]]]
größe = 3
größe = größe + 1
limits: Mapping[str, int] = {"é": größe}


@registry.register("job", weight=größe)
@staticmethod
def make(name, /, retries: int = größe, *args: object, flag=True, **options: Fn[[int], str]) -> Job[str] | None:
    def inner(deep):
        nonlocal_name = deep.value
        nonlocal_name = make(deep)
        return nonlocal_name

    return inner(name) if flag else None


class Job[T: Base](Base, registry.Plugin, Generic[T], metaclass=Meta):
    "é – a string before sites"; state: ClassVar[State] = State.NEW

    def __init__(self, name: str, *, on: "Event" = None):
        self.name, self.tags[0], (first, *rest) = name, osp.join("ü", name), split(name)
        self.count += first; größe = rest
        self.on = on or (lambda event, *more, key=name, **kw: event(more, key, kw))

    @property
    def label(self) -> str:
        return f"→ {self.name!r:>{width}} {self.fmt(self.count)}" + f"{limits['é']}"

    @label.setter
    def label(self, value): self._label = value

    async def run(self, items: list[T]) -> None:
        global größe
        async with self.lock as guard, open(self.name) as (reader, self.writer):
            totals = {k: v for k, (v, _) in items.items() if v}
        async for item in guard:
            match item:
                case Point(x, y=0) | [x, *_] if x > größe:
                    yield x
                case {"kind": kind, **others}:
                    print(kind, others)
                case registry.EMPTY | None:
                    pass
                case str() as text:
                    await asyncio.sleep(len(text))
        try:
            del totals[größe]
        except (KeyError, registry.Failure) as error:
            raise Wrong[int]("ß", cause=error) from error
        while (chunk := reader.read(8)) is not None: totals = chunk
