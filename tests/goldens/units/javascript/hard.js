#!/usr/bin/env node
'use strict';

/*!
 * licence
 */

/**
 * Module dependencies.
 * @private
 */

var a = require('a'), b = require("b").deep;
const { c, d: { e } } = require('./c-and-d');
require('side-effect');
require(dynamic + '.js');
require.resolve('not-loaded');
import f, * as g from "es";
import { h } from 'named';
export { default } from './default';
export { i as j } from "./renamed";
export * from './all';
const later = async () => { await import('./later.mjs'); };

/**
 * Expose `create()`.
 */

exports = module.exports = create;

// Creates.
function create(options) {
  var self = this;
  function inner() {}
  return inner;
}

module.exports.first = function (x) { return x; };
module.exports.second = function secondOwn(x) { return x; };
exports.third = async (x) => x;
exports.Fourth = class { m() {} };
exports.constant = 1;
module.exports = function exported() {};
module.exports = class Exported extends Base { static s() {} };
module.exports = {
  plain,
  method() {},
  arrow: () => {},
  'quoted': function () {},
  nested: { deep() {} },
};
module.exports = (x) => x;

function Job(name) {
  if (!(this instanceof Job)) return new Job(name);
  this.run = function () {};
  this.stop = () => {};
}

// Runs.
Job.prototype.run = function run(a, b) {
  var that = this;
  return that.steps.map(function (step) { return step; });
};
Job.prototype.stop = () => {};
Job.prototype['quoted'] = function () {};
Job.create = function create() {};
Job.prototype = {
  constructor: Job,
  literal: function () {},
  get state() { return 1; },
};
Job.prototype.constructor.deep = function () {};
$.fn.plugin = function (options) {};
window.onload = function () {};
app[method] = function dynamicOwn(path) {};
app[other] = function (path) {};
methods.forEach(function (method) {
  app[method] = function (path) {};
});

(function () {
  function inIife() {}
  var local = function () {};
  root.attached = function () {};
})();
(function named() { function inNamed() {} }());
!function (root, factory) { root.x = factory(); }(this, function () { function inFactory() {} });
;(() => { const inArrow = () => {}; })();

var x = function () {}, y = function ownName() {}, z = 1;
let later2;
later2 = function* () {};
const generator = function* gen() {};
const asyncGen = async function* () {};
const curried = (a) => (b) => (c) => a + b + c;
const paren = (function () {});
const immediately = (function () { return 1; })();
var both = exports.both = function () {};
const [destructured] = [() => {}];
const { fallback = () => {} } = {};

class Animal {
  #name = 'x';
  static #count = 0;
  static { function inStatic() {} }
  constructor(name) { this.#name = name; this.greet = () => name; }
  get name() { return this.#name; }
  set name(value) {}
  static of(...names) { return names; }
  #hidden() {}
  static async *stream() {}
  handler = (e) => {};
  static factory = function () {};
  ['computed']() {}
  [Symbol.iterator]() {}
  'quoted'() {}
  async() {}
  get() {}
  static static() {}
}
class Dog extends mixin(Animal, class Inline { im() {} }) {}
const Cat = class extends Animal { purr() {} };
@decorator
class Decorated {
  @bound
  method() {}
}

const api = {
  list() {},
  async get(id) { const helper = () => id; },
  *walk() {},
  async *drain() {},
  create: async function () {},
  update: (x) => x,
  options: merge({ onError: () => {} }),
  users: { find() {}, roles: { add: () => {} } },
  [key]: function () {},
};
const config = { a: 1, list: [function () {}] };
var Component = React.createClass({
  render: function () { return <div onClick={() => {}}>text</div>; },
  componentDidMount() {},
});
export const Button = React.forwardRef(({ label }, ref) => <button ref={ref}>{label}</button>);
const App = () => (
  <>
    <Button label="x" />
  </>
);
$.ajax({ url: 'x', success: function (data) {}, error() {} });
const result = $.map([], function (x) { return x; });

describe('thing', function () {
  it('works', function (done) {
    function helper() {}
    const stub = { call() {} };
    done();
  });
});

router.get('/path', async function handler(req, res) {});
setTimeout(function tick() { setTimeout(tick); }, 1);
promise.then(() => {}).catch(function (error) {});

// Sums.
export function sum(
  a,
  b = () => 1,
) {
  label: for (;;) { break label; }
  return a + b;
}
export async function* range() {}
export const one = () => 1, two = () => 2;

if (condition) {
  function conditional() {}
} else {
  var otherwise = function () {};
}

function génère(日本) {}
var $ = function () {}, _ = () => {};
<!-- html comment
function afterHtml() {}

export default {
  name: 'component',
  data() { return {}; },
  computed: { total() { return 1; }, cached: { get() {}, set(v) {} } },
  methods: { click: function () {} },
};

Plugin.install('view', {
  ready: function () { return { later: () => 1, now() {} }; },
  events: { 'click .close': function (event) {} },
  wait: _.debounce(function () {}, 100),
  sizes: [{ of: function () {} }],
});
module.exports = function (host) {
  return new Proxy({ get: function (target) {} }, host ? { sort: function by() {} } : { key: 1 });
};
