"""A file on its way through a repair: which of its sites are asked, and what becomes of the answers.

Of a file that did not change no more is read than the sites that are asked are about: all of its relations
are only unpacked when one of them turns out to be another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from nibd.repair.relations.by_scope import is_by_scope
from nibd.repair.relations.file_change import FileChange
from nibd.repair.relations.planned import Asked
from nibd.repair.relations.resolve import Question
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Answer, FileRelations, Relation, RelationKind, Site
from nibd.stores.relations import CorruptRelations

_TELLING = frozenset({"turned", "joined", "line", "hidden"})
"""Rules by which a name may lead elsewhere although what it led to is what it was."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A file and the sites of it that are `asked`, by index, each for one of `rules`.

    `known` is what they, and in a changed file all that keep it, referred to before. Of a file that did not
    change `record` holds while its relations are the same. Those of `later` are asked when one of `tells`
    turns out to refer to something else.
    """

    file: SourceFile
    known: Mapping[int, Answer]
    asked: tuple[int, ...]
    rules: tuple[str, ...]
    starts: tuple[int, ...]
    """Where those that are asked begin."""
    record: RelationRecord | None = None
    later: Mapping[int, str] | None = None
    tells: frozenset[int] = frozenset()

    @staticmethod
    def of_changed(change: FileChange, before: FileRelations | None, why: Mapping[int, str]) -> Draft:
        """Of a file that is there, and was another before."""
        new = change.new
        assert new is not None, "only files that are there are asked about"
        asked = tuple(sorted(why))
        kept = change.kept.items() if before is not None else ()
        known = {now: before.relations[then].answer for now, then in kept} if before is not None else {}
        starts = tuple(new.sites[i].start_byte for i in asked)
        return Draft(new, known, asked, tuple(why[i] for i in asked), starts)

    @staticmethod
    def of_unchanged(asked: Asked, sources: SourceFiles) -> Draft:
        record = asked.record
        file = sources.get(record.path, record.blob, record.language)
        if file is None:
            raise CorruptRelations(f"{record.blob}, of which there are relations, cannot be read")
        return _of_record(record, file, asked.why, asked.later, frozenset(asked.tells))

    @property
    def question(self) -> Question:
        return Question(self.file, self.asked, self.starts)

    def changed(self, answers: Sequence[Answer]) -> Counter[str]:
        """For how many sites each rule was right: they refer to something else than before."""
        found = zip(self.asked, self.rules, answers, strict=True)
        return Counter(rule for i, rule, answer in found if i in self.known and self.known[i] != answer)

    def rest(self, answers: Sequence[Answer]) -> Draft | None:
        """What is to be asked too, after these answers.

        Where a name leads elsewhere its type may be another one, and members of it others. Where an import
        does, what it imports may have another name here.
        """
        told = zip(self.asked, self.rules, answers, strict=True)
        other = [(i, rule) for i, rule, answer in told if i in self.known and answer != self.known[i]]
        leading = {i for i, rule in other if rule in _TELLING}
        unknown = (i for i, answer in zip(self.asked, answers, strict=True) if answer is None)
        later: Mapping[int, str] = {}
        if self.later and not self.tells.isdisjoint(chain((i for i, _ in other), unknown)):
            later = self.later
            leading |= {i for i, rule in later.items() if rule in _TELLING}
        alike = self._leading_alike(leading)
        leading |= alike
        units = self._units(self._sites(sorted(leading))) if leading else ()
        why = {**dict.fromkeys(self._by_type(units), "surface"), **later} if units else dict(later)
        why |= dict.fromkeys(alike, "turned")
        for i in self.asked:
            why.pop(i, None)
        if not why:
            return None
        if self.record is not None:
            return _of_record(self.record, self.file, why)
        starts = tuple(self.file.sites[i].start_byte for i in sorted(why))
        rules = tuple(rule for _, rule in sorted(why.items()))
        return Draft(self.file, {i: self.known[i] for i in why}, tuple(sorted(why)), rules, starts)

    def _leading_alike(self, indexes: Collection[int]) -> set[int]:
        """The sites that led to what imports among these did."""
        sites = zip(indexes, self._sites(indexes), strict=True)
        imports = (self.known[i] for i, site in sites if site.kind is RelationKind.IMPORT and i in self.known)
        targets = {target for answer in imports if isinstance(answer, tuple) for target in answer}
        if self.record is not None:
            numbers = {number for number, target in enumerate(self.record.targets) if target in targets}
            return set(self.record.leading(numbers))
        found = ((i, answer) for i, answer in self.known.items() if isinstance(answer, tuple))
        return {i for i, answer in found if not targets.isdisjoint(answer)}

    def _sites(self, indexes: Iterable[int]) -> list[Site]:
        if self.record is not None:
            return [each.site for each in self.record.some(indexes)]
        return [self.file.sites[i] for i in indexes]

    def _units(self, sites: Collection[Site]) -> set[int]:
        """The units that these stand in, and those within that see what is local there; for the base of a
        class those within it."""
        found = self.file.with_nested({site.unit for site in sites})
        inside = {site.unit for site in sites if site.kind is RelationKind.INHERIT}
        for ordinal, unit in enumerate(self.file.units if inside else ()):
            if unit.parent in inside:
                inside.add(ordinal)
        return found | inside

    def _by_type(self, units: Container[int]) -> list[int]:
        """The sites in these units that may mean something else when something is of another type."""
        if self.record is not None:
            indexes = [i for i, unit in enumerate(self.record.unit_of) if unit in units]
        else:
            indexes = [i for i in self.known if self.file.sites[i].unit in units]
        content, language = self.file.content, self.file.language
        return [
            i
            for i, site in zip(indexes, self._sites(indexes), strict=True)
            if site.kind is not RelationKind.IMPORT and not is_by_scope(site, content, language)
        ]

    def answered(self, answers: Mapping[int, Answer]) -> FileRelations:
        """The relations of the file with these answers, by index."""
        if self.record is not None:
            before = self.record.file()
            relations = list(before.relations)
            for i, answer in answers.items():
                relations[i] = Relation.of(relations[i].site, answer)
            return FileRelations(before.path, before.blob, before.language, tuple(relations))
        known = {**self.known, **answers}
        found = tuple(Relation.of(site, known[i]) for i, site in enumerate(self.file.sites))
        return FileRelations(self.file.path, self.file.blob, self.file.language, found)


def _of_record(
    record: RelationRecord,
    file: SourceFile,
    why: Mapping[int, str],
    later: Mapping[int, str] | None = None,
    tells: frozenset[int] = frozenset(),
) -> Draft:
    asked = tuple(sorted(why))
    relations = record.some(asked)
    for site in (relation.site for relation in relations):
        if file.content[site.start_byte : site.end_byte].decode("utf-8", "replace") != site.name:
            raise CorruptRelations(f"the relations of {record.path!r} are not those of {record.blob}")
    known = {i: each.answer for i, each in zip(asked, relations, strict=True)}
    starts = tuple(each.site.start_byte for each in relations)
    return Draft(file, known, asked, tuple(why[i] for i in asked), starts, record, later, tells)
