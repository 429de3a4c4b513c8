"""Where a server is known to say by accident that there is nothing, it is asked once more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nibd.repair.servers import gopls
from nibd.repair.servers.driver import Launch
from nibd.repair.servers.locations import Location
from nibd.repair.servers.server import LanguageServer
from nibd.stores.types import RepoPath
from scripted_server import write_server

FORGETFUL = """
if message["method"] == "initialize":
    reply({"capabilities": {}})
elif message["method"] == "textDocument/definition":
    line = message["params"]["position"]["line"]
    state[line] = state.get(line, 0) + 1
    if line == 0 or state[line] > 1:
        at = {"line": 7, "character": 0}
        reply([{"uri": message["params"]["textDocument"]["uri"], "range": {"start": at, "end": at}}])
    elif line == 1:
        reply(None)
    else:
        say({"id": message["id"], "error": {"code": 0, "message": "no object found"}})
elif "id" in message:
    reply(None)
"""


@pytest.mark.parametrize("doubts", [True, False])
def test_what_has_no_answer_is_asked_once_more(tmp_path: Path, doubts: bool) -> None:
    driver = replace(gopls.DRIVER, doubts_nothing=doubts)
    launch = Launch((str(write_server(tmp_path, FORGETFUL)),), {}, None, {})
    path = RepoPath(b"app.go")
    with LanguageServer.launched(driver, tmp_path, launch, lambda: launch) as server:
        answers = server.definitions([(path, line, 0) for line in range(3)])
        asked = server.requests["textDocument/definition"]

    there = (Location(path, (tmp_path / "app.go").as_uri(), 7, 0, 7, 0),)
    assert answers == [there, *([there, there] if doubts else [(), ()])]
    assert asked == (5 if doubts else 3)
