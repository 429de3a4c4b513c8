"""Installing, removing and inspecting the hooks of one checkout.

`install`, for each hook: find the file Git would run; when Git's folder and the file may be edited and the
text is fit for a block, record the original, then write the block into it, or make a file of its own.
`remove`: undo that wherever a record or a block is found, in the folder Git uses now and in those it used
when nibd installed. Both can be run again at any time, after any edit, and after having been killed.

One hook's trouble is that hook's report and does not keep the others from being done. Never makes a
non-executable hook run, never edits what the repository tracks, never touches what it did not write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from nibd.hooks import block as blocks
from nibd.hooks import files
from nibd.hooks.git import (
    Checkout,
    HooksFolder,
    default_folder,
    edit_refusal,
    hooks_folder,
    open_checkout,
)
from nibd.hooks.records import Record, Records, digest
from nibd.hooks.report import HOOK_NAMES, HookReport, HooksError, Outcome
from nibd.hooks.suitability import obstacle


def install(checkout: Path, marker: Path, records: Path) -> list[HookReport]:
    """Make every hook of the checkout touch `marker`; one report per hook, in the order of `HOOK_NAMES`.

    The marker belongs to the repository, not to the checkout: linked work trees share their hooks, and
    the last marker installed is the one that is touched. Raises `HooksError`.
    """
    block = blocks.render(marker)
    folder = hooks_folder(open_checkout(checkout))
    if folder.refusal:
        return [HookReport(n, folder.path / n, Outcome.LEFT_ALONE, folder.refusal) for n in HOOK_NAMES]
    with _locked(records) as kept:
        created, trouble = _make_folder(folder.path)
        if trouble:
            return [HookReport(n, folder.path / n, Outcome.FAILED, trouble) for n in HOOK_NAMES]
        installer = _Installer(folder, block, kept, created)
        reports = [_guarded(folder.path / name, installer.install) for name in HOOK_NAMES]
        if created:
            _remove_if_empty(folder.path)
        return reports


def remove(checkout: Path, records: Path) -> list[HookReport]:
    """Undo `install` for the checkout, which may be gone.

    One report per hook that Git runs now, and one for each hook elsewhere that nibd had a part in.
    A hook that other checkouts still use stays, and its report names one of them. Raises `HooksError`
    when the path is no checkout and nothing is on record for it.
    """
    with _locked(records) as kept:
        try:
            opened = open_checkout(checkout)
        except HooksError:
            user = Path(os.path.realpath(checkout))
            theirs = [record.hook for record in kept.all() if user in record.users]
            if not theirs:
                raise
            return [_guarded(path, _Remover(user, None, kept).remove) for path in theirs]
        kept.drop_orphans()
        remover = _Remover(opened.top, opened, kept)
        reports = [_guarded(path, remover.remove) for path in _current(opened)]
        seen = {report.path for report in reports}
        former = [path for path in dict.fromkeys(_former(opened, kept)) if path not in seen]
        more = [_guarded(path, remover.remove) for path in former]
        return reports + [report for report in more if report.outcome is not Outcome.ABSENT]


def inspect(checkout: Path, marker: Path) -> list[HookReport]:
    """What is there now, for `status` and `doctor`; writes nothing. Raises `HooksError`.

    Outcomes: installed, chained, outdated (another marker or an older block), absent (could be
    installed), left_alone (can't be, or is there but Git would not run it), failed (can't be read).
    """
    block = blocks.render(marker)
    folder = hooks_folder(open_checkout(checkout))

    def look(path: Path) -> HookReport:
        file = files.read(path)
        reason = _refusal(folder, file)
        if reason:
            return HookReport(path.name, path, Outcome.LEFT_ALONE, reason)
        return HookReport(path.name, path, _state(file.text, block))

    return [_guarded(folder.path / name, look) for name in HOOK_NAMES]


class _Installer:
    """Puts one block into the hooks of one folder."""

    def __init__(self, folder: HooksFolder, block: bytes, records: Records, folder_created: bool) -> None:
        self._folder = folder
        self._block = block
        self._records = records
        self._folder_created = folder_created

    def install(self, path: Path) -> HookReport:
        files.sweep(path.parent)
        file = files.read(path)
        reason = _refusal(self._folder, file)
        if reason:
            return HookReport(path.name, path, Outcome.LEFT_ALONE, reason)
        state = _state(file.text, self._block)
        if file.text is None:
            text = blocks.own_file(self._block)
            self._remember(path, None, text)
            files.create(path, text)
            return HookReport(path.name, path, Outcome.INSTALLED)
        text = blocks.place(file.text, self._block)
        self._remember(path, file.text, text)
        if text == file.text:
            return HookReport(path.name, path, Outcome.UNCHANGED)
        files.replace(path, file.text, text)
        outcome = Outcome.UPDATED if state is Outcome.OUTDATED else Outcome.CHAINED
        return HookReport(path.name, path, outcome)

    def _remember(self, path: Path, old: bytes | None, new: bytes) -> None:
        before = self._records.find(path)
        if before and old is not None and before.is_unedited(old):
            original = before.original
        else:
            original = _without_block(old)
        users = [user for user in (before.users if before else ()) if user.exists()]
        checkout = self._folder.checkout
        after = Record(
            hook=path,
            common_dir=checkout.common_dir,
            original=original,
            written=digest(new),
            folder_created=self._folder_created or (before.folder_created if before else False),
            users=tuple(sorted({*users, checkout.top})),
        )
        if after != before:
            self._records.save(after)


class _Remover:
    """Takes one user's hooks away. `checkout` is `None` when the user's work tree is gone."""

    def __init__(self, user: Path, checkout: Checkout | None, records: Records) -> None:
        self._user = user
        self._checkout = checkout
        self._records = records

    def remove(self, path: Path) -> HookReport:
        files.sweep(path.parent)
        record = self._records.find(path)
        file = files.read(path)
        if file.text is None or not blocks.holds_block(file.text):
            self._records.drop(path)
            return HookReport(path.name, path, Outcome.ABSENT)
        others = [user for user in (record.users if record else ()) if user != self._user and user.exists()]
        if record and others:
            self._records.save(replace(record, users=tuple(others)))
            return HookReport(path.name, path, Outcome.UNCHANGED, f"{others[0]} still uses it")
        reason = self._refusal(file, file.text)
        if reason:
            return HookReport(path.name, path, Outcome.LEFT_ALONE, f"take nibd's block out by hand: {reason}")
        report = _undo(path, file.text, record)
        self._records.drop(path)
        if record and record.folder_created:
            _remove_if_empty(path.parent)
        return report

    def _refusal(self, file: files.HookFile, text: bytes) -> str | None:
        if blocks.is_broken(text):
            return "its end line is missing"
        if file.obstacle or self._checkout is None:
            return file.obstacle
        return edit_refusal(self._checkout, file.path)


def _undo(path: Path, text: bytes, record: Record | None) -> HookReport:
    if record and record.is_unedited(text):
        if record.original is None:
            path.unlink()
            return HookReport(path.name, path, Outcome.REMOVED)
        files.replace(path, text, record.original)
        return HookReport(path.name, path, Outcome.RESTORED)
    rest = blocks.take_out(text)
    if rest == blocks.SHEBANG and (record is None or record.original is None):
        path.unlink()
        return HookReport(path.name, path, Outcome.REMOVED)
    files.replace(path, text, rest)
    why = "it was edited since" if record else "the original was not on record"
    return HookReport(path.name, path, Outcome.REMOVED, f"{why}; only the block was taken out")


def _refusal(folder: HooksFolder, file: files.HookFile) -> str | None:
    """Why nibd does not write this hook: whose it is, what kind of file it is, or what it says."""
    reason = folder.refusal_of(file.path.name) or file.obstacle
    if reason or file.text is None:
        return reason
    if not file.executable:
        return "it is not executable, so Git ignores it and nibd does not make it run"
    if blocks.is_broken(file.text):
        return "nibd's block in it has lost its end line"
    return obstacle(blocks.take_out(file.text))


def _state(text: bytes | None, block: bytes) -> Outcome:
    if text is None or not blocks.holds_block(text):
        return Outcome.ABSENT
    if blocks.place(text, block) != text:
        return Outcome.OUTDATED
    return Outcome.INSTALLED if text == blocks.own_file(block) else Outcome.CHAINED


def _without_block(text: bytes | None) -> bytes | None:
    """The user's part of a hook file, `None` when there is none."""
    if text is None:
        return None
    rest = blocks.take_out(text)
    return None if rest == blocks.SHEBANG and rest != text else rest


def _current(checkout: Checkout) -> list[Path]:
    """The hook files Git runs for this checkout; where these aren't ours to edit, the default ones."""
    folder = hooks_folder(checkout)
    place = default_folder(checkout) if folder.refusal else folder.path
    return [place / name for name in HOOK_NAMES]


def _former(checkout: Checkout, records: Records) -> list[Path]:
    """Where else blocks may be: hooks on record from before core.hooksPath changed, and the default ones."""
    recorded = [
        record.hook
        for record in records.all()
        if checkout.top in record.users
        or (record.common_dir == checkout.common_dir and not any(user.exists() for user in record.users))
    ]
    return [*recorded, *(default_folder(checkout) / name for name in HOOK_NAMES)]


def _make_folder(folder: Path) -> tuple[bool, str]:
    """Make a missing hooks folder (only ever one in the Git directory); whether it was, and what failed."""
    try:
        if folder.exists():
            return False, ""
        folder.mkdir(parents=True)
    except OSError as error:
        return False, _message(error)
    return True, ""


def _remove_if_empty(folder: Path) -> None:
    # One that is not empty, or can't be removed, does no harm.
    with suppress(OSError):
        folder.rmdir()


def _guarded(path: Path, step: Callable[[Path], HookReport]) -> HookReport:
    try:
        return step(path)
    except OSError as error:
        return HookReport(path.name, path, Outcome.FAILED, _message(error))


@contextmanager
def _locked(folder: Path) -> Iterator[Records]:
    records = Records(folder)
    try:
        with records.locked():
            yield records
    except OSError as error:
        raise HooksError(f"the records folder {folder} can't be used: {_message(error)}") from error


def _message(error: OSError) -> str:
    return error.strerror or str(error)
