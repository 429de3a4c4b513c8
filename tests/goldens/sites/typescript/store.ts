// Types of every form, overloads, decorators, namespaces, enums.
import { type Reader, Writer as Sink } from "./io";
import legacy = require("./legacy");
import Short = legacy.deep.Name;
export * as tools from "./tools"; export type { Reader } from "./io";

declare module "äußeres" { export function attach(to: Sink): void; }
declare global { interface Window { größe: number } }

export interface Store<K extends string, V = unknown> extends Base<V>, legacy.Closable<K> {
  readonly name: K; value?: V;
  get(key: K): V | undefined;
  new (key: K): Store<K, V>;
  [index: string]: any;
}
type Values<T> = { readonly [P in keyof T]?: T[P] extends Array<infer Item> ? Item : never };
type Pair = [first: string, rest?: Values<Pair>]; type Of = typeof legacy.value;
enum Color { Red = 1, Grün = Red << 1, "quoted" }
const enum Flag { On }
namespace Outer.Inner { export const depth: number = Color.Red; }

function read(from: Reader): string;
function read(from: string, as: BufferEncoding): string;
function read(this: Window, from: any, { as = "é", ...more }: { as?: string } = {}): string { return from + as + more; }
function isSink(x: unknown): x is Sink { return (x as Sink).write !== undefined; }

@Component({ selector: "ü-store", providers: [Sink] })
export abstract class Memory<V extends object> extends legacy.Base<V> implements Store<string, V>, legacy.Closable<string> {
  private static instance?: Memory<any> = undefined; #items: Map<string, V> = new Map<string, V>();
  constructor(private readonly größe: number, @Inject(TOKEN) public sink: Sink) { super(); Memory.instance = this; }
  @Input("ä") get size(): number { return this.#items!.size; }
  abstract load<T>(key: keyof V, then: (value: T) => Promise<void>): asserts key is "x";
  put = async <T,>(key: string, value: T) => { await this.sink?.write!(key); this.größe satisfies number; this.#items.set(key, <any>value)!; };
}
let made: Memory<{ a: number }> | null = null, make: typeof Memory.prototype.put;
made = Outer.Inner.depth > 1 ? build<Memory<any>>(made!) : null; made!.size; register!(made); export = made;
