"""Relations for tests of the store: a few written by hand, any number by hypothesis."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from nibd.stores.relation_types import UNBUILT, FileRelations, Relation, RelationKind, Site, Target, Unbuilt
from nibd.stores.types import BlobId, RepoPath

PYTHON = "python"


def target(path: bytes, qualified: str, name: str, ordinal: int = 0, nth: int = 0) -> Target:
    """Within the repository."""
    return Target("", RepoPath(path), qualified, ordinal, name, nth)


def external(package: str, path: bytes, name: str) -> Target:
    return Target(package, RepoPath(path), "", 0, name, 0)


def relations(
    path: bytes, *answers: tuple[str, Iterable[Target] | Unbuilt | None], version: int = 0
) -> FileRelations:
    """A file of one line, in which each name is followed by a blank."""
    found, at = [], 0
    for name, targets in answers:
        end = at + len(name.encode())
        site = Site(at, end, name, RelationKind.READ, 0)
        is_unknown = targets is None or isinstance(targets, Unbuilt)
        found.append(Relation.of(site, targets if is_unknown else tuple(sorted(set(targets)))))
        at = end + 1
    return FileRelations(RepoPath(path), BlobId(f"{version:040x}"), PYTHON, tuple(found))


paths = st.sampled_from([b"a.py", b"pkg/b.py", b"pkg/\xff.py", b"pkg/sub/c.py"]).map(RepoPath)
names = st.sampled_from(["", "run", "Job.run", "größe", "x\x00y", "𝒳", '"'])
numbers = st.integers(0, 2) | st.just(2**32 - 1)
targets = st.one_of(
    st.builds(Target, st.just(""), paths, names, st.integers(0, 1), names, st.integers(0, 1)),
    st.builds(external, st.sampled_from(["stdlib", "flask"]), paths, names),
)
answers = (
    st.none()
    | st.just(UNBUILT)
    | st.lists(targets, max_size=3, unique=True).map(lambda found: tuple(sorted(found)))
)
gaps = st.tuples(st.integers(0, 70_000), st.integers(0, 70_000))


@st.composite
def file_relations(draw: st.DrawFn) -> FileRelations:
    """Any that a server could have led to, and some that none does: sites that overlap."""
    found, start = [], 0
    for gap, length in draw(st.lists(gaps, max_size=12)):
        start += gap
        site = Site(start, start + length, draw(names), draw(st.sampled_from(RelationKind)), draw(numbers))
        found.append(Relation.of(site, draw(answers)))
    blob = draw(st.sampled_from(["0" * 40, "1" * 64]).map(BlobId))
    return FileRelations(draw(paths), blob, draw(st.sampled_from(["python", "go"])), tuple(found))
