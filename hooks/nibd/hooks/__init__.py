"""Git hooks that tell nibd that HEAD may have moved: installing, chaining, inspecting, removing them.

A hook of nibd's does one thing: it touches the *marker*, a file outside the checkout whose folder the
daemon watches. It is a hint and nothing more, so a hook that can't be placed costs delay, not truth;
wherever placing one could change what a user's own hook does, the user's hook is left alone and the
report says why.

Imports nothing of nibd but itself, logs nothing, reads no configuration but Git's.
"""

from nibd.hooks.operations import inspect, install, remove
from nibd.hooks.report import HOOK_NAMES, HookReport, HooksError, Outcome

__all__ = ["HOOK_NAMES", "HookReport", "HooksError", "Outcome", "inspect", "install", "remove"]
