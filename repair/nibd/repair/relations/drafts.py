"""A file on its way through a repair: which of its sites are asked, and what becomes of the answers.

Of a file that did not change no more is read than the sites that are asked are about: all of its relations
are only unpacked when one of them turns out to be another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nibd.repair.relations.change import FileChange
from nibd.repair.relations.planned import Asked
from nibd.repair.relations.resolve import Question
from nibd.repair.relations.source_file import SourceFile, SourceFiles
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relation_types import Answer, FileRelations, Relation
from nibd.stores.relations import CorruptRelations


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
        """What is to be asked too, after these answers."""
        if not self.later or self.record is None:
            return None
        told = zip(self.asked, answers, strict=True)
        if not any(i in self.tells and (answer is None or answer != self.known[i]) for i, answer in told):
            return None
        return _of_record(self.record, self.file, self.later)

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
