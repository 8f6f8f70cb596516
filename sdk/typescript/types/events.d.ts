/// <reference lib="esnext.disposable" />
// Made from src/events.js by tests/sdk/run.py --write. Do not edit.
/**
 * The next event of a stream; null: the stream has ended.
 * @param {Lines} lines
 * @param {number} maxBytes
 * @returns {Promise<{ kind: string, id: number | string | null, data: any } | null>}
 */
export function readEvent(lines: Lines, maxBytes: number): Promise<{
    kind: string;
    id: number | string | null;
    data: any;
} | null>;
/**
 * An answer to this question with these arguments, and to no other.
 * @param {Transport} transport
 * @param {Api.Approval} approval
 * @param {boolean} approve
 * @param {number} [accept_hidden]
 * @param {AbortSignal} [signal]
 */
export function answerApproval(transport: Transport, approval: Api.Approval, approve: boolean, accept_hidden?: number, signal?: AbortSignal): Promise<boolean>;
/** @typedef {Required<Omit<Api.Events, "result" | "error">> & { result: Result }} Data */
/**
 * Something that happened in a run. `kind` says what, `data` has the rest; `id` is the place in the stream, a text where it comes
 * from a gateway of several machines.
 * @typedef {{ [K in keyof Data]: { kind: K, id: number | string | null, data: Data[K] } }[keyof Data]} Event
 */
/** @typedef {"POST /v1/run" | "POST /v1/sessions/{session}/execute" | "POST /v1/sessions/{session}/commands" | "GET /v1/runs/{run}/follow" | "GET /v1/runs/{run}/events" | "GET /v1/events"} StreamRoute */
/**
 * @typedef {object} Callbacks
 * @property {(text: string) => unknown} [onStdout]
 * @property {(text: string) => unknown} [onStderr]
 * @property {(displays: Api.Display[]) => unknown} [onDisplay]
 * @property {(progress: Data["progress"]) => unknown} [onProgress]
 * @property {(approval: Api.Approval) => boolean | null | undefined | Promise<boolean | null | undefined>} [onApproval]
 *   true approves a call, false refuses it, null leaves it to somebody else
 * @property {(event: Event) => unknown} [onEvent]
 */
/** @type {{ [name: string]: string }} */
export const STREAM: {
    [name: string]: string;
};
/**
 * Events of a run, as they happen; the last is `result`. Nothing is sent before the first is asked for.
 *
 * A lost connection is resumed. Leaving the loop, `close()`, `await using` and the signal end the run, unless it has a key or is a
 * job.
 * @implements {AsyncIterableIterator<Event>}
 */
export class Events implements AsyncIterableIterator<Event> {
    /**
     * @param {Transport} transport
     * @param {StreamRoute} route
     * @param {Asked<any>} asked
     */
    constructor(transport: Transport, route: StreamRoute, asked: Asked<any>);
    /**
     * Known from the first event on.
     * @type {string | null}
     */
    runId: string | null;
    /**
     * Of a run that has ended.
     * @type {Result | null}
     */
    result: Result | null;
    /** @returns {Promise<IteratorResult<Event, undefined>>} */
    next(): Promise<IteratorResult<Event, undefined>>;
    /** @returns {Promise<IteratorResult<Event, undefined>>} */
    return(): Promise<IteratorResult<Event, undefined>>;
    /** Stops reading. A run that is not over is cancelled, unless it has a key. */
    close(): Promise<void>;
    /**
     * Reads to the end, hands each event to its callback, and returns the result.
     * @param {Callbacks} [callbacks]
     * @returns {Promise<Result>}
     */
    wait(callbacks?: Callbacks): Promise<Result>;
    [Symbol.asyncIterator](): this;
    [Symbol.asyncDispose](): Promise<void>;
    #private;
}
export type Data = Required<Omit<Api.Events, "result" | "error">> & {
    result: Result;
};
/**
 * Something that happened in a run. `kind` says what, `data` has the rest; `id` is the place in the stream, a text where it comes
 * from a gateway of several machines.
 */
export type Event = { [K in keyof Data]: {
    kind: K;
    id: number | string | null;
    data: Data[K];
}; }[keyof Data];
export type StreamRoute = "POST /v1/run" | "POST /v1/sessions/{session}/execute" | "POST /v1/sessions/{session}/commands" | "GET /v1/runs/{run}/follow" | "GET /v1/runs/{run}/events" | "GET /v1/events";
export type Callbacks = {
    onStdout?: (text: string) => unknown;
    onStderr?: (text: string) => unknown;
    onDisplay?: (displays: Api.Display[]) => unknown;
    onProgress?: (progress: Data["progress"]) => unknown;
    /**
     * true approves a call, false refuses it, null leaves it to somebody else
     */
    onApproval?: (approval: Api.Approval) => boolean | null | undefined | Promise<boolean | null | undefined>;
    onEvent?: (event: Event) => unknown;
};
import { Lines } from "./transport.js";
import type { Transport } from "./transport.js";
import type * as Api from "../types/api.js";
import { Result } from "./result.js";
import type { Asked } from "./transport.js";
