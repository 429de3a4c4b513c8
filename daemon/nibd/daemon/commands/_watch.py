"""The live view of `nibd status --watch` on a terminal."""

from __future__ import annotations

import time
from typing import Never

from rich.console import Console
from rich.live import Live
from rich.text import Text

from nibd.daemon.commands import _daemon
from nibd.daemon.commands._output import Style
from nibd.daemon.commands._status_text import render
from nibd.ipc.client import Client
from nibd.ipc.messages import JsonObject


def live(client: Client, params: JsonObject, status: JsonObject, interval_s: float) -> Never:
    """Draw the status in place, asking again and again, until interrupted or the daemon has gone."""
    console = Console()
    style = Style(console.color_system is not None and not console.no_color)
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as screen:
        while True:
            screen.update(Text.from_ansi(render(status, style, console.width)), refresh=True)
            time.sleep(interval_s)
            status = _daemon.expect(client.call("status", params))
