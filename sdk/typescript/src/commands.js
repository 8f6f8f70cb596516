/**
 * Commands in the sandbox of a session, beside its cells.
 * @import * as Api from "../types/api.js"
 * @import { Asking, CommandFields } from "./fields.js"
 * @import { Transport } from "./transport.js"
 */
import { Events } from "./events.js";
import { Job, newKey } from "./job.js";
import { Result, list, member } from "./result.js";
import { toBase64 } from "./text.js";

/** @typedef {Api.Routes["POST /v1/sessions/{session}/commands/{command}/signal"]["json"]["signal"]} Signal */

/** A command that goes on without a connection. Keep `id` to come back to it: `session.commands.get(id)`. */
export class Command extends Job {
  #transport;

  /**
   * @param {Transport} transport
   * @param {string} id
   * @param {string} sessionId
   */
  constructor(transport, id, sessionId) {
    super(transport, id);
    this.#transport = transport;
    this.session_id = sessionId;
  }

  get #parts() {
    return { session: this.session_id, command: this.id };
  }

  /**
   * Types on its terminal, or writes to its standard input, which was opened with `stdin_open`.
   * @param {string | Uint8Array} [data]
   * @param {{ close?: boolean } & Asking} [options] close: that is the end of it
   * @returns {Promise<void>}
   */
  async write(data = "", { close, signal } = {}) {
    const given = typeof data === "string" ? { text: data } : { base64: toBase64(data) };
    const json = { ...given, ...(close === undefined ? {} : { close }) };
    await this.#transport.read("POST /v1/sessions/{session}/commands/{command}/stdin", { parts: this.#parts, json, signal });
  }

  /**
   * Sets the size of its terminal, which it has with `pty`.
   * @param {number} cols
   * @param {number} rows
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async resize(cols, rows, { signal } = {}) {
    await this.#transport.read("POST /v1/sessions/{session}/commands/{command}/resize", { parts: this.#parts, json: { cols, rows }, signal });
  }

  /**
   * Sends a signal to it and to what it started: TERM, INT, HUP, KILL, …
   * @param {Signal} name
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async signal(name, { signal } = {}) {
    await this.#transport.read("POST /v1/sessions/{session}/commands/{command}/signal", { parts: this.#parts, json: { signal: name }, signal });
  }

  /**
   * Kills it and what it started. False: it had ended.
   * @param {Asking} [asking]
   */
  async kill({ signal } = {}) {
    return member(await this.#transport.call("DELETE /v1/sessions/{session}/commands/{command}", { parts: this.#parts, signal }), "cancelled", "boolean");
  }
}

/** Commands of a session. Each is a line for Bash, or a list: a program and its arguments, without a shell. */
export class Commands {
  #transport;
  #session;

  /**
   * @param {Transport} transport
   * @param {string} session
   */
  constructor(transport, session) {
    this.#transport = transport;
    this.#session = session;
  }

  /**
   * @param {string | readonly string[]} command
   * @param {CommandFields} fields
   * @param {{ background?: boolean }} [more]
   */
  #asked(command, { key, signal, ...fields }, more = {}) {
    const words = typeof command === "string" ? { command } : { args: [...command] };
    return { parts: { session: this.#session }, json: { ...fields, ...words, ...more }, key, signal };
  }

  /**
   * Runs a command to its end. The signal ends it, unless it has a `key`.
   * @param {string | readonly string[]} command
   * @param {CommandFields} [fields]
   */
  async run(command, fields = {}) {
    return new Result(await this.#transport.call("POST /v1/sessions/{session}/commands", this.#asked(command, fields)));
  }

  /**
   * Runs a command and gives its events as they happen.
   * @param {string | readonly string[]} command
   * @param {CommandFields} [fields]
   */
  stream(command, fields = {}) {
    return new Events(this.#transport, "POST /v1/sessions/{session}/commands", this.#asked(command, fields));
  }

  /**
   * Starts a command that goes on without a connection.
   * @param {string | readonly string[]} command
   * @param {CommandFields} [fields]
   */
  async start(command, fields = {}) {
    const asked = this.#asked(command, { ...fields, key: fields.key ?? (await newKey()) }, { background: true });
    return this.get(member(await this.#transport.call("POST /v1/sessions/{session}/commands", asked), "id", "string"));
  }

  /**
   * The commands of the session, the newest first.
   * @param {Asking} [asking]
   * @returns {Promise<Api.Commands["commands"]>}
   */
  async list({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/sessions/{session}/commands", { parts: { session: this.#session }, signal }), "commands");
  }

  /**
   * A command by its id. Its `events()` are the output so far and what follows.
   * @param {string} commandId
   */
  get(commandId) {
    return new Command(this.#transport, commandId, this.#session);
  }
}
