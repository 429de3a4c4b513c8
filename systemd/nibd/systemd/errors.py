"""What can go wrong here.

SystemdError
├── UnitTextError       a path or value cannot be written in a unit file
├── ManagerUnavailable  no user service manager answers; the units themselves can still be written
├── ManagerRefused      the manager answered and did not do it
├── NotifyError         the notify socket cannot be used
└── ActivationError     what was passed as a listening socket is not one
"""

from __future__ import annotations


class SystemdError(Exception):
    """The root; its text is fit to be shown."""


class UnitTextError(SystemdError):
    pass


class ManagerUnavailable(SystemdError):  # noqa: N818 - a state of the machine, named as one
    pass


class ManagerRefused(SystemdError):  # noqa: N818
    pass


class NotifyError(SystemdError):
    pass


class ActivationError(SystemdError):
    pass
