"""systemd user units: their text and installation, readiness and watchdog, socket activation.

- `units`: renders `nibd.service` and `nibd.socket` from the templates beside it.
- `files`: writes and removes them, never over a unit that a person edited.
- `manager`: asks and tells the user's service manager through `systemctl --user`.
- `notify`: tells a service manager that the daemon is ready, alive or stopping.
- `activation`: takes over the sockets that a service manager listens on.

It imports nothing else of nibd and reads no environment: callers pass mappings and paths.
"""
