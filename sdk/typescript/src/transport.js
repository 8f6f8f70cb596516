/**
 * One exchange with a server: retries where they are safe, limits of time and size, errors.
 * @import { Routes } from "../types/api.js"
 * @import { Address } from "./address.js"
 * @import { Fetch } from "./socket.js"
 */
import { BelljarError, BusyError, InvalidError, ProtocolError, Unreachable, fromAnswer } from "./errors.js";
import { target } from "./routes.js";
import { printable } from "./text.js";

const ERROR_BYTES = 1 << 20;
const BUSY_SECONDS = 30; // the longest that a busy server is waited for before a retry
const TELL_MS = 5000;
const TIMER_MS_MAX = 0x7fffffff;
const NOBODY = new Set(["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EACCES", "EAI_AGAIN", "ConnectionRefused"]);
const NOT_HTTP = /^HPE_|_HEADERS_OVERFLOW$/;
const SILENCE = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

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
  #reader;
  #control;
  #transport;
  #signal;
  #abort;
  #isWhole = false;

  /**
   * @param {Transport} transport
   * @param {AbortController} control
   * @param {AbortSignal | undefined} signal
   * @param {() => void} abort
   * @param {Response} response
   */
  constructor(transport, control, signal, abort, response) {
    this.#transport = transport;
    this.#control = control;
    this.#signal = signal;
    this.#abort = abort;
    this.#reader = response.body?.getReader() ?? null;
  }

  /**
   * Some bytes; null at the end.
   * @returns {Promise<Uint8Array<ArrayBuffer> | null>}
   */
  async read() {
    if (!this.#reader || this.#isWhole) return null;
    const reader = this.#reader;
    let piece;
    try {
      piece = await this.#transport.attempt(this.#control, this.#signal, () => reader.read());
    } catch (error) {
      this.close();
      throw error;
    }
    if (!piece.done) return /** @type {Uint8Array<ArrayBuffer>} */ (piece.value);
    this.#isWhole = true;
    this.close();
    return null;
  }

  /**
   * @param {number} limit
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async readAll(limit) {
    const pieces = [];
    let size = 0;
    for (let piece = await this.read(); piece; piece = await this.read()) {
      size += piece.length;
      if (size > limit) {
        this.close();
        throw tooLong(limit);
      }
      pieces.push(piece);
    }
    const whole = new Uint8Array(size);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  close() {
    this.#signal?.removeEventListener("abort", this.#abort);
    if (!this.#isWhole) this.#control.abort();
    this.#isWhole = true;
  }
}

export class Transport {
  #address;
  #fetch;
  #token;
  #timeoutMs;
  #retries;

  /**
   * @param {object} options
   * @param {Address} options.address
   * @param {Fetch} options.fetch
   * @param {() => Promise<string | undefined>} options.token
   * @param {number} options.timeoutMs
   * @param {number} options.retries
   * @param {number} options.maxAnswerBytes
   */
  constructor({ address, fetch, token, timeoutMs, retries, maxAnswerBytes }) {
    this.#address = address;
    this.#fetch = fetch;
    this.#token = token;
    this.#timeoutMs = timeoutMs;
    this.#retries = retries;
    this.maxAnswerBytes = maxAnswerBytes;
  }

  // --- one exchange ---

  /**
   * Waits for something of an exchange, as long as there may be silence.
   * @template T
   * @param {AbortController} control
   * @param {AbortSignal | undefined} signal
   * @param {() => Promise<T>} once
   * @returns {Promise<T>}
   */
  async attempt(control, signal, once) {
    let isSilent = false;
    const end = () => {
      isSilent = true;
      control.abort();
    };
    const timer = this.#timeoutMs > 0 && this.#timeoutMs < TIMER_MS_MAX ? setTimeout(end, this.#timeoutMs) : undefined;
    try {
      return await once();
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw error instanceof BelljarError ? error : this.#broken(error, isSilent);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * @param {any} error
   * @param {boolean} isSilent
   */
  #broken(error, isSilent) {
    const code = error?.cause?.code ?? error?.code;
    if (isSilent || SILENCE.has(code)) {
      return new Unreachable(`${this.#address.name} sent nothing for too long`, {
        code: "timeout",
        hint: "use stream() or start() for long programs",
        cause: error,
      });
    }
    if (NOBODY.has(code)) {
      return new Unreachable(`no server answers at ${this.#address.name}: ${code}`, { hint: "start one with `belljar serve`", cause: error });
    }
    if (NOT_HTTP.test(code)) {
      return new ProtocolError("the server does not speak HTTP/1.1", { hint: "is the address that of a Belljar server?", cause: error });
    }
    const words = printable(String(error?.cause?.message ?? error?.message ?? error));
    return new Unreachable(`the connection to ${this.#address.name} broke: ${words}`, { cause: error });
  }

  /** @param {AnyAsked} asked */
  async #headers({ json, bytes, key, headers = {} }) {
    /** @type {{ [name: string]: string }} */
    const all = { Accept: "application/json", ...headers };
    if (json !== undefined) all["Content-Type"] = "application/json";
    else if (bytes !== undefined) all["Content-Type"] = "application/octet-stream";
    if (key !== undefined) {
      if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw new InvalidError("`key` must have 1 to 255 visible ASCII characters");
      all["Idempotency-Key"] = key;
    }
    const token = await this.#token();
    if (token) {
      if (!/^[\x21-\x7e]+$/.test(token)) throw new InvalidError("the token can only have visible ASCII characters");
      if (!this.#address.isPrivate) throw new InvalidError("the token would be sent unencrypted", { hint: "use https://" });
      all["Authorization"] = `Bearer ${token}`;
    }
    return all;
  }

  /**
   * Returns the answer, to be read; throws an error of the server.
   * @template {keyof Routes} R
   * @param {R} route
   * @param {Asked<R>} asked
   * @returns {Promise<Exchange>}
   */
  async open(route, asked) {
    const [method = "", path = ""] = route.split(" ");
    const { signal } = asked;
    const url = this.#address.origin + target(path, asked.parts ?? {}, /** @type {any} */ (asked.query ?? {}));
    const body = asked.json !== undefined ? dump(asked.json) : await sendable(bodyOf(asked.bytes));
    const headers = await this.#headers(asked);
    signal?.throwIfAborted();
    const control = new AbortController();
    const abort = () => control.abort();
    signal?.addEventListener("abort", abort);
    try {
      const stream = body instanceof ReadableStream ? { duplex: /** @type {const} */ ("half") } : {};
      const init = { method, headers, body: body ?? null, redirect: /** @type {const} */ ("manual"), signal: control.signal, ...stream };
      const response = await this.attempt(control, signal, () => this.#fetch(url, init));
      const exchange = new Exchange(this, control, signal, abort, response);
      if (!response.ok) await refuse(response, exchange);
      return exchange;
    } catch (error) {
      signal?.removeEventListener("abort", abort);
      throw error;
    }
  }

  // --- with retries ---

  /**
   * @template {keyof Routes} R
   * @template T
   * @param {R} route
   * @param {Asked<R>} asked
   * @param {(exchange: Exchange) => T | Promise<T>} use
   * @returns {Promise<T>}
   */
  async #again(route, asked, use) {
    const canBeRepeated = !isStream(asked.bytes);
    const isSafe = route.startsWith("GET ") || asked.key !== undefined;
    for (let left = canBeRepeated ? this.#retries : 0; ; left--) {
      let delay;
      try {
        return await use(await this.open(route, asked));
      } catch (error) {
        if (left <= 0) throw error;
        if (error instanceof BusyError) {
          // It has not run.
          if (error.status !== 429 || error.retryAfter > BUSY_SECONDS) throw error;
          delay = (error.retryAfter || 1) * 1000;
        } else if (error instanceof Unreachable && isSafe) {
          delay = 100 * (this.#retries - left);
        } else {
          throw error;
        }
      }
      await sleep(delay, asked.signal);
    }
  }

  /**
   * Like open(), with retries.
   * @template {keyof Routes} R
   * @param {R} route
   * @param {Asked<R>} [asked]
   */
  start(route, asked = {}) {
    return this.#again(route, asked, (exchange) => exchange);
  }

  /**
   * The body of an answer.
   * @template {keyof Routes} R
   * @param {R} route
   * @param {Asked<R>} [asked]
   */
  read(route, asked = {}) {
    return this.#again(route, asked, (exchange) => exchange.readAll(this.maxAnswerBytes));
  }

  /**
   * The JSON of an answer.
   * @template {keyof Routes} R
   * @param {R} route
   * @param {Asked<R>} [asked]
   * @returns {Promise<Routes[R]["answer"]>}
   */
  async call(route, asked = {}) {
    const bytes = await this.read(route, asked);
    return bytes.length ? load(new TextDecoder().decode(bytes)) : /** @type {any} */ (null);
  }

  /**
   * Sends a request whose answer does not matter, on the way out: quickly, or not at all.
   * @template {keyof Routes} R
   * @param {R} route
   * @param {Asked<R>} asked
   */
  async tell(route, asked) {
    try {
      const exchange = await this.open(route, { ...asked, signal: AbortSignal.timeout(TELL_MS) });
      await exchange.readAll(ERROR_BYTES);
    } catch {
      // The server ends by itself what nobody reads.
    }
  }
}

/** The lines of a body, without their ends. */
export class Lines {
  #exchange;
  #limit;
  #decoder = new TextDecoder();
  /** @type {string[]} */
  #whole = [];
  #at = 0;
  /** @type {string[]} */
  #rest = [];
  #length = 0;

  /**
   * @param {Exchange} exchange
   * @param {number} limit
   */
  constructor(exchange, limit) {
    this.#exchange = exchange;
    this.#limit = limit;
  }

  /**
   * Null: there are no more. An incomplete last line is not one.
   * @returns {Promise<string | null>}
   */
  async next() {
    while (this.#at === this.#whole.length) {
      const piece = await this.#exchange.read();
      if (!piece) return null;
      this.#whole = [];
      this.#at = 0;
      const parts = this.#decoder.decode(piece, { stream: true }).split("\n");
      for (const [i, part] of parts.entries()) {
        this.#rest.push(part);
        this.#length += part.length;
        if (this.#length > this.#limit) throw tooLong(this.#limit);
        if (i === parts.length - 1) break;
        this.#whole.push(this.#rest.join(""));
        this.#rest = [];
        this.#length = 0;
      }
    }
    return this.#whole[this.#at++] ?? null;
  }
}

/**
 * @param {Response} response
 * @param {Exchange} exchange
 */
async function refuse(response, exchange) {
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    exchange.close();
    throw new ProtocolError("the server answered with a redirection, which is not followed", { status: response.status });
  }
  const text = new TextDecoder().decode(await exchange.readAll(ERROR_BYTES));
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    body = null;
  }
  throw fromAnswer(response.status, body, response.headers.get("retry-after"));
}

/** @param {number} limit */
function tooLong(limit) {
  return new ProtocolError(`the answer is longer than ${limit} bytes`, { hint: "`maxAnswerBytes` of the client is the limit" });
}

/**
 * @param {string} text
 * @returns {any}
 */
export function load(text) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ProtocolError("the answer is not valid JSON", { cause });
  }
}

/** @param {unknown} value */
function dump(value) {
  try {
    return JSON.stringify(value, (name, inside) => {
      if (typeof inside === "number" && !Number.isFinite(inside)) throw new TypeError(`\`${name}\` is not a number`);
      return inside;
    });
  } catch (cause) {
    throw new InvalidError(`the request cannot be sent as JSON: ${/** @type {Error} */ (cause).message}`, { cause });
  }
}

/** @param {unknown} content */
function isStream(content) {
  return content instanceof ReadableStream || (typeof content === "object" && content !== null && Symbol.asyncIterator in content);
}

/**
 * @param {Content | undefined} content
 * @returns {string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array<ArrayBuffer>> | undefined}
 */
function bodyOf(content) {
  if (content === undefined || typeof content === "string" || content instanceof Blob) return content;
  if (content instanceof Uint8Array) return /** @type {Uint8Array<ArrayBuffer>} */ (content);
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  if (content instanceof ReadableStream) return /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (content);
  if (!isStream(content)) throw new InvalidError("the content must be text, bytes, a Blob or a stream");
  const pieces = content[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(control) {
      const { done, value } = await pieces.next();
      if (done) control.close();
      else control.enqueue(/** @type {Uint8Array<ArrayBuffer>} */ (value));
    },
    async cancel() {
      await pieces.return?.();
    },
  });
}

/**
 * Browsers send no stream over HTTP/1: there it is read whole first.
 * @template T
 * @param {T} body
 * @returns {Promise<T | Blob>}
 */
async function sendable(body) {
  return body instanceof ReadableStream && !("process" in globalThis) ? await new Response(body).blob() : body;
}

/**
 * @param {number} ms
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<void>}
 */
function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}
