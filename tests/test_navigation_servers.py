"""Static navigation against real language servers: equal answers, kind by kind of what languages have."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitrepo import Repo
from language_servers import require, search
from nibd.bench import relations_inverse
from nibd.bench.relations_cases import Chain
from nibd.bench.relations_follow import How
from nibd.bench.report import Report
from relations_world import World

PYTHON = {
    "shop/__init__.py": "from shop.stock import Item as Thing, count\n\n__all__ = ['Thing', 'count']\n",
    "shop/stock.py": '''import functools


class Item:
    """What an Item is."""

    kind: str = "item"

    def __init__(self, size: int) -> None:
        self.size = size
        self.label = ""

    @property
    def area(self) -> int:
        return self.size * self.size

    def grow(self) -> None:
        self.size = self.size + 1
        self.label = self.kind


class Box(Item):
    def grow(self) -> None:
        super().grow()
        self.size += 1


@functools.cache
def count(items: tuple[Item, ...] = ()) -> int:
    total = 0
    for item in items:
        total = total + item.size
    return total
''',
    "app.py": """import shop.stock as stock
from shop import Thing, count

é = Thing(3); é.grow(); print(é.area, count((é,)))
box = stock.Box(4)
box.size = 7
stock.count((box,))
""",
}
JAVASCRIPT = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "types": []}}\n',
    "stock.ts": """export interface Sized { size: number; grow(): void }
export class Item implements Sized {
  constructor(public size: number) {}
  grow(): void { this.size = this.size + 1; }
}
export function count(items: Sized[]): number {
  let total = 0;
  for (const item of items) { total += item.size; }
  return total;
}
export default count;
""",
    "index.ts": 'export { Item as Thing } from "./stock";\nexport * as stock from "./stock";\n',
    "options.ts": """export type Options = { hooks?: string[]; retry: number };
export function make(options: Options) {
  const { hooks, retry } = options;
  const again = { hooks, retry };
  return [hooks, retry, again.hooks];
}
export function other({ hooks, retry: often }: Options) { return [hooks, often]; }
const given = { hooks: [], retry: 1 };
make(given); make({ hooks: [], retry: 2 });
""",
    "app.ts": """import sum, { Item as One } from "./stock";
import { Thing, stock } from "./index";
const é = new One(3), box = new Thing(4);
é.grow(); outer: for (;;) { break outer; }
export const all = sum([é, box]) + stock.count([é]);
""",
}
GO = {
    "go.mod": "module example.org/app\n\ngo 1.20\n",
    "stock/stock.go": """package stock

type Item struct {
	Size  int
	Label string
}

type Box struct {
	Item
	lid bool
}

func (i *Item) Grow() int { i.Size++; return i.Size }

func Count(items ...*Item) (total int) {
	for _, item := range items {
		total += item.Size
	}
	return
}
""",
    "main.go": """package main

import (
	"example.org/app/stock"
	again "example.org/app/stock"
)

func main() {
	one := &stock.Item{Size: 1, Label: "é"}
	box := again.Box{Item: *one}
outer:
	for {
		break outer
	}
	stock.Count(one, &box.Item)
	box.Grow()
}
""",
}
RUST = {
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/stock.rs": """pub trait Sized2 {
    fn size(&self) -> u32;
    fn twice(&self) -> u32 { self.size() + self.size() }
    fn same(&self, other: &Self) -> bool where Self: Sized { self.size() == other.size() }
}

pub struct Item { pub size: u32 }

impl Item {
    pub fn new(size: u32) -> Self { Item { size } }
}

impl Sized2 for Item {
    fn size(&self) -> u32 { self.size }
}

pub enum Shape { Round, Square(u32) }

impl Sized2 for Shape {
    fn size(&self) -> u32 {
        match self { Shape::Round => 0, Shape::Square(side) => *side }
    }
}
""",
    "src/lib.rs": """mod stock;

pub use stock::{Item as Thing, Sized2};
use stock::Shape;

pub fn total() -> u32 {
    let one = Thing::new(3);
    let shapes = vec![Shape::Round, Shape::Square(2)];
    let dynamic: &dyn Sized2 = &one;
    shapes.iter().map(|shape| shape.size()).sum::<u32>() + one.size() + dynamic.size() + one.twice()
}
""",
}
C = {
    "stock.h": """#ifndef STOCK_H
#define STOCK_H
#define LIMIT 3
typedef struct item { int size; struct item *next; } item_t;
enum color { RED, GREEN };
extern int counter;
int grow(item_t *item, int by);
static inline int size_of(const item_t *item) { return item->size; }
#endif
""",
    "stock.c": """#include "stock.h"
int counter = 0;
static int twice(int n);
int grow(item_t *item, int by) { counter += twice(by); item->size += by; return item->size; }
static int twice(int n) { return n + n; }
""",
    "app.c": """#include "stock.h"
int main(void) {
  item_t one = { .size = LIMIT, .next = 0 };
  const char *e = "é"; enum color c = GREEN;
  if (c == RED) goto done;
  grow(&one, size_of(&one) + counter);
done:
  return one.size + (e != 0);
}
""",
}
EXPLAINED = {
    "python": ("class Item ",),
    "javascript": (
        "variable size ",
        "method grow ",
        "method constructor ",
        "interface Sized ",
        "class Item ",
    ),
    "go": ("variable stock ", "struct Item "),
    "rust": ("struct Item ", "impl Item "),  # Thing is another name
    "c": (),
}
"""Of what servers say something else by themselves, as docs/relations.md has it: uses by another name
(Python, Rust), members of what a class implements, its imports for its constructor and among implementations
(TypeScript), the imports of a package for its clause, and that embedding is no implementation (Go)."""
PROJECTS = {"python": PYTHON, "javascript": JAVASCRIPT, "go": GO, "rust": RUST, "c": C}


@pytest.mark.parametrize("family", PROJECTS)
def test_static_answers_equal_those_of_the_server(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(family)
    home = search().home
    assert home is not None, "the user's own: HOME is a temporary one here, where rustup has nothing"
    if (home / ".rustup").is_dir():
        monkeypatch.setenv("RUSTUP_HOME", str(home / ".rustup"))
    repo = Repo(tmp_path / "repo")
    for path, text in PROJECTS[family].items():
        repo.write(path, text)
    repo.commit()
    report = Report("figures")
    how = How(tuple(search().folders), second=False, cold=0, again=0)
    relations_inverse.measure(Chain("made", repo.path, family, ()), how, 1_000, report)

    assert not any("unanswered" in figure.value for figure in report.figures)
    details = {name.split()[3]: listed for name, listed in report.details.items()}
    assert details["definitions"] == []
    for operation in ("references", "implementations"):
        others = [each for each in details[operation] if not each.startswith(EXPLAINED[family])]
        assert others == []


def test_an_attribute_is_where_its_name_stands(tmp_path: Path) -> None:
    """ty's range of `self.size` begins at `self`."""
    with World(tmp_path, "python", PYTHON) as world:
        world.relate()
        assert world.targets("app.py", "size") == ["shop/stock.py:Box.grow:size"]
