"""Become a language server that does not outlive its parent: `_launch.py PARENT PROGRAM ARGUMENT...`

Run as a script by a bare interpreter (`-I -S`), in place of code between fork and exec, which is not
safe in a process with threads. PR_SET_PDEATHSIG survives exec; a parent that died before it was set is
seen by its id. Linux only, elsewhere the end of stdin has to do.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    prctl = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)
    if prctl is not None and prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl(PR_SET_PDEATHSIG): {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the parent is gone")
    try:
        os.execv(sys.argv[2], sys.argv[2:])
    except OSError as error:
        sys.exit(f"{sys.argv[2]}: {error.strerror}")


if __name__ == "__main__":
    main()
