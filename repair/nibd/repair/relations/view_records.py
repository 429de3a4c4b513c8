"""What is published of a family's relations: the record of a view, and what its answers lack, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nibd.repair.relations.parts import Part
from nibd.repair.relations.repair import Resolved
from nibd.repair.servers.driver import Driver
from nibd.repair.servers.server import MOST_PLACES
from nibd.repair.text import is_utf8
from nibd.stores.relations import UnknownSites
from nibd.stores.snapshot import Coverage, ViewRecord, resolution_artifact
from nibd.stores.types import Assurance, ProfileId, State

SAID_REMARKS = 5


@dataclass(frozen=True, slots=True)
class Lacking:
    """Sites of which nothing is known: those that got no answer, and those in files that are not built.

    Of the latter, those are `unnamed` in files that no server is told of, since their names are not UTF-8.
    """

    unanswered: int
    unbuilt: int
    unbuilt_files: int
    unnamed: int = 0
    unnamed_files: int = 0

    @classmethod
    def of(cls, found: Sequence[UnknownSites]) -> Lacking:
        unbuilt = [each for each in found if each.unbuilt]
        unnamed = [each for each in unbuilt if not is_utf8(each.path)]
        return cls(
            sum(each.unanswered for each in found),
            sum(each.unbuilt for each in unbuilt),
            len(unbuilt),
            sum(each.unbuilt for each in unnamed),
            len(unnamed),
        )

    @property
    def counts(self) -> dict[str, int]:
        """As a record has them."""
        return {"unknown": self.unanswered + self.unbuilt, "unbuilt": self.unbuilt}


def what_lacks(
    driver: Driver,
    lacking: Lacking,
    remarks: Sequence[str],
    *,
    unanswered: int = 0,
    why: str | None = None,
) -> str | None:
    """What the answers lack, in words: `unanswered` sites are known, but not confirmed at this tree.

    `remarks` are what the server says of itself; `why` some sites got no answer, as far as that was told.
    """
    said, unknown = [], lacking.unanswered
    if unknown:
        because = f" ({why})" if why else ""
        said.append(f"the language server gave no answer for {_counted(unknown, 'sites')}{because}")
    if unanswered > unknown:
        said.append(f"{unanswered - unknown} more could not be verified, as it gave no answer then")
    leaves_out = driver.leaves_out
    sites, files = lacking.unbuilt - lacking.unnamed, lacking.unbuilt_files - lacking.unnamed_files
    if sites:
        where = f"{_counted(sites, 'sites')} in {_counted(files, 'files')}"
        left_out = f"that the build leaves out ({leaves_out.why}), or " if leaves_out else ""
        crowded = f"whose names lead to more than {MOST_PLACES} places"
        said.append(f"nothing is known of {where} {left_out}{crowded}")
    if lacking.unnamed:
        where = f"{_counted(lacking.unnamed, 'sites')} in {_counted(lacking.unnamed_files, 'files')}"
        said.append(f"nothing is known of {where} with a name that is not UTF-8, which no server is told of")
    return "; ".join(filter(None, [*said, limits_of(remarks)])) or None


def limits_of(remarks: Sequence[str]) -> str | None:
    """What any site may be concerned by: the part of what lacks that the server says of itself."""
    more = len(remarks) - SAID_REMARKS
    left = [f"and {more} more of this kind"] if more > 0 else []
    return "; ".join([*remarks[:SAID_REMARKS], *left]) or None


def _counted(count: int, what: str) -> str:
    return f"{count} {what.removesuffix('s') if count == 1 else what}"


def record_of(
    profile: ProfileId, resolved: Resolved, lacking: Lacking, assurance: Assurance, is_built: bool
) -> ViewRecord:
    """`is_built`: every site was asked at this tree."""
    totals = resolved.totals
    verified = totals.files if is_built and not lacking.unanswered else 0
    return ViewRecord(
        State.READY,
        Assurance.PARTIAL if lacking.unanswered else assurance,
        profile=profile,
        artifact=resolution_artifact(resolved.resolution, resolved.records),
        coverage=Coverage(totals.files, totals.files),
        counts={
            "files": totals.files,
            "sites": totals.sites,
            **lacking.counts,
            "verified": verified,
        },
        work={
            "seconds": resolved.seconds,
            "cut": resolved.cut,
            "asked": sum(resolved.asked.values()),
            **{f"asked_{rule}": count for rule, count in resolved.asked.items()},
            **{f"changed_{rule}": count for rule, count in resolved.changed.items()},
        },
    )


def record_of_part(profile: ProfileId, part: Part) -> ViewRecord:
    """What is said of a build while it goes on."""
    unasked = part.sites - part.done.sites
    return ViewRecord(
        State.BUILDING,
        Assurance.PARTIAL,
        profile=profile,
        artifact=resolution_artifact(part.resolution, part.records),
        coverage=Coverage(part.done.files, part.files),
        reason=f"{unasked} of {part.sites} sites are still to be asked about",
        counts={
            "files": part.done.files,
            "sites": part.sites,
            "unknown": unasked + part.done.unknown,
            "unasked": unasked,
            "verified": 0,
        },
    )
