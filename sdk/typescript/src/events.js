/**
 * The events of a run: an iterator that survives lost connections.
 * @import * as Api from "../types/api.js"
 * @import { Asked, Exchange, Transport } from "./transport.js"
 */
import { NotFoundError, ProtocolError, Unreachable, fromAnswer } from "./errors.js";
import { Result, member } from "./result.js";
import { Lines, load } from "./transport.js";

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
export const STREAM = { Accept: "text/event-stream" };
const LAST = new Set(["result", "error", "running"]);
const RETRIES = 2;
// Of a stream of several machines: it has a place in the stream of each.
const PLACES = /^[a-z][a-z0-9.-]{0,8191}$/;

/**
 * The next event of a stream; null: the stream has ended.
 * @param {Lines} lines
 * @param {number} maxBytes
 * @returns {Promise<{ kind: string, id: number | string | null, data: any } | null>}
 */
export async function readEvent(lines, maxBytes) {
  let kind = "message";
  /** @type {number | string | null} */
  let id = null;
  let size = 0;
  const data = [];
  for (;;) {
    const line = (await lines.next())?.replace(/\r$/, "");
    if (line === undefined) return null;
    const [, name = line, value = ""] = /^([^:]*): ?(.*)$/s.exec(line) ?? [];
    if (name === "id" && /^[0-9]{1,16}$/.test(value)) id = Number(value);
    else if (name === "id" && PLACES.test(value)) id = value;
    else if (name === "event") kind = value;
    else if (name === "data") {
      data.push(value);
      size += value.length + 1; // an empty line takes memory, too
      if (size > maxBytes) throw new ProtocolError("an event is longer than the client accepts");
    } else if (line === "" && data.length) {
      const decoded = load(data.join("\n"));
      if (typeof decoded !== "object" || decoded === null) throw new ProtocolError("the data of an event is not an object");
      return { kind, id, data: decoded };
    }
  }
}

/**
 * An answer to this question with these arguments, and to no other.
 * @param {Transport} transport
 * @param {Api.Approval} approval
 * @param {boolean} approve
 * @param {number} [accept_hidden]
 * @param {AbortSignal} [signal]
 */
export async function answerApproval(transport, approval, approve, accept_hidden, signal) {
  const { approval_id, sha256, session_id, run_id } = approval;
  const json = { approve, approval_id, sha256, ...(accept_hidden === undefined ? {} : { accept_hidden }) };
  const answer = session_id
    ? await transport.call("POST /v1/sessions/{session}/approve", { parts: { session: session_id }, json, signal })
    : await transport.call("POST /v1/runs/{run}/approve", { parts: { run: run_id }, json, signal });
  return member(answer, "approved", "boolean");
}

/**
 * Events of a run, as they happen; the last is `result`. Nothing is sent before the first is asked for.
 *
 * A lost connection is resumed. Leaving the loop, `close()`, `await using` and the signal end the run, unless it has a key or is a
 * job.
 * @implements {AsyncIterableIterator<Event>}
 */
export class Events {
  #transport;
  #route;
  #asked;
  #follows;
  #watches;
  #cancels;
  /** @type {Exchange | null} */
  #exchange = null;
  /** @type {Lines | null} */
  #lines = null;
  /** @type {number | string} */
  #lastId = 0;
  #have = { stdout: 0, stderr: 0 }; // bytes
  #retries = RETRIES;
  #isOver = false;
  /** @type {Promise<unknown>} */
  #before = Promise.resolve();
  #abort = () => void this.#end();

  /**
   * @param {Transport} transport
   * @param {StreamRoute} route
   * @param {Asked<any>} asked
   */
  constructor(transport, route, asked) {
    this.#transport = transport;
    /** @type {StreamRoute} */
    this.#route = route;
    /** @type {Asked<any>} */
    this.#asked = { ...asked, headers: STREAM };
    this.#follows = route === "GET /v1/runs/{run}/follow";
    this.#watches = route === "GET /v1/events";
    this.#cancels = !this.#follows && !this.#watches && asked.key === undefined;
    /**
     * Known from the first event on.
     * @type {string | null}
     */
    this.runId = asked.parts?.["run"] ?? null;
    /**
     * Of a run that has ended.
     * @type {Result | null}
     */
    this.result = null;
    asked.signal?.addEventListener("abort", this.#abort);
  }

  // --- one connection ---

  #closeExchange() {
    this.#exchange?.close();
    this.#exchange = null;
  }

  /**
   * The next event of the stream. Throws Unreachable where the stream ends before the run.
   * @returns {Promise<{ kind: string, id: number | string | null, data: any }>}
   */
  async #read() {
    if (!this.#exchange || !this.#lines) {
      this.#exchange = await this.#transport.start(this.#route, this.#asked);
      this.#lines = new Lines(this.#exchange, this.#transport.maxAnswerBytes);
    }
    const event = await readEvent(this.#lines, this.#transport.maxAnswerBytes);
    if (!event) throw new Unreachable("the stream ended before the run");
    return event;
  }

  // --- all of them ---

  /** @returns {Promise<Event | null>} */
  async #next() {
    while (!this.#isOver) {
      let event;
      try {
        event = await this.#read();
      } catch (error) {
        this.#closeExchange();
        const canGoOn = this.runId !== null || this.#watches || this.#asked.key !== undefined;
        if (this.#isOver || !(error instanceof Unreachable) || this.#retries === 0 || !canGoOn) {
          await this.#end();
          throw this.#asked.signal?.aborted ? this.#asked.signal.reason : error;
        }
        this.#retries--;
        if (this.#watches) this.#watchOn();
        else if (this.runId !== null) this.#askForRest(this.runId);
        continue;
      }
      this.#retries = RETRIES;
      return this.#take(event);
    }
    this.#asked.signal?.throwIfAborted();
    return null;
  }

  /**
   * @param {{ kind: string, id: number | string | null, data: any }} event
   * @returns {Event}
   */
  #take({ kind, id, data }) {
    this.#lastId = id ?? this.#lastId;
    if ((kind === "stdout" || kind === "stderr") && typeof data.offset === "number") {
      this.#have[kind] = Math.max(0, data.offset) + new TextEncoder().encode(data.text).length;
    }
    if (kind === "start") this.runId = member(data, "id", "string");
    if (LAST.has(kind) && !this.#watches) {
      this.#isOver = true;
      this.#asked.signal?.removeEventListener("abort", this.#abort);
      this.#closeExchange();
    }
    if (kind === "error") throw fromAnswer(0, data);
    if (kind === "result") data = this.result = new Result(data);
    return /** @type {Event} */ ({ kind, id, data });
  }

  #watchOn() {
    this.#asked = { ...this.#asked, headers: { ...STREAM, "Last-Event-ID": String(this.#lastId) } };
  }

  /** @param {string} run */
  #askForRest(run) {
    const { signal, query } = this.#asked;
    if (this.#follows) {
      this.#asked = { parts: { run }, query: { ...query, ...this.#have }, headers: STREAM, signal };
    } else {
      this.#route = "GET /v1/runs/{run}/events";
      this.#asked = { parts: { run }, headers: { ...STREAM, "Last-Event-ID": String(this.#lastId) }, signal };
    }
  }

  async #end() {
    this.#asked.signal?.removeEventListener("abort", this.#abort);
    this.#closeExchange();
    const wasOver = this.#isOver;
    this.#isOver = true;
    if (this.runId !== null && this.#cancels && !wasOver) {
      await this.#transport.tell("POST /v1/runs/{run}/cancel", { parts: { run: this.runId }, json: {} });
    }
  }

  // --- as an iterator ---

  /** @returns {Promise<IteratorResult<Event, undefined>>} */
  next() {
    const one = this.#before.then(async () => {
      const event = await this.#next();
      return event ? { done: /** @type {const} */ (false), value: event } : { done: /** @type {const} */ (true), value: undefined };
    });
    this.#before = one.catch(() => {});
    return one;
  }

  /** @returns {Promise<IteratorResult<Event, undefined>>} */
  async return() {
    await this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async [Symbol.asyncDispose]() {
    await this.#end();
  }

  /** Stops reading. A run that is not over is cancelled, unless it has a key. */
  async close() {
    await this.#end();
  }

  /**
   * Reads to the end, hands each event to its callback, and returns the result.
   * @param {Callbacks} [callbacks]
   * @returns {Promise<Result>}
   */
  async wait(callbacks = {}) {
    for await (const event of this) {
      if (event.kind === "stdout") await callbacks.onStdout?.(event.data.text);
      else if (event.kind === "stderr") await callbacks.onStderr?.(event.data.text);
      else if (event.kind === "display") await callbacks.onDisplay?.(event.data.displays);
      else if (event.kind === "progress") await callbacks.onProgress?.(event.data);
      else if (event.kind === "approval") await this.#ask(event.data, callbacks.onApproval);
      await callbacks.onEvent?.(event);
    }
    if (!this.result) throw new Unreachable("the events were closed before the run was over");
    return this.result;
  }

  /**
   * @param {Api.Approval} approval
   * @param {Callbacks["onApproval"]} callback
   */
  async #ask(approval, callback) {
    const answer = await callback?.(approval);
    if (answer === undefined || answer === null) return;
    try {
      await answerApproval(this.#transport, approval, answer === true);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error; // somebody else was faster
    }
  }
}
