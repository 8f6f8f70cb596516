/**
 * @import * as Api from "../types/api.js"
 * @import { Asking } from "./fields.js"
 * @import { Transport } from "./transport.js"
 */
import { ProtocolError } from "./errors.js";
import { Events } from "./events.js";
import { Result, member } from "./result.js";
import { nodeModule } from "./socket.js";

/** @typedef {Api.Routes["GET /v1/runs/{run}/output"]["query"] & Asking} OutputFields */

const ALL = 1e15; // bytes of output that are not wanted

/** A key that nobody else has. */
export async function newKey() {
  const { crypto } = globalThis.crypto ? globalThis : { crypto: (await nodeModule("crypto")).webcrypto };
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/**
 * The result of a run; null: it still runs.
 * @param {Transport} transport
 * @param {string} run
 * @param {Asking} [asking]
 */
export async function readRun(transport, run, { signal } = {}) {
  const result = new Result(await transport.call("GET /v1/runs/{run}", { parts: { run }, signal }));
  return result.status === "running" ? null : result;
}

/**
 * @param {Transport} transport
 * @param {string} run
 * @param {Asking} [asking]
 */
export async function cancelRun(transport, run, { signal } = {}) {
  return member(await transport.call("POST /v1/runs/{run}/cancel", { parts: { run }, json: {}, signal }), "cancelled", "boolean");
}

/**
 * @param {Transport} transport
 * @param {string} run
 * @param {OutputFields} fields
 */
export function readOutput(transport, run, { signal, ...query }) {
  return transport.call("GET /v1/runs/{run}/output", { parts: { run }, query, signal });
}

/** A run that goes on without a connection. Keep `id` to come back to it: `client.job(id)`. */
export class Job {
  #transport;

  /**
   * @param {Transport} transport
   * @param {string} id
   */
  constructor(transport, id) {
    this.#transport = transport;
    this.id = id;
  }

  /**
   * The output so far and what follows, then the result. Any number of clients can read along, and leaving does not end the run.
   * @param {{ stdout?: number, stderr?: number, wait?: boolean } & Asking} [options]
   *   stdout, stderr: bytes of each that you have; wait: false for only the output so far
   */
  events({ signal, ...query } = {}) {
    return new Events(this.#transport, "GET /v1/runs/{run}/follow", { parts: { run: this.id }, query, signal });
  }

  /**
   * The result; null: it still runs.
   * @param {Asking} [asking]
   */
  result(asking) {
    return readRun(this.#transport, this.id, asking);
  }

  /**
   * Waits until it has ended. The signal ends the waiting, not the run.
   * @param {Asking} [asking]
   * @returns {Promise<Result>}
   */
  async wait({ signal } = {}) {
    const events = this.events({ stdout: ALL, stderr: ALL, ...(signal ? { signal } : {}) });
    for await (const _ of events);
    if (!events.result) throw new ProtocolError("the events of the run ended without a result");
    return events.result;
  }

  /**
   * A part of its whole output; see `Client.output()`.
   * @param {OutputFields} [fields]
   */
  output(fields = {}) {
    return readOutput(this.#transport, this.id, fields);
  }

  /**
   * Ends it. False: it had ended.
   * @param {Asking} [asking]
   */
  cancel(asking) {
    return cancelRun(this.#transport, this.id, asking);
  }
}
