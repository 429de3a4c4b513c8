"""What navigators made of relations and the indexer has not published yet, by checkout.

Records stay until they are `taken`, since a job that publishes them may fail. A newer tree's take the place
of an older one's, which nobody would show any more.
"""

from __future__ import annotations

from nibd.daemon.relations.losses import Lost
from nibd.ipc.messages import JsonObject
from nibd.stores.types import CheckoutId, TreeId


class Unpublished:
    """Records by family, as `nibd.stores.snapshot.encode_view` makes them. For one thread."""

    def __init__(self) -> None:
        self._held: dict[CheckoutId, tuple[TreeId, JsonObject]] = {}
        self._lost: dict[CheckoutId, Lost] = {}

    def has(self, checkout: CheckoutId, tree: TreeId) -> bool:
        held = self._held.get(checkout)
        return held is not None and held[0] == tree

    def of(self, checkout: CheckoutId, tree: TreeId) -> JsonObject:
        """What is to be published for this tree; empty when there is nothing."""
        held = self._held.get(checkout)
        return dict(held[1]) if held and held[0] == tree else {}

    def instead_of(self, checkout: CheckoutId, tree: TreeId) -> Lost | None:
        """Why what is published of this tree is not to be relied on, where what waits was made for that."""
        return self._lost.get(checkout) if self.has(checkout, tree) else None

    def put(self, checkout: CheckoutId, tree: TreeId, records: JsonObject, lost: Lost | None = None) -> None:
        """In place of what waits. `lost`: why what is published had to be made anew."""
        lost = lost or self.instead_of(checkout, tree)
        self.forget(checkout)
        self._held[checkout] = (tree, records)
        if lost:
            self._lost[checkout] = lost

    def add(self, checkout: CheckoutId, tree: TreeId, records: JsonObject) -> None:
        """Beside what waits for the tree."""
        self.put(checkout, tree, self.of(checkout, tree) | records)

    def taken(self, checkout: CheckoutId, records: JsonObject) -> None:
        """These were published, or came too late for that; what came after them stays."""
        tree, held = self._held.get(checkout, (None, {}))
        left = {family: record for family, record in held.items() if records.get(family) != record}
        if tree is not None and left:
            self._held[checkout] = (tree, left)
        else:
            self.forget(checkout)

    def forget(self, checkout: CheckoutId) -> None:
        self._held.pop(checkout, None)
        self._lost.pop(checkout, None)
