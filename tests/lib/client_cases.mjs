// The client for TypeScript, used by tests/lib/client_cases.py: a command on each line of standard input, its outcome on standard
// output. node client_cases.mjs MODULE
import process from "node:process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const belljar = await import(pathToFileURL(process.argv[2]).href);
let variables = {};

const camel = (name) => name.replace(/_([a-z])/g, (_, c) => c.toUpperCase());
const at = (path) => path.split(".").reduce((value, name) => value[name] ?? value[camel(name)], variables);

function given(value) {
  if (Array.isArray(value)) return value.map(given);
  if (typeof value !== "object" || value === null) return value;
  if ("of" in value) return at(value.of);
  if ("bytes" in value) return Uint8Array.from(value.bytes);
  if ("repeat" in value) return value.repeat.repeat(value.times);
  return Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, given(inside)]));
}

// The parts of a value that the shape names.
function project(value, shape) {
  if (value instanceof Uint8Array) return { bytes: [...value] };
  if (typeof shape !== "object" || shape === null || typeof value !== "object" || value === null) return value ?? null;
  if (Array.isArray(shape)) return Array.isArray(value) ? value.map((one, i) => project(one, shape[i] ?? null)) : value;
  return Object.fromEntries(Object.entries(shape).map(([name, inside]) => [name, project(value[name] ?? value[camel(name)], inside)]));
}

async function items(value, take) {
  const found = [];
  for await (const item of value) {
    found.push(item);
    if (found.length === take) break;
  }
  return found;
}

// Arguments before the fields, also where a case leaves them out.
const POSITIONS = { "files.list": 1, apply: 1, discard: 1, fork: 1, write: 1 };

async function call({ do: name, args = [], fields, take, as, shape }) {
  const [, owner, method] = /^(.*)\.(\w+)$/.exec(name);
  const target = at(owner);
  const all = args.map(given);
  if (fields) {
    while (all.length < (POSITIONS[method] ?? POSITIONS[name.split(".").slice(-2).join(".")] ?? 0)) all.push(undefined);
    all.push(given(fields));
  }
  let value = await target[camel(method)](...all);
  if (take || typeof value?.[Symbol.asyncIterator] === "function") value = await items(value, take);
  if (as) variables[as] = value;
  return project(value, shape ?? null);
}

const commands = {
  open: ({ options }) => {
    const given = Object.entries(options).map(([name, value]) => [camel(name), value]);
    variables = { client: new belljar.Client(Object.fromEntries(given)) };
    return null;
  },
  call,
  value: ({ of }) => at(of),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...rest } = JSON.parse(line);
  let outcome;
  try {
    outcome = { gives: await commands[command](rest) };
  } catch (error) {
    if (!(error instanceof belljar.BelljarError)) throw error;
    outcome = { fails: { ...project(error, rest.errors ?? {}), class: error.name } };
  }
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
