/**
 * @import * as Api from "../types/api.js"
 * @import { Asking, CellFields } from "./fields.js"
 * @import { Transport } from "./transport.js"
 */
import { Commands } from "./commands.js";
import { NotFoundError } from "./errors.js";
import { Events } from "./events.js";
import { withFiles } from "./fields.js";
import { Files } from "./files.js";
import { Job, newKey } from "./job.js";
import { Result, list, member } from "./result.js";

/** @typedef {Api.Routes["POST /v1/sessions/{session}/apply"]["json"]} ApplyBody */

/** A sandbox that keeps its variables and files. `await using` ends it with the block. */
export class Session {
  #transport;

  /**
   * @param {Transport} transport
   * @param {any} raw
   */
  constructor(transport, raw) {
    this.#transport = transport;
    this.id = member(raw, "session_id", "string");
    this.name = member(raw, "name", "string") || this.id;
    /**
     * What the server said of it last.
     * @type {Api.Session}
     */
    this.raw = raw;
    this.files = new Files(transport, this.id);
    this.commands = new Commands(transport, this.id);
  }

  get #parts() {
    return { session: this.id };
  }

  // --- cells ---

  /**
   * @param {string} code
   * @param {CellFields} fields
   * @param {{ detach?: boolean }} [more]
   */
  #cell(code, { key, signal, ...fields }, more = {}) {
    return { parts: this.#parts, json: { ...withFiles(fields), code, ...more }, key, signal };
  }

  /**
   * Runs a cell to its end. See `Client.run()`.
   * @param {string} code
   * @param {CellFields} [fields]
   */
  async run(code, fields = {}) {
    return new Result(await this.#transport.call("POST /v1/sessions/{session}/execute", this.#cell(code, fields)));
  }

  /**
   * Runs a cell and gives its events as they happen. See `Client.stream()`.
   * @param {string} code
   * @param {CellFields} [fields]
   */
  stream(code, fields = {}) {
    return new Events(this.#transport, "POST /v1/sessions/{session}/execute", this.#cell(code, fields));
  }

  /**
   * Starts a cell that goes on without a connection. See `Client.start()`.
   * @param {string} code
   * @param {CellFields} [fields]
   */
  async start(code, fields = {}) {
    const asked = this.#cell(code, { ...fields, key: fields.key ?? (await newKey()) }, { detach: true });
    return new Job(this.#transport, member(await this.#transport.call("POST /v1/sessions/{session}/execute", asked), "id", "string"));
  }

  /**
   * Stops the running cell and keeps the variables. False: none was running.
   * @param {Asking} [asking]
   */
  async interrupt({ signal } = {}) {
    const answer = await this.#transport.call("POST /v1/sessions/{session}/interrupt", { parts: this.#parts, json: {}, signal });
    return member(answer, "interrupted", "boolean");
  }

  /**
   * Starts again with fresh variables. Files stay.
   * @param {Api.Routes["POST /v1/sessions/{session}/restart"]["json"] & Asking} [options]
   * @returns {Promise<void>}
   */
  async restart({ signal, ...json } = {}) {
    await this.#transport.call("POST /v1/sessions/{session}/restart", { parts: this.#parts, json, signal });
  }

  /**
   * Stops everything in its sandbox. Variables and files stay; cells are refused until `resume()`.
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async pause({ signal } = {}) {
    await this.#transport.call("POST /v1/sessions/{session}/pause", { parts: this.#parts, json: {}, signal });
  }

  /**
   * Lets a paused session go on.
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async resume({ signal } = {}) {
    await this.#transport.call("POST /v1/sessions/{session}/resume", { parts: this.#parts, json: {}, signal });
  }

  // --- contexts ---

  /**
   * A further kernel with its own variables, for cells with `context`.
   * @param {Api.Routes["POST /v1/sessions/{session}/contexts"]["json"] & Asking} [options]
   */
  openContext({ signal, ...json } = {}) {
    return this.#transport.call("POST /v1/sessions/{session}/contexts", { parts: this.#parts, json, signal });
  }

  /**
   * The contexts that were opened.
   * @param {Asking} [asking]
   * @returns {Promise<Api.Context[]>}
   */
  async contexts({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/sessions/{session}/contexts", { parts: this.#parts, signal }), "contexts");
  }

  /**
   * Starts it again with fresh variables. Files stay.
   * @param {string} context
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async restartContext(context, { signal } = {}) {
    await this.#transport.call("POST /v1/sessions/{session}/contexts/{context}/restart", { parts: { session: this.id, context }, json: {}, signal });
  }

  /**
   * Ends a context. Its variables are gone.
   * @param {string} context
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async deleteContext(context, { signal } = {}) {
    await this.#transport.read("DELETE /v1/sessions/{session}/contexts/{context}", { parts: { session: this.id, context }, signal });
  }

  // --- copies ---

  /**
   * Independent copies, with variables and files as they are now.
   * @param {number} [n]
   * @param {Asking} [asking]
   * @returns {Promise<Session[]>}
   */
  async fork(n = 1, { signal } = {}) {
    const answer = await this.#transport.call("POST /v1/sessions/{session}/fork", { parts: this.#parts, json: { n }, signal });
    return list(answer, "sessions").map((raw) => new Session(this.#transport, raw));
  }

  /**
   * Saves the present state under a name.
   * @param {string} name
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async checkpoint(name, { signal } = {}) {
    await this.#transport.call("POST /v1/sessions/{session}/checkpoint", { parts: this.#parts, json: { name }, signal });
  }

  /**
   * Saves the present state for `client.session({ snapshot: name })`, also when this session has ended.
   * @param {string} name
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async snapshot(name, { signal } = {}) {
    await this.#transport.call("POST /v1/sessions/{session}/snapshot", { parts: this.#parts, json: { name }, signal });
  }

  /**
   * Goes back to a checkpoint, any number of times.
   * @param {string} name
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async restore(name, { signal } = {}) {
    await this.#transport.call("POST /v1/sessions/{session}/restore", { parts: this.#parts, json: { name }, signal });
  }

  /**
   * Names of the checkpoints.
   * @param {Asking} [asking]
   * @returns {Promise<string[]>}
   */
  async checkpoints({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/sessions/{session}/checkpoints", { parts: this.#parts, signal }), "checkpoints");
  }

  /**
   * @param {string} name
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async deleteCheckpoint(name, { signal } = {}) {
    await this.#transport.read("DELETE /v1/sessions/{session}/checkpoints/{name}", { parts: { session: this.id, name }, signal });
  }

  /**
   * The last cells with their programs and answers, while these are kept, the oldest first.
   * @param {Api.Routes["GET /v1/sessions/{session}/cells"]["query"] & Asking} [options]
   */
  async cells({ signal, ...query } = {}) {
    return list(await this.#transport.call("GET /v1/sessions/{session}/cells", { parts: this.#parts, query, signal }), "cells");
  }

  /**
   * Names of the Python variables, with their types and short values. A program can give a wrong list.
   * @param {Asking} [asking]
   */
  async variables({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/sessions/{session}/variables", { parts: this.#parts, signal }), "variables");
  }

  // --- changes in directories granted with :cow ---

  /**
   * Lists what it would change on disk; with `diff`, the lines as well.
   * @param {Api.Routes["GET /v1/sessions/{session}/changes"]["query"] & Asking} [options]
   */
  changes({ signal, ...query } = {}) {
    return this.#transport.call("GET /v1/sessions/{session}/changes", { parts: this.#parts, query, signal });
  }

  /**
   * Writes changes to the disk: all, or those at or below `paths`.
   * @param {string[] | null} [paths]
   * @param {Omit<ApplyBody, "paths"> & Asking} [options]
   *   version: of the list that you looked at, refused if the changes differ now; force: also overwrite files that changed on disk;
   *   accept_hidden: `hidden_bytes` of the changes, to apply them although so much was not shown
   */
  apply(paths, { signal, ...rest } = {}) {
    const json = { ...rest, ...(paths ? { paths } : {}) };
    return this.#transport.call("POST /v1/sessions/{session}/apply", { parts: this.#parts, json, signal });
  }

  /**
   * Drops changes: all, or those at or below `paths`.
   * @param {string[] | null} [paths]
   * @param {{ version?: string } & Asking} [options]
   */
  discard(paths, { signal, ...rest } = {}) {
    const json = { ...rest, ...(paths ? { paths } : {}) };
    return this.#transport.call("POST /v1/sessions/{session}/discard", { parts: this.#parts, json, signal });
  }

  // --- itself ---

  /**
   * Reads the server's present description into `raw`.
   * @param {Asking} [asking]
   */
  async refresh({ signal } = {}) {
    const raw = await this.#transport.call("GET /v1/sessions/{session}", { parts: this.#parts, signal });
    member(raw, "session_id", "string");
    this.raw = raw;
    return raw;
  }

  /**
   * Ends it. One that has already ended is not an error.
   * @returns {Promise<void>}
   */
  async close() {
    try {
      await this.#transport.read("DELETE /v1/sessions/{session}", { parts: this.#parts });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }
}
