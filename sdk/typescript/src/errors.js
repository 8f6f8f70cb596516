/** @import { Result } from "./result.js" */
import { printable } from "./text.js";

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
  constructor(message, { code = "internal", hint = null, status = 0, retryAfter = 0, cause } = {}) {
    super(hint ? `${message} (hint: ${hint})` : message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    /** What to do next. */
    this.hint = hint ?? null;
    /** The status of HTTP; 0: there was no answer. */
    this.status = status;
    /** Seconds after which to try again; 0: not given. */
    this.retryAfter = retryAfter;
  }
}

/** The request is malformed. */
export class InvalidError extends BelljarError {
  /**
   * @param {string} message
   * @param {ErrorDetails} [details]
   */
  constructor(message, details = {}) {
    super(message, { code: "invalid", ...details });
  }
}

/** There is no token, or it is wrong. */
export class AuthError extends BelljarError {}

/** The token does not permit this. */
export class DeniedError extends BelljarError {}

/** There is no such session, run or file, or it belongs to another token. */
export class NotFoundError extends BelljarError {}

/** Something newer is already there, or an idempotency key was used for something else. */
export class ConflictError extends BelljarError {}

/** There is no room now. `retryAfter` says when to try again. */
export class BusyError extends BelljarError {}

/** A fixed limit was exceeded. */
export class TooLargeError extends BelljarError {}

/** The server's host lacks what this needs. */
export class UnsupportedError extends BelljarError {}

/** The answer is not one that a Belljar server sends, or it is longer than the client accepts. */
export class ProtocolError extends BelljarError {
  /**
   * @param {string} message
   * @param {ErrorDetails} [details]
   */
  constructor(message, details = {}) {
    super(message, { code: "protocol", ...details });
  }
}

/** No server answers, or the connection broke. The request may have taken effect. */
export class Unreachable extends BelljarError {
  /**
   * @param {string} message
   * @param {ErrorDetails} [details]
   */
  constructor(message, details = {}) {
    super(message, { code: "unreachable", ...details });
  }
}

/** Thrown by `Result.orThrow()`. `result` has the output; `code` is its status. */
export class ProgramFailed extends BelljarError {
  /**
   * @param {string} message
   * @param {Result} result
   * @param {string | null} hint
   */
  constructor(message, result, hint) {
    super(message, { code: result.status, hint });
    this.result = result;
  }
}

/** @type {{ [code: string]: typeof BelljarError }} */
const BY_CODE = {
  invalid: InvalidError,
  auth: AuthError,
  denied: DeniedError,
  not_found: NotFoundError,
  session_lost: NotFoundError,
  busy: BusyError,
  too_large: TooLargeError,
  unsupported: UnsupportedError,
};

/**
 * The error of an answer. The texts are the server's, and made safe to print.
 * @param {number} status
 * @param {any} body
 * @param {string | null} [retryAfter]
 * @returns {BelljarError}
 */
export function fromAnswer(status, body, retryAfter = null) {
  const error = body?.error;
  if (typeof error?.message !== "string") {
    return new ProtocolError(`the server answered with status ${status} and no error of Belljar's`, { hint: "is it a Belljar server?", status });
  }
  const code = typeof error.code === "string" ? printable(error.code) : "internal";
  const Kind = status === 409 || status === 422 ? ConflictError : Object.hasOwn(BY_CODE, code) ? (BY_CODE[code] ?? BelljarError) : BelljarError;
  const hint = typeof error.hint === "string" ? printable(error.hint) : null;
  return new Kind(printable(error.message), { code, hint, status, retryAfter: seconds(retryAfter) });
}

/** @param {string | null} text */
function seconds(text) {
  return text !== null && /^[0-9]{1,6}$/.test(text) ? Number(text) : 0;
}
