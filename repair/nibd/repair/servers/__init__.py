"""Language servers, run on a private tree: found, started, told of changes, settled, asked.

Map: `registry` has the five drivers (`ty`, `typescript`, `gopls`, `rust_analyzer`, `clangd`), `driver` the
types that they are made of, `programs` how programs are found; `server` is a running one, over `transport`
(JSON-RPC, many questions in flight), `process`, `outbox` and `inbound` (what the server asks and tells);
`by_file` is one that has a process for each file that it is asked about; `locations` and `positions` are what
questions and answers are made of.

    driver = driver_of("python")
    installed = driver.find(Search(path=PATH, forbidden=(checkout,)))      # Installed | Missing
    with start_server(driver, installed, tree, Options(cache=folder)) as server:
        server.open_all(paths)
        server.settle(30, probes=requests[:32])                           # Settled | Unknown
        answers = server.definitions(requests)                            # [(Location, ...) | Unknown]
        server.changed(added, modified, deleted)                          # after the tree has moved

Rules that hold throughout: unknown is never empty; a server is settled before it is read; nothing of the
repository's is run unless its owner trusts it; nothing here reads this process's environment or logs.
"""

from __future__ import annotations

from nibd.repair.servers.by_file import start_server
from nibd.repair.servers.driver import Driver, Guard, Installed, Missing, Options, Search
from nibd.repair.servers.errors import ServerError, ServerFailed, Unknown
from nibd.repair.servers.locations import Location, path_of_uri
from nibd.repair.servers.positions import Lines
from nibd.repair.servers.registry import DRIVERS, driver_of, driver_of_family
from nibd.repair.servers.server import LanguageServer, Locations, Request, Settled

__all__ = [
    "DRIVERS",
    "Driver",
    "Guard",
    "Installed",
    "LanguageServer",
    "Lines",
    "Location",
    "Locations",
    "Missing",
    "Options",
    "Request",
    "Search",
    "ServerError",
    "ServerFailed",
    "Settled",
    "Unknown",
    "driver_of",
    "driver_of_family",
    "path_of_uri",
    "start_server",
]
