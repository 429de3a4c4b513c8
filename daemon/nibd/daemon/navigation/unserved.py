"""That no snapshot has the relations that a question needs, and why."""

from __future__ import annotations

from nibd.ipc.messages import ErrorCode, RpcError
from nibd.stores.relation_types import FAMILIES
from nibd.stores.snapshot import Publication, ViewRecord
from nibd.stores.types import State, View


class UnservedError(Exception):
    """This snapshot has not the relations of `family` that are needed; another one may have."""

    def __init__(self, family: str, message: str) -> None:
        super().__init__(message)
        self.family = family


def may_serve(publication: Publication) -> bool:
    """Whether a snapshot has relations of any family."""
    return any(record.serves for record in publication.snapshot.relations.values())


def refusal(
    family: str,
    where: str,
    newest: Publication | None,
    message: str,
    record: ViewRecord | None,
    progress: str,
) -> RpcError:
    """Why no snapshot has what is asked for, as the newest one has it. `record` is the family's as of now,
    `progress` what is being done of relations there, empty if nothing is."""
    if record is None and newest:
        reason = newest.snapshot.views[View.STRUCTURAL].capabilities.get("relations")
        if reason:
            return RpcError(ErrorCode.VIEW_ABSENT, f"{where} has no relations of {family}: {reason}")
        languages = " or ".join(FAMILIES[family])
        why = f"it has no files in {languages} at {newest.commit[:10]}"
        return RpcError(ErrorCode.VIEW_ABSENT, f"{where} has no relations of {family}: {why}")
    is_tried = record is not None and record.state is State.FAILED and bool(progress)
    if record and record.state in (State.ABSENT, State.FAILED) and not record.serves and not is_tried:
        code = ErrorCode.VIEW_ABSENT if record.state is State.ABSENT else ErrorCode.VIEW_NOT_READY
        return RpcError(code, f"{where} has no relations of {family}: {record.reason}")
    why = progress or (record.reason if record else None) or "they are being built"
    wait = "`nibd wait --view relations` comes back when they are there"
    return RpcError(ErrorCode.VIEW_NOT_READY, f"{where}: {message}: {why}; {wait}")
