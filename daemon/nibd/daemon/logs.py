"""The daemon's log: one JSON object a line, an event name and fields, in a file that rotates."""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

import structlog


def configure(path: Path | None, level: str, max_bytes: int, files: int) -> None:
    """Send structlog's events to `path`, or to stderr where it is `None` or cannot be written.

    A full disk must not stop the daemon: a line that cannot be written is dropped.
    """
    handler: logging.Handler
    if path is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handler = RotatingFileHandler(path, maxBytes=max_bytes, backupCount=files, delay=True)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logging.raiseExceptions = False
    root = logging.getLogger("nibd")
    root.handlers = [handler]
    root.propagate = False
    root.setLevel(level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def logger(component: str) -> structlog.stdlib.BoundLogger:
    bound: structlog.stdlib.BoundLogger = structlog.get_logger(f"nibd.{component}").bind(component=component)
    return bound
