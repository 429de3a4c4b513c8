"""The drivers, one for each family of languages."""

from __future__ import annotations

from nibd.repair.servers import clangd, gopls, rust_analyzer, ty, typescript
from nibd.repair.servers.driver import Driver

DRIVERS: tuple[Driver, ...] = (
    ty.DRIVER,
    typescript.DRIVER,
    gopls.DRIVER,
    rust_analyzer.DRIVER,
    clangd.DRIVER,
)
_BY_LANGUAGE = {language: driver for driver in DRIVERS for language in driver.languages}
_BY_FAMILY = {driver.family: driver for driver in DRIVERS}


def driver_of(language: str) -> Driver | None:
    """The driver for a language of `nibd.repair.languages`; None when there are no relations in it."""
    return _BY_LANGUAGE.get(language)


def driver_of_family(family: str) -> Driver:
    return _BY_FAMILY[family]
