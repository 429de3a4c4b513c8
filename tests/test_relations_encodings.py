"""Sources that are not plain UTF-8: servers are asked about the text that units and sites are of."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from nibd.stores.types import Assurance
from relations_world import World

PYTHON = (
    "lib.py",
    'def greet(name): return polite("é", name)\n\n\ndef polite(sign, name): return name\n\n\ngreet("é")\n',
)
GO = (
    "lib.go",
    'package app\n\nfunc greet(n string) string { x := "é"; return polite(x, n) }\n\n'
    'func polite(sign, n string) string { return n }\n\nvar _ = greet("é")\n',
)
C = (
    "lib.c",
    'int polite(const char *s) { return s[0]; }\nint greet(void) { const char *s = "é"; return polite(s); }\n'
    "int use(void) { return greet(); }\n",
)
ENCODED = {
    "latin-1": lambda text: text.encode("latin-1"),
    "UTF-8 with a mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16 with a mark": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
}


@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize(("family", "source"), [("python", PYTHON), ("go", GO), ("c", C)], ids=str)
def test_they_have_the_relations_that_they_have_in_utf_8(
    family: str, source: tuple[str, str], encoding: str, tmp_path: Path
) -> None:
    path, text = source
    with World(tmp_path, family, {"go.mod": "module app\n\ngo 1.21\n"}) as world:
        world.repo.write(path, ENCODED[encoding](text))
        world.commit({})
        assert world.relate().record.assurance is Assurance.EXACT
        for name in ("polite", "greet"):
            assert all(world.targets(path, name, nth) == [f"{path}:{name}:{name}"] for nth in (0, 1))
        encoded = world.contents()
        world.commit({path: text})
        world.relate()
        world.verify()
        assert [each.relations for each in encoded.values()] == [
            each.relations for each in world.contents().values()
        ]
