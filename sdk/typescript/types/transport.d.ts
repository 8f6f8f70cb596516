// Made from src/transport.js by tests/sdk/run.py --write. Do not edit.
/**
 * @param {string} text
 * @returns {any}
 */
export function load(text: string): any;
/** @typedef {string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>} Content */
/**
 * @template {keyof Routes} R
 * @typedef {object} Asked
 * @property {Routes[R]["parts"]} [parts] of the path
 * @property {{ [K in keyof Routes[R]["query"]]?: Routes[R]["query"][K] | null | undefined }} [query]
 * @property {Routes[R]["json"]} [json] the body
 * @property {Content | undefined} [bytes] the body, where it is not JSON
 * @property {{ [name: string]: string }} [headers]
 * @property {string | undefined} [key]
 * @property {AbortSignal | undefined} [signal]
 */
/** @typedef {Asked<any>} AnyAsked */
/** An answer that is being read. Closed before its end, the connection is closed as well. */
export class Exchange {
    /**
     * @param {Transport} transport
     * @param {AbortController} control
     * @param {AbortSignal | undefined} signal
     * @param {() => void} abort
     * @param {Response} response
     */
    constructor(transport: Transport, control: AbortController, signal: AbortSignal | undefined, abort: () => void, response: Response);
    /**
     * Some bytes; null at the end.
     * @returns {Promise<Uint8Array<ArrayBuffer> | null>}
     */
    read(): Promise<Uint8Array<ArrayBuffer> | null>;
    /**
     * @param {number} limit
     * @returns {Promise<Uint8Array<ArrayBuffer>>}
     */
    readAll(limit: number): Promise<Uint8Array<ArrayBuffer>>;
    close(): void;
    #private;
}
export class Transport {
    /**
     * @param {object} options
     * @param {Address} options.address
     * @param {Fetch} options.fetch
     * @param {() => Promise<string | undefined>} options.token
     * @param {number} options.timeoutMs
     * @param {number} options.retries
     * @param {number} options.maxAnswerBytes
     */
    constructor({ address, fetch, token, timeoutMs, retries, maxAnswerBytes }: {
        address: Address;
        fetch: Fetch;
        token: () => Promise<string | undefined>;
        timeoutMs: number;
        retries: number;
        maxAnswerBytes: number;
    });
    maxAnswerBytes: number;
    /**
     * Waits for something of an exchange, as long as there may be silence.
     * @template T
     * @param {AbortController} control
     * @param {AbortSignal | undefined} signal
     * @param {() => Promise<T>} once
     * @returns {Promise<T>}
     */
    attempt<T>(control: AbortController, signal: AbortSignal | undefined, once: () => Promise<T>): Promise<T>;
    /**
     * Returns the answer, to be read; throws an error of the server.
     * @template {keyof Routes} R
     * @param {R} route
     * @param {Asked<R>} asked
     * @returns {Promise<Exchange>}
     */
    open<R extends keyof Routes>(route: R, asked: Asked<R>): Promise<Exchange>;
    /**
     * Like open(), with retries.
     * @template {keyof Routes} R
     * @param {R} route
     * @param {Asked<R>} [asked]
     */
    start<R extends keyof Routes>(route: R, asked?: Asked<R>): Promise<Exchange>;
    /**
     * The body of an answer.
     * @template {keyof Routes} R
     * @param {R} route
     * @param {Asked<R>} [asked]
     */
    read<R extends keyof Routes>(route: R, asked?: Asked<R>): Promise<Uint8Array<ArrayBuffer>>;
    /**
     * The JSON of an answer.
     * @template {keyof Routes} R
     * @param {R} route
     * @param {Asked<R>} [asked]
     * @returns {Promise<Routes[R]["answer"]>}
     */
    call<R extends keyof Routes>(route: R, asked?: Asked<R>): Promise<Routes[R]["answer"]>;
    /**
     * Sends a request whose answer does not matter, on the way out: quickly, or not at all.
     * @template {keyof Routes} R
     * @param {R} route
     * @param {Asked<R>} asked
     */
    tell<R extends keyof Routes>(route: R, asked: Asked<R>): Promise<void>;
    #private;
}
/** The lines of a body, without their ends. */
export class Lines {
    /**
     * @param {Exchange} exchange
     * @param {number} limit
     */
    constructor(exchange: Exchange, limit: number);
    /**
     * Null: there are no more. An incomplete last line is not one.
     * @returns {Promise<string | null>}
     */
    next(): Promise<string | null>;
    #private;
}
export type Content = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;
export type Asked<R extends keyof Routes> = {
    /**
     * of the path
     */
    parts?: Routes[R]["parts"];
    query?: { [K in keyof Routes[R]["query"]]?: Routes[R]["query"][K] | null | undefined; };
    /**
     * the body
     */
    json?: Routes[R]["json"];
    /**
     * the body, where it is not JSON
     */
    bytes?: Content | undefined;
    headers?: {
        [name: string]: string;
    };
    key?: string | undefined;
    signal?: AbortSignal | undefined;
};
export type AnyAsked = Asked<any>;
import type { Routes } from "../types/api.js";
import type { Address } from "./address.js";
import type { Fetch } from "./socket.js";
