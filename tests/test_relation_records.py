"""The relations of a file as bytes: what is packed is what is read, and equal ones alone are equal."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_relations import file_relations, target, targets
from nibd.stores.relation_records import pack
from nibd.stores.relation_types import FileRelations, Relation
from nibd.stores.types import RepoPath
from relation_stores import CALLER


@settings(deadline=None)
@given(file_relations())
def test_a_record_says_what_was_packed(file: FileRelations) -> None:
    record, _ = pack(file)
    assert record.file() == file
    assert record.names == {relation.site.name for relation in file.relations}
    assert set(record.targets) == {t for relation in file.relations for t in relation.targets or ()}
    assert len(record.targets) == len(set(record.targets))
    assert (record.sites, record.unknown) == (len(file.relations), file.unknown)
    assert record.unbuilt == sum(relation.unbuilt for relation in file.relations)


@settings(deadline=None)
@given(file_relations(), file_relations())
def test_equal_relations_and_no_others_have_equal_digests(one: FileRelations, other: FileRelations) -> None:
    assert (pack(one)[1] == pack(other)[1]) == (one == other)
    copy = replace(one, relations=tuple(replace(each) for each in one.relations))
    assert pack(copy) == pack(one)
    for changed in changes(one):
        assert pack(changed)[1] != pack(one)[1]


def changes(file: FileRelations) -> Iterator[FileRelations]:
    """`file` with one thing changed."""
    yield replace(file, language=file.language + "x")
    yield replace(file, path=RepoPath(file.path + b"x"))
    for at, (site, found, unbuilt) in enumerate((e.site, e.targets, e.unbuilt) for e in file.relations):
        before, after = file.relations[:at], file.relations[at + 1 :]
        for other in (
            Relation(replace(site, name=site.name + "x"), found),
            Relation(replace(site, end_byte=site.end_byte + 1), found),
            Relation(site, () if found is None else None),
            Relation(site, None, not unbuilt),
            Relation(site, (*(found or ()), target(b"z.py", "new", "new"))),
        ):
            yield replace(file, relations=(*before, other, *after))


@settings(deadline=None)
@given(file_relations(), st.data())
def test_a_lookup_finds_what_a_look_at_all_of_them_finds(file: FileRelations, data: st.DataObject) -> None:
    record, _ = pack(file)
    bytes_ = [
        edge + n for r in file.relations for edge in (r.site.start_byte, r.site.end_byte) for n in (-1, 0)
    ]
    for byte in {0, *bytes_}:
        nearest = [r for r in file.relations if r.site.start_byte <= byte]
        first = next((r for r in nearest if r.site.start_byte == nearest[-1].site.start_byte), None)
        assert record.relation_at(byte) == (first if first and byte < first.site.end_byte else None)
    sought = data.draw(st.sampled_from(record.targets) if record.targets else targets)
    assert record.referring(sought) == [r for r in file.relations if sought in (r.targets or ())]
    assert record.referring_symbol(*sought.symbol) == [
        r
        for r in file.relations
        if any(t.symbol == sought.symbol and not t.is_external for t in r.targets or ())
    ]


def test_sites_that_are_out_of_order_are_refused() -> None:
    first, second, *_ = CALLER.relations
    with pytest.raises(ValueError, match="order"):
        pack(replace(CALLER, relations=(second, first)))


def test_a_record_that_cannot_be_read_says_so() -> None:
    record, _ = pack(CALLER)
    content = zlib.decompress(record.payload)
    for payload in (b"", record.payload[:-5], zlib.compress(b"\x63" + content[1:]), zlib.compress(b"")):
        with pytest.raises(ValueError, match=r"format|caller\.py"):
            replace(record, payload=payload).file()


@settings(deadline=None)
@given(file_relations(), st.data())
def test_sites_are_found_by_number_too(file: FileRelations, data: st.DataObject) -> None:
    record, _ = pack(file)
    numbered = list(enumerate(file.relations))
    names = data.draw(st.sets(st.sampled_from([*sorted(record.names), "none"])))
    paths = data.draw(st.sets(st.sampled_from([*(each.path for each in record.targets), RepoPath(b"z.py")])))
    inside = record.targets_in(paths)
    assert record.named(names) == [at for at, each in numbered if each.site.name in names]
    assert inside == {
        at: each for at, each in enumerate(record.targets) if each.path in paths and not each.package
    }
    meant = set(inside.values())
    assert record.leading(set(inside)) == [
        at for at, each in numbered if not meant.isdisjoint(each.targets or ())
    ]
    assert record.found == [at for at, each in numbered if each.targets]
    assert record.unanswered == [at for at, each in numbered if each.answer is None]
    assert list(record.unit_of) == [each.site.unit for each in file.relations]
    some = data.draw(st.lists(st.sampled_from(numbered))) if numbered else []
    assert record.some(at for at, _ in some) == [each for _, each in some]
