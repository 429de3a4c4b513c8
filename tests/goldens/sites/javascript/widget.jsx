// Modules, destructuring, classes, prototypes, JSX.
import fs, { readFile as read } from "node:fs";
import * as util from "./util.js";
export { helper as default, util } from "./helper.js";
const { join } = require("path");

const π = 3, [first, , { deep: second = first }, ...others] = util.load("é", π);
let count = 0;
({ count, total: util.total = π } = others); [count, util.last] = [1, 2];

class Widget extends util.Base {
  static #made = 0;
  label = "ü"; size = π;
  constructor({ width, height = width, ...options }, ...rest) {
    super(options);
    this.width = width; this.#grow(rest); Widget.#made++; this.stats.seen += 1;
  }
  #grow(by) { return this.width ?? by?.[0]?.size; }
  get area() { return this.width * height; }
  async *[Symbol.iterator]() { yield* this.items; }
}
Widget.prototype.draw = function draw(target) { target.paint(this, π); };
module.exports.make = (options) => new Widget(options);
new util.Widget; util.tag`é ${count} ${join(first, "x")}`;

export function List({ items, onPick }) {
  outer: for (const item of items) {
    for (count in item) { if (!count) continue outer; }
    for (util.key of items) break outer;
  }
  try { onPick(); } catch ({ message: text, code }) { console.log(text, code); }
  const shape = { items, kind: "é", draw() {}, "quoted": 1, [π]: 2, inner: { once: (e) => e.target } };
  return <ul className="é" onClick={() => onPick?.(shape)} {...shape}>
    <util.Row key={π} data-id="1">ü {items.map(item => <Widget {...item} />)}</util.Row>
  </ul>;
}
var self = this, args = function () { return arguments.length; };
count--; export default Widget;
