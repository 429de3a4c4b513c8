"""The commands of `nibd`, one module each, loaded by `nibd.daemon.cli` when asked for.

A command's module has

- `ABOUT`: what it does, one sentence;
- `configure(parser)`: adds its arguments (`--json` is there already);
- `run(arguments)`: does it and returns an exit code of `_failures.Exit`.

Modules that begin with `_` are shared by commands. `search`, `symbols`, `outline`, `status` and `list`
import nothing heavy (no dataclasses, subprocess, pygit2, rich): their time is mostly imports.
"""
