// function inComment() {}
import fs, { readFile as read, writeFile } from "node:fs";
import * as path from 'path';
import "./side-effect.js";
const util = require("util");
export { total as sum } from "./total.js";

const text = "function inString() {}";

/** A basket. */
export class Basket extends Base.Thing {
  #items = [];
  static limit = 10;
  constructor(owner, ...rest) {
    super(owner);
    this.#items = rest;
  }
  get size() { return this.#items.length; }
  async load(url, { retries = 3 } = {}) {
    for (let i = 0; i < retries; i++) {
      if (await fetch(url)) return read(path.join(".", url));
    }
  }
  handler = (event) => { this.add(event); };
}

function* items(basket) { yield* basket; }

async function total(basket, tax = 0.2) {
  const inner = (x) => x * tax;
  return basket.map(inner).reduce((a, b) => a + b, 0);
}

const helper = function named(a) { return new Basket(a); };
module.exports.late = function () { util.inspect?.(`${total({})}`); };
const table = { run(x) { return x; }, stop: () => eval("1"), [key]: 2 };
export default function () { table.run(helper()); }
