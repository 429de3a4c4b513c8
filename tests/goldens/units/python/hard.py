# !/usr/bin/env python3
# Copyright line of a licence header.

"""Module docstring."""

from __future__ import annotations

import os, sys as system
import collections.abc as abc
from . import sibling
from ..parent.module import (
    one,
    two as second,
)
from typing import overload, Generic, TypeVar

T = TypeVar("T")
type Pair[A] = tuple[A, A]
CONSTANT = 1  # trailing comment, not of the function below
def right_below_code(): pass

# A comment that stands apart.

def apart():
    ...


# Two lines
# that belong.
def commented(a, b=lambda x: {x: [y for y in x]}, *args: int, **kwargs) -> dict[str, int]:  # why
    # not header
    return {}


@decorator
def decorated():
    """Doc."""


@app.route("/x",
           methods=["GET"])
# between decorator and def
@other(lambda f: f)

async def routed(request):
    async def inner():
        await request
    return inner


@overload
def convert(x: int) -> int: ...
@overload
def convert(x: str) -> str: ...
def convert(x): return x


class Empty: pass


class OneLine(Base, metaclass=Meta): x: int = 1; y = 2


@dataclass(frozen=True, slots=True)
class Point(Generic[T]):
    """Doc of Point.

    def not_a_function(self): pass
    """

    x: int = 0
    y: int = field(default_factory=lambda: 0)

    # belongs to the property
    @property
    def norm(self) -> float:
        return abs(self.x)

    @norm.setter
    def norm(self, value): self.x = value

    @norm.deleter
    def norm(self):
        del self.x

    @staticmethod
    def make(): return Point()

    @classmethod
    async def load(cls, path, /, *, strict=True) -> Point[T]:
        class Loader:
            def __init__(self):
                def closure(): return path
                self.closure = closure

            def run(self): ...
        return Loader().run()

    class Nested:
        class Deeper:
            def method(self):
                def in_method():
                    pass
                return in_method

    def __eq__(
        self,
        other: object,
    ) -> bool:
        return True

    if system.version_info > (3, 12):
        def conditional(self): return 1
    else:
        def conditional(self): return 2

    handler = lambda self: None


if os.name == "nt":
    class Platform:
        def path(self): ...
elif True:
    try:
        import fast
        def accelerate(): return fast
    except ImportError:
        def accelerate(): return None
    else:
        def otherwise(): pass
    finally:
        def at_last(): pass
else:
    with open("x") as f:
        for _ in f:
            while True:
                def in_loop(): break_()
            else:
                def in_else(): ...

match system.argv:
    case [a]:
        def matched(): ...
    case _:
        class Unmatched: ...


def generic[K, V: (int, str)](k: K) -> V:
    yield from k


class Box[Item]:
    def get(self) -> Item: ...


def naïve_ünicode(): return "é"


def   odd_spaces  ( a ,
   b ) \
   -> int : return a


def tabs():
	if True:
		def tabbed():
			pass


def outer():
    global x

    # for deep
    def deep():
        """nested doc"""
        def deeper():
            class Deepest:
                def m(self): pass
            return Deepest
        return deeper
    # trailing comment of outer

    return deep
# after outer, directly above next
def following(): pass
    # indented comment after a one-liner

@first
@second(
    a=1,
)
class Decorated(Point, Generic[T]):

    @deco

    # commented

    def method(self): pass


@contextmanager
def managed():
    f = """
def in_string(): pass
"""
    yield f


def _private(): pass
def __dunder__(): pass
def positional(a, /): ...
def keyword(*, a): ...
class Protocol_(Protocol):
    attr: int
    def required(self) -> None: ...
    async def agen(self):
        async for x in y:
            yield x
        async with z:
            def within(): ...


class Enumeration(Enum):
    RED = 1

    @unique
    def describe(self): return f"{self.name!r:>{10}}"
print("end"); (lambda: 0)()
if __name__ == "__main__": main()
