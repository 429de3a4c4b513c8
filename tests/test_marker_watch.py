"""The marker folder's watch: a touch is seen, a folder made anew is followed, a refusal is told."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

from nibd.daemon.marker_watch import MarkerWatch

PATIENCE_S = 30


class Seen:
    """What a watch has told so far, to be waited for."""

    def __init__(self) -> None:
        self.markers: list[Path] = []
        self.refusals: list[str] = []
        self._news = asyncio.Event()

    def changed(self, markers: set[Path]) -> None:
        self.markers += sorted(markers)
        self._news.set()

    async def one_more(self) -> Path:
        """The next marker told that was not fetched so."""
        while not self.markers:
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), PATIENCE_S)
        return self.markers.pop(0)


def _touch_as_a_hook(marker: Path) -> None:
    subprocess.run(["sh", "-c", 'true >|"$0"', marker], check=True)


def test_each_touch_of_a_marker_is_seen(tmp_path: Path) -> None:
    async def scenario() -> None:
        seen = Seen()
        watch = MarkerWatch(tmp_path, seen.changed, seen.refusals.append)
        watch.watch()
        for _ in range(2):  # the second finds an empty file, and leaves one
            _touch_as_a_hook(tmp_path / "one")
            assert await seen.one_more() == tmp_path / "one"
        watch.close()
        assert seen.refusals == []

    asyncio.run(scenario())


def test_what_was_touched_before_the_watch_began_is_told_at_its_start(tmp_path: Path) -> None:
    _touch_as_a_hook(tmp_path / "early")

    async def scenario() -> None:
        seen = Seen()
        watch = MarkerWatch(tmp_path, seen.changed, seen.refusals.append)
        watch.watch()
        watch.watch()  # watched already: nothing new
        assert seen.markers == [tmp_path / "early"]
        watch.close()

    asyncio.run(scenario())


def test_a_folder_that_is_made_anew_is_another_folder(tmp_path: Path) -> None:
    folder = tmp_path / "markers"
    folder.mkdir()

    async def scenario() -> None:
        seen = Seen()
        watch = MarkerWatch(folder, seen.changed, seen.refusals.append)
        watch.watch()
        shutil.rmtree(folder)
        watch.watch()  # nothing to watch yet
        folder.mkdir()
        watch.watch()
        _touch_as_a_hook(folder / "again")
        assert await seen.one_more() == folder / "again"
        watch.close()

    asyncio.run(scenario())


def test_a_refusal_is_told_and_another_try_may_succeed(tmp_path: Path) -> None:
    folder = tmp_path / "markers"
    folder.write_text("a file where the folder should be")

    async def scenario() -> None:
        seen = Seen()
        watch = MarkerWatch(folder, seen.changed, seen.refusals.append)
        watch.watch()
        (refusal,) = seen.refusals
        assert str(folder) in refusal
        folder.unlink()
        folder.mkdir()
        watch.watch()
        _touch_as_a_hook(folder / "one")
        assert await seen.one_more() == folder / "one"
        watch.close()

    asyncio.run(scenario())
