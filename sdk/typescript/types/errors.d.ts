// Made from src/errors.js by tests/sdk/run.py --write. Do not edit.
/**
 * The error of an answer. The texts are the server's, and made safe to print.
 * @param {number} status
 * @param {any} body
 * @param {string | null} [retryAfter]
 * @returns {BelljarError}
 */
export function fromAnswer(status: number, body: any, retryAfter?: string | null): BelljarError;
/**
 * @typedef {object} ErrorDetails
 * @property {string} [code]
 * @property {string | null | undefined} [hint]
 * @property {number} [status]
 * @property {number} [retryAfter]
 * @property {unknown} [cause]
 */
/** A request failed. `code` is for machines, `message` and `hint` are for people. */
export class BelljarError extends Error {
    /**
     * @param {string} message
     * @param {ErrorDetails} [details]
     */
    constructor(message: string, { code, hint, status, retryAfter, cause }?: ErrorDetails);
    code: string;
    /** What to do next. */
    hint: string | null;
    /** The status of HTTP; 0: there was no answer. */
    status: number;
    /** Seconds after which to try again; 0: not given. */
    retryAfter: number;
}
/** The request is malformed. */
export class InvalidError extends BelljarError {
}
/** There is no token, or it is wrong. */
export class AuthError extends BelljarError {
}
/** The token does not permit this. */
export class DeniedError extends BelljarError {
}
/** There is no such session, run or file, or it belongs to another token. */
export class NotFoundError extends BelljarError {
}
/** Something newer is already there, or an idempotency key was used for something else. */
export class ConflictError extends BelljarError {
}
/** There is no room now. `retryAfter` says when to try again. */
export class BusyError extends BelljarError {
}
/** A fixed limit was exceeded. */
export class TooLargeError extends BelljarError {
}
/** The server's host lacks what this needs. */
export class UnsupportedError extends BelljarError {
}
/** The answer is not one that a Belljar server sends, or it is longer than the client accepts. */
export class ProtocolError extends BelljarError {
}
/** No server answers, or the connection broke. The request may have taken effect. */
export class Unreachable extends BelljarError {
}
/** Thrown by `Result.orThrow()`. `result` has the output; `code` is its status. */
export class ProgramFailed extends BelljarError {
    /**
     * @param {string} message
     * @param {Result} result
     * @param {string | null} hint
     */
    constructor(message: string, result: Result, hint: string | null);
    result: Result;
}
export type ErrorDetails = {
    code?: string;
    hint?: string | null | undefined;
    status?: number;
    retryAfter?: number;
    cause?: unknown;
};
import type { Result } from "./result.js";
