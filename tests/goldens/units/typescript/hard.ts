/* Copyright of the file, apart from what follows. */

import def, { type A, b as c } from "./default-and-named";
import * as everything from 'everything';
import type { OnlyType } from "../types";
import "side-effect";
import legacy = require("legacy");
import Alias = everything.deep.Thing;
export * from "./all";
export * as ns from "./as-namespace";
export {
  one,
  two as renamed,
} from "./several-lines";
export type { T1 } from './types-only';
export { c };

const fs = require("fs");
const notRequire = load("not-an-import");
const lazy = () => import("./lazy");

// Overloads.
export function over(a: string): string;
export function over(a: number): number;
// the one with a body
export function over(a: any): any {
  return a;
}

/**
 * A generic function.
 */
export async function generic<K extends keyof T, T = {}>(
  key: K,
  { a = 1, ...rest }: { a?: number; m(): void },
): Promise<T[K]> {
  function nested(): void {}
  const arrow = <U,>(u: U): U => u;
  return nested(), arrow(null as any);
}

export function* generate(): Generator<number> {
  yield* [1];
}
async function* stream() {}

function isString(x: unknown): x is string { return typeof x === "string" }
function assertIt(this: Window, x: unknown): asserts x {}

@Component({
  selector: "app",
  template: `<div>${1}</div>`,
})
// between decorator and class
export class Widget<T> extends Base<T> implements OnInit, OnDestroy {
  #secret = 1;
  static readonly count: number = 0;
  @Input() name!: string;
  declare field: string;

  static {
    const inStatic = () => {};
    inStatic();
  }

  constructor(
    private readonly http: Http,
    @Inject(TOKEN) public token?: string,
  ) {
    super();
  }

  // Handles.
  handle = async (event: Event): Promise<void> => {
    const inner = () => event;
    inner();
  };
  static create = function create<T>() { return new Widget<T>(); };
  debounced = debounce(() => {}, 100);
  mapped = this.items.map((x) => x);

  get value(): T { return this.#value(); }
  set value(v: T) {}

  @HostListener("window:resize", ["$event"])

  onResize(event: UIEvent): void {}

  @A @B()
  decorated?(): void {}

  #value(): T { return null!; }
  static async *[Symbol.asyncIterator]() {}
  "quoted name"() {}
  42() {}
  ["computed" + 1]() {}
  over(a: string): void;
  over(a: number): void;
  over(a: any): void {}
  override async method(): Promise<void> {}
  accessor acc = 1;
}

export abstract class Shape {
  abstract area(): number;
  protected abstract get name(): string;
  describe(): string { return this.name }
}

export interface Repository<T> extends Base {
  readonly id: string;
  find(id: string): Promise<T>;
  save?<U extends T>(value: U): void;
  get size(): number;
  callback: (error: Error) => void;
  new (x: string): Repository<T>;
  (call: number): void;
  [key: string]: any;
}

type Id = string | number;
export type Mapped<T> = {
  readonly [K in keyof T]?: T[K] extends (...args: infer A) => any ? A : never;
};
type WithMethods = { run(): void; stop: () => void };

export enum Colour { Red = "RED", Green = 1 << 2 }
declare const enum Fast { A }

namespace Outer.Inner {
  export namespace Deep {
    export function inDeep() {}
  }
  export const x = 1;
  export class InNamespace { m() {} }
}
export namespace Exported { export interface I { m(): void } }

declare module "external/module" {
  export function declared(a: string): void;
  export default declared;
  interface Options { go(): void }
}
declare module "*.svg";
declare global {
  interface Window { custom(): string }
  function globalFunction(): void;
  namespace NodeJS { interface Global {} }
}
declare function ambient(x: number): string;
declare class Ambient { method(): void; static s(): number }
declare let variable: () => void;

export const arrow = (a: number) =>
  a + 1;
// the longest
export const annotated: Handler<string> = async ({ a }) => { await a };
const first = () => 1, second = function () { return 2 };
let reassigned: () => void;
reassigned = () => {};
const asserted = ((x: number) => x) as Fn;
const satisfied = { a() {}, b: () => 1 } satisfies Record<string, () => void>;

export const api = {
  // Gets.
  get(id: string) { return id },
  async post<T>(body: T) {},
  put: async (id: string) => {},
  delete: function (id: string) {},
  nested: {
    deep() {},
    deeper: { deepest: () => {} },
  },
  plain: 1,
  get accessor() { return 1 },
  "quoted-key": () => {},
  [computed]: () => {},
  *generator() {},
  cls: class { inClass() {} },
};
const plainObject = { a: 1, b: [() => 1], c: { d: "e" } };
export const store = defineStore("main", {
  state: () => ({}),
  actions: { load() {}, clear: () => {} },
});

const Mixin = <B extends Constructor>(Base: B) => class extends Base { mixed() {} };
const Named = class Hidden { m() {} };

items.map((x) => { function inCallback() {} return x; });
describe("suite", () => {
  beforeEach(async () => {});
  it("does", () => {
    const helper = () => 1;
    function fixture() {}
  });
});

export default class {
  anonymous() {}
}

abstract class Assigned { private cb: () => void; constructor() { this.cb = () => {}; } }

export const memoized = useCallback(() => {}, []);
const timer = setTimeout(function tick() {}, 100);
const Lazy = lazyLoad(() => import("./lazy-component"));
const CONSTANT_VALUE = compute(() => 1);

/* trailing */ function afterComment() {} // same line
// last comment
