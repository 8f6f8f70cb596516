// Made from src/result.js by tests/sdk/run.py --write. Do not edit.
/**
 * A member of an answer, of the type that it must have.
 * @template {"string" | "number" | "boolean"} K
 * @param {any} raw
 * @param {string} name
 * @param {K} kind
 * @returns {K extends "string" ? string : K extends "number" ? number : boolean}
 */
export function member<K extends "string" | "number" | "boolean">(raw: any, name: string, kind: K): K extends "string" ? string : K extends "number" ? number : boolean;
/**
 * A list of an answer. Absent, it is empty if it may be.
 * @template T
 * @param {any} raw
 * @param {string} name
 * @param {boolean} [isOptional]
 * @returns {T[]}
 */
export function list<T>(raw: any, name: string, isOptional?: boolean): T[];
/**
 * The bytes of a display: pictures as they are, text and JSON as UTF-8.
 * @param {Api.Display} display
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function displayBytes(display: Api.Display): Uint8Array<ArrayBuffer>;
/** How a program ended, with its output. A program that fails is a result, not an error. */
export class Result {
    /** @param {any} raw an answer of the server */
    constructor(raw: any);
    id: string;
    /** @type {Api.Result["status"]} */
    status: Api.Result["status"];
    /** @type {number | null} */
    exit_code: number | null;
    stdout: string;
    stderr: string;
    /**
     * The value of `result` or of the last expression, if it is plain data.
     * @type {any}
     */
    value: any;
    /**
     * The same as text.
     * @type {string | null}
     */
    text: string | null;
    /** @type {ProgramError | null} */
    error: ProgramError | null;
    /** @type {Api.Violation[]} */
    violations: Api.Violation[];
    /** @type {Api.Display[]} */
    displays: Api.Display[];
    /** Files that came back; `content` is null if there was no room for it. */
    collected: Collected[];
    /** @type {NonNullable<Api.Result["denials"]>} */
    denials: NonNullable<Api.Result["denials"]>;
    /** @type {Partial<NonNullable<Api.Result["usage"]>>} */
    usage: Partial<NonNullable<Api.Result["usage"]>>;
    /** @type {string | null} */
    session_id: string | null;
    /** @type {string | null} */
    hint: string | null;
    /**
     * Where the rest of the output is: `Client.output()`.
     * @type {string | null}
     */
    output_handle: string | null;
    /** @type {NonNullable<Api.Result["changes"]> | null} */
    changes: NonNullable<Api.Result["changes"]> | null;
    /** @type {{ [name: string]: unknown } | null} */
    receipt: {
        [name: string]: unknown;
    } | null;
    /**
     * The whole answer, for fields that have no name here.
     * @type {Api.Result}
     */
    raw: Api.Result;
    get ok(): boolean;
    /** Returns the result if the program succeeded, else throws ProgramFailed. */
    orThrow(): this;
    toJSON(): Api.Result;
}
/** One run of a batch. */
export class Case {
    /** @param {any} raw */
    constructor(raw: any);
    index: number;
    /** @type {string | null} */
    id: string | null;
    /** @type {Api.Batch["runs"][number]["verdict"]} */
    verdict: Api.Batch["runs"][number]["verdict"];
    result: Result | null;
    /**
     * Of one that Belljar could not run.
     * @type {NonNullable<Api.Batch["runs"][number]["error"]> | null}
     */
    error: NonNullable<Api.Batch["runs"][number]["error"]> | null;
}
export type ProgramError = NonNullable<Api.Result["error"]>;
export type Collected = {
    path: string;
    size: number;
    content: Uint8Array<ArrayBuffer> | null;
};
import type * as Api from "../types/api.js";
