"""verified.db: what was asked at which tree, and the accounts of transitions and audits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from made_relations import PYTHON, relations
from nibd.repair.servers import room
from nibd.stores.relation_records import RelationRecord, pack
from nibd.stores.types import ProfileId, RepoPath, TreeId
from nibd.stores.verifications import Account, CorruptVerifications, VerificationStore, digest_of

ONE, TWO = TreeId("1" * 40), TreeId("2" * 40)
PROFILE = ProfileId("profile")
A, B = RepoPath(b"a.py"), RepoPath(b"b.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verified.db"


@pytest.fixture
def store(path: Path) -> Iterator[VerificationStore]:
    opened = VerificationStore.open(path)
    yield opened
    opened.close()


def record(file: RepoPath, *names: str) -> RelationRecord:
    return pack(relations(file, *((name, []) for name in names)))[0]


def test_the_newest_verification_of_a_file_is_kept_with_its_turn(store: VerificationStore) -> None:
    store.note(PYTHON, PROFILE, ONE, [(record(A, "x"), 0), (record(B, "y"), 2)], fresh=True)
    store.note(PYTHON, PROFILE, TWO, [(record(A, "z"), 0)], fresh=False)
    found = store.asked(PYTHON, PROFILE)
    assert [(found[each].tree, found[each].turn, found[each].fresh) for each in (A, B)] == [
        (TWO, 2, False),
        (ONE, 1, True),
    ]
    assert found[B].unanswered == 2
    assert found[A].digest == digest_of(record(A, "z")) != digest_of(record(A, "x"))
    assert store.turn(PYTHON) == 2
    assert store.asked(PYTHON, ProfileId("other")) == store.asked("go", PROFILE) == {}


def test_what_was_asked_at_a_tree_can_be_forgotten_and_keeps_its_turn(store: VerificationStore) -> None:
    store.note(PYTHON, PROFILE, ONE, [(record(A, "x"), 0)], fresh=True)
    store.note(PYTHON, PROFILE, TWO, [(record(B, "x"), 0)], fresh=True)
    store.forget(PYTHON, ONE)
    found = store.asked(PYTHON, PROFILE)
    assert (found[A].tree, found[A].turn, found[B].tree) == ("", 1, TWO)
    store.drop(PYTHON, [A])
    assert store.asked(PYTHON, PROFILE).keys() == {B}


def test_a_file_is_reached_at_its_shortest_distance_until_it_was_asked(store: VerificationStore) -> None:
    store.reach(PYTHON, {A: 2, B: 1})
    store.reach(PYTHON, {A: 1, B: 3})
    assert store.reached(PYTHON) == {A: 1, B: 1}
    store.note(PYTHON, PROFILE, ONE, [(record(A, "x"), 0)], fresh=True)
    assert store.reached(PYTHON) == {B: 1}


def test_transitions_are_counted_once_and_outlive_the_process(store: VerificationStore, path: Path) -> None:
    store.begin(PYTHON, ONE)
    store.begin(PYTHON, ONE)  # made again, as its publication was overtaken
    store.ended(PYTHON, ONE)
    store.ended(PYTHON, ONE)
    store.begin(PYTHON, TWO)
    store.differed(PYTHON, TWO, 3)
    store.differed(PYTHON, ONE, 1)
    store.ended(PYTHON, TWO)
    store.close()
    reader = VerificationStore.open_reader(path)
    assert reader.accounts() == {PYTHON: Account(transitions=2, verified=2, right=1, differing=4)}
    reader.close()


def test_an_audit_is_due_after_so_many_transitions_or_when_one_was_asked_for(
    store: VerificationStore,
) -> None:
    assert not store.audit_is_due(PYTHON, 1)
    for tree in (ONE, TWO):
        store.begin(PYTHON, tree)
    assert store.audit_is_due(PYTHON, 2)
    assert not store.audit_is_due(PYTHON, 3)
    store.ask_audit(PYTHON)
    assert store.audit_is_due(PYTHON, 3)
    assert not store.audit_is_due(PYTHON, 0)
    store.audited(PYTHON, 1)
    store.audited(PYTHON, 0)
    assert not store.audit_is_due(PYTHON, 1)
    account = store.accounts()[PYTHON]
    assert (account.audits, account.audits_right, account.audit_differing) == (2, 1, 1)


def test_what_was_damaged_is_removed_and_begun_anew(path: Path) -> None:
    path.write_bytes(b"no database" * 100)
    with pytest.raises(CorruptVerifications):
        VerificationStore.open(path)
    VerificationStore.remove(path)
    VerificationStore.open(path).close()
    assert VerificationStore.is_made(path)


def test_the_limit_of_a_control_group_is_room_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "groups" / "user" / "app"
    group.mkdir(parents=True)
    (tmp_path / "own").write_text("0::/user/app\n")
    monkeypatch.setattr(room, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(room, "_OWN_GROUP", tmp_path / "own")
    everything = room.available_bytes()
    assert everything > 0
    (group / "memory.max").write_text("max\n")
    (group.parent / "memory.max").write_text("1000\n")
    (group.parent / "memory.current").write_text("700\n")
    assert room.available_bytes() == 300
    (group.parent / "memory.stat").write_text("anon 600\ninactive_file 100\n")
    assert room.available_bytes() == 400
