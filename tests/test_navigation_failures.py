"""What the daemon takes of a failure of the navigator's work in quiet."""

from __future__ import annotations

import os
from pathlib import Path

import structlog

from nibd.daemon.navigation import Navigation, _Work
from nibd.daemon.paths import Paths
from nibd.daemon.registry import Checkout
from nibd.daemon.settings import RelationsSettings
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.stores.types import CheckoutId, RepositoryId, TreeId

TREE = TreeId("1" * 40)


def test_a_collection_that_failed_neither_audited_nor_measured_anything(tmp_path: Path) -> None:
    log = structlog.get_logger()
    paths = Paths.from_environment({"HOME": str(tmp_path)}, os.getuid())
    navigation = Navigation(RelationsSettings(), paths, log, lambda _: None, lambda *_: None, 60.0)
    checkout = Checkout(CheckoutId("c"), RepositoryId("r"), tmp_path, tmp_path, tmp_path, 0.0)
    known = {}
    for method in ("collect", "audit", "agree"):
        work = _Work(checkout, method, TREE)
        navigation._failed(work, RpcError(ErrorCode.INTERNAL, "the disk is full"), log)
        known[method] = ({*navigation._audited.values()}, {*navigation._measured.values()})
    assert known == {"collect": (set(), set()), "audit": ({TREE}, set()), "agree": ({TREE}, {TREE})}
    assert navigation.failures == {}
