"""Objects from long-lived `git cat-file` children.

A child is started when first needed and again when it ended: it may have been killed, or have died
of a damaged object. An object that two children in a row die of is `CORRUPT`. Git does not check
that a loose object's content fits its name, so that is done here.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from nibd.repair.git.errors import Unsupported
from nibd.repair.git.location import Format
from nibd.repair.git.loose import is_loose, object_folders
from nibd.repair.git.objects import Header, RawObject
from nibd.repair.git.types import Absence, CheckoutLocation

_PIPELINED = 32
"""Requests written before the first answer is read: they must fit into the smallest pipe (4 KiB)."""
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class ChildEndedError(Exception):
    """The child ended before it answered."""


class CatFile:
    """One child. `mode` is `--batch` (headers, each followed by content) or `--batch-check`."""

    def __init__(self, executable: Path, git_dir: Path, mode: str, environment: Mapping[str, str]) -> None:
        self._command = [str(executable), f"--git-dir={git_dir}", "cat-file", mode]
        self._environment = dict(environment)
        self._child: subprocess.Popen[bytes] | None = None

    def ask(self, oids: Iterable[str]) -> None:
        """Write requests; as many answers must be read before the next ones are written."""
        child = self._child or self._start()
        assert child.stdin is not None
        try:
            child.stdin.write("".join(f"{oid}\n" for oid in oids).encode())
            child.stdin.flush()
        except OSError as error:
            self.stop()
            raise ChildEndedError from error

    def header(self) -> Header | None:
        """The next answer's header; `None` when the object is missing."""
        assert self._child is not None
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line.endswith(b"\n"):
            self.stop()
            raise ChildEndedError
        _, kind, *size = line.decode().split()
        return Header(kind, int(size[0])) if size else None

    def content(self, size_bytes: int) -> bytes:
        """The content that follows the header of `size_bytes`."""
        assert self._child is not None
        assert self._child.stdout is not None
        data = self._child.stdout.read(size_bytes + 1)
        if len(data) != size_bytes + 1:
            self.stop()
            raise ChildEndedError
        return data[:-1]

    def stop(self) -> None:
        """End the child; the next request starts another."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.communicate()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            self._child = subprocess.Popen(
                self._command,
                cwd="/",
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise Unsupported(f"git can't be run: {error}") from error
        return self._child


class CommandObjects:
    """The object database of a checkout's repository, read by two children.

    In a partial clone a child may also die of an object that it was kept from fetching, so there
    what ended two of them is called missing.
    """

    def __init__(
        self, executable: Path, location: CheckoutLocation, form: Format, environment: Mapping[str, str]
    ) -> None:
        self._contents = CatFile(executable, location.git_dir, "--batch", environment)
        self._headers = CatFile(executable, location.git_dir, "--batch-check", environment)
        self._object_format = form.object_format
        self._deadly = Absence.MISSING if form.is_partial else Absence.CORRUPT
        self._folders = object_folders(location.common_dir)

    def get(self, oid: str) -> RawObject | Absence:
        if not _ID.fullmatch(oid):
            return Absence.MISSING
        for _ in range(2):
            try:
                self._contents.ask([oid])
                return self._object(oid)
            except ChildEndedError:
                continue
        return self._deadly

    def get_many(self, oids: Iterable[str]) -> Iterator[RawObject | Absence]:
        remaining = iter(oids)
        while batch := list(islice(remaining, _PIPELINED)):
            # All answers are read before any is handed on: the receiver may ask for others.
            yield from self._batch(batch)

    def _batch(self, oids: list[str]) -> list[RawObject | Absence]:
        answers: list[RawObject | Absence] = []
        if all(_ID.fullmatch(oid) for oid in oids):
            try:
                self._contents.ask(oids)
                for oid in oids:
                    answers.append(self._object(oid))
            except ChildEndedError:
                pass  # one of the rest ended it: each is asked for alone
        answers.extend(self.get(oid) for oid in oids[len(answers) :])
        return answers

    def _object(self, oid: str) -> RawObject | Absence:
        header = self._contents.header()
        if header is None:
            return self._absent(oid)
        data = self._contents.content(header.size_bytes)
        digest = hashlib.new(self._object_format, usedforsecurity=False)
        digest.update(f"{header.kind} {len(data)}\0".encode())
        digest.update(data)
        return RawObject(header.kind, data) if digest.hexdigest() == oid else Absence.CORRUPT

    def header(self, oid: str) -> Header | Absence:
        if not _ID.fullmatch(oid):
            return Absence.MISSING
        for _ in range(2):
            try:
                self._headers.ask([oid])
                return self._headers.header() or self._absent(oid)
            except ChildEndedError:
                continue
        return self._deadly

    def _absent(self, oid: str) -> Absence:
        """Git calls a damaged loose object missing; its file is there all the same."""
        return Absence.CORRUPT if any(is_loose(folder, oid) for folder in self._folders) else Absence.MISSING

    def close(self) -> None:
        self._contents.stop()
        self._headers.stop()
