/** @import * as Api from "../types/api.js" */
import { ProgramFailed, ProtocolError } from "./errors.js";
import { fromBase64, printable } from "./text.js";

/** @typedef {NonNullable<Api.Result["error"]>} ProgramError */
/** @typedef {{ path: string, size: number, content: Uint8Array<ArrayBuffer> | null }} Collected */

const PROTOCOL_WORDS = "the server's answer";

/**
 * A member of an answer, of the type that it must have.
 * @template {"string" | "number" | "boolean"} K
 * @param {any} raw
 * @param {string} name
 * @param {K} kind
 * @returns {K extends "string" ? string : K extends "number" ? number : boolean}
 */
export function member(raw, name, kind) {
  const value = raw?.[name];
  if (typeof value !== kind) throw new ProtocolError(`${PROTOCOL_WORDS} has no \`${name}\``);
  return value;
}

/**
 * A list of an answer. Absent, it is empty if it may be.
 * @template T
 * @param {any} raw
 * @param {string} name
 * @param {boolean} [isOptional]
 * @returns {T[]}
 */
export function list(raw, name, isOptional = false) {
  const value = raw?.[name] ?? (isOptional ? [] : null);
  if (!Array.isArray(value)) throw new ProtocolError(`${PROTOCOL_WORDS} has no \`${name}\``);
  return value;
}

/**
 * @param {any} raw
 * @param {string} name
 */
function textOf(raw, name) {
  return raw[name] === undefined ? "" : member(raw, name, "string");
}

/**
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
function decoded(text) {
  try {
    return fromBase64(text);
  } catch (cause) {
    throw new ProtocolError(`${PROTOCOL_WORDS} has invalid base64`, { cause });
  }
}

/**
 * The bytes of a display: pictures as they are, text and JSON as UTF-8.
 * @param {Api.Display} display
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function displayBytes(display) {
  const text = typeof display.data === "string" ? display.data : JSON.stringify(display.data ?? null);
  return display.encoding === "base64" ? decoded(text) : new TextEncoder().encode(text);
}

/**
 * @param {any} raw
 * @returns {Collected}
 */
function readCollected(raw) {
  const content = typeof raw?.content !== "string" ? null : raw.encoding === "base64" ? decoded(raw.content) : new TextEncoder().encode(raw.content);
  return { path: member(raw, "path", "string"), size: member(raw, "size", "number"), content };
}

/** How a program ended, with its output. A program that fails is a result, not an error. */
export class Result {
  /** @param {any} raw an answer of the server */
  constructor(raw) {
    this.id = member(raw, "id", "string");
    /** @type {Api.Result["status"]} */
    this.status = /** @type {Api.Result["status"]} */ (member(raw, "status", "string"));
    /** @type {number | null} */
    this.exit_code = raw.exit_code ?? null;
    this.stdout = textOf(raw, "stdout");
    this.stderr = textOf(raw, "stderr");
    /**
     * The value of `result` or of the last expression, if it is plain data.
     * @type {any}
     */
    this.value = raw.result?.json ?? null;
    /**
     * The same as text.
     * @type {string | null}
     */
    this.text = raw.result?.text ?? null;
    /** @type {ProgramError | null} */
    this.error = raw.error ?? null;
    /** @type {Api.Violation[]} */
    this.violations = list(raw, "violations", true);
    /** @type {Api.Display[]} */
    this.displays = list(raw, "displays", true);
    /** Files that came back; `content` is null if there was no room for it. */
    this.collected = list(raw, "collected", true).map(readCollected);
    /** @type {NonNullable<Api.Result["denials"]>} */
    this.denials = list(raw, "denials", true);
    /** @type {Partial<NonNullable<Api.Result["usage"]>>} */
    this.usage = raw.usage ?? {};
    /** @type {string | null} */
    this.session_id = raw.session_id ?? null;
    /** @type {string | null} */
    this.hint = raw.hint ?? null;
    /**
     * Where the rest of the output is: `Client.output()`.
     * @type {string | null}
     */
    this.output_handle = raw.output_handle ?? null;
    /** @type {NonNullable<Api.Result["changes"]> | null} */
    this.changes = raw.changes ?? null;
    /** @type {{ [name: string]: unknown } | null} */
    this.receipt = raw.receipt ?? null;
    /**
     * The whole answer, for fields that have no name here.
     * @type {Api.Result}
     */
    this.raw = raw;
  }

  get ok() {
    return this.status === "success";
  }

  /** Returns the result if the program succeeded, else throws ProgramFailed. */
  orThrow() {
    if (this.ok) return this;
    const first = this.violations[0];
    const words = this.error
      ? `${this.error.name}: ${this.error.message}`
      : first
        ? `line ${first.line}: ${first.message}`
        : `the program ended with ${this.status}${this.exit_code === null ? "" : ` (exit code ${this.exit_code})`}`;
    const hint = this.error?.hint ?? first?.hint ?? this.hint;
    throw new ProgramFailed(printable(words), this, typeof hint === "string" ? printable(hint) : null);
  }

  toJSON() {
    return this.raw;
  }
}

/** One run of a batch. */
export class Case {
  /** @param {any} raw */
  constructor(raw) {
    this.index = member(raw, "index", "number");
    /** @type {string | null} */
    this.id = typeof raw.id === "string" ? raw.id : null;
    /** @type {Api.Batch["runs"][number]["verdict"]} */
    this.verdict = /** @type {any} */ (member(raw, "verdict", "string"));
    this.result = raw.result ? new Result(raw.result) : null;
    /**
     * Of one that Belljar could not run.
     * @type {NonNullable<Api.Batch["runs"][number]["error"]> | null}
     */
    this.error = raw.error ?? null;
  }
}
