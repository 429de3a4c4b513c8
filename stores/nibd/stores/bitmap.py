"""An immutable set of small integers (row numbers), one bit each.

Which file versions a tree holds, and which vectors a snapshot searches, are such sets: 50,000
members take 6 KB, so a snapshot can hold one of its own and a commit costs no more than copying it.
Bit i is bit i % 8 of byte i // 8, which is also what FAISS's IDSelectorBitmap reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bitmap:
    """`data` holds the bits; it may end in zero bytes, which mean nothing."""

    data: bytes = b""

    @staticmethod
    def of(members: Iterable[int]) -> Bitmap:
        return Bitmap().changed(add=members)

    def __contains__(self, member: int) -> bool:
        at = member >> 3
        return at < len(self.data) and bool(self.data[at] >> (member & 7) & 1)

    def __iter__(self) -> Iterator[int]:
        for at, byte in enumerate(self.data):
            if byte:
                base = at << 3
                for bit in range(8):
                    if byte >> bit & 1:
                        yield base + bit

    def __len__(self) -> int:
        return int.from_bytes(self.data, "little").bit_count()

    def changed(self, *, remove: Iterable[int] = (), add: Iterable[int] = ()) -> Bitmap:
        """This set without `remove` and with `add`; a member of both is in."""
        added = list(add)
        data = bytearray(self.data)
        top = max(added, default=-1) >> 3
        if top >= len(data):
            data.extend(bytes(top + 1 - len(data)))
        for member in remove:
            if member >> 3 < len(data):
                data[member >> 3] &= ~(1 << (member & 7)) & 0xFF
        for member in added:
            data[member >> 3] |= 1 << (member & 7)
        return Bitmap(bytes(data))

    def minus(self, other: Bitmap) -> Bitmap:
        """The members of this set that `other` lacks. Linear in bytes, not in members."""
        mine = int.from_bytes(self.data, "little")
        theirs = int.from_bytes(other.data, "little")
        return Bitmap((mine & ~theirs).to_bytes(len(self.data), "little"))

    def union(self, other: Bitmap) -> Bitmap:
        mine = int.from_bytes(self.data, "little")
        theirs = int.from_bytes(other.data, "little")
        return Bitmap((mine | theirs).to_bytes(max(len(self.data), len(other.data)), "little"))
