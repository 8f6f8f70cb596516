/**
 * @import * as Api from "../types/api.js"
 * @import { Asking } from "./fields.js"
 * @import { Content, Transport } from "./transport.js"
 */
import { InvalidError, ProtocolError, Unreachable } from "./errors.js";
import { STREAM, readEvent } from "./events.js";
import { list, member } from "./result.js";
import { Lines } from "./transport.js";

/** @typedef {Api.Files["files"][number]} File */
/**
 * A change in a watched directory: start, create, write, remove, rename, chmod, lost. The path is from `/workspace` on.
 * @typedef {{ kind: string, path?: string, directory?: boolean }} FileEvent
 */

/** Files in `/workspace` of a session. An absolute path is one in a directory that is granted to it. */
export class Files {
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

  /** @param {string} path */
  #parts(path) {
    return { session: this.#session, path };
  }

  /**
   * The bytes of a file, or those from `start` up to, but not including, `end`.
   * @param {string} path
   * @param {{ start?: number, end?: number } & Asking} [options]
   */
  async read(path, { start = 0, end, signal } = {}) {
    if (!(start >= 0) || (end !== undefined && !(end >= 0))) throw new InvalidError("`start` and `end` cannot be negative");
    if (end !== undefined && end <= start) return new Uint8Array(0);
    /** @type {{ [name: string]: string }} */
    const headers = start || end !== undefined ? { Range: `bytes=${start}-${end === undefined ? "" : end - 1}` } : {};
    return await this.#transport.read("GET /v1/sessions/{session}/files/{path}", {
      parts: this.#parts(path),
      headers: { Accept: "application/octet-stream, application/json", ...headers },
      signal,
    });
  }

  /**
   * A file as text, from UTF-8.
   * @param {string} path
   * @param {Asking} [asking]
   */
  async text(path, asking = {}) {
    return new TextDecoder().decode(await this.read(path, asking));
  }

  /**
   * The bytes of a file of any size, in pieces.
   * @param {string} path
   * @param {Asking} [asking]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined>}
   */
  async *chunks(path, { signal } = {}) {
    const exchange = await this.#transport.start("GET /v1/sessions/{session}/files/{path}", {
      parts: this.#parts(path),
      headers: { Accept: "application/octet-stream, application/json" },
      signal,
    });
    try {
      for (let piece = await exchange.read(); piece; piece = await exchange.read()) yield piece;
    } finally {
      exchange.close();
    }
  }

  /**
   * Writes a file, whole or not at all, and returns its size. Streams are sent as they are read; Node's streams are such, too.
   * @param {string} path
   * @param {Content} content
   * @param {{ executable?: boolean, new?: boolean } & Asking} [options] new: refuse to replace a file
   */
  async write(path, content, { signal, ...query } = {}) {
    const answer = await this.#transport.call("PUT /v1/sessions/{session}/files/{path}", {
      parts: this.#parts(path),
      query: { executable: query.executable || null, new: query.new || null },
      bytes: content,
      signal,
    });
    return member(answer, "size", "number");
  }

  /**
   * Deletes a file, or with `recursive` a directory and everything in it.
   * @param {string} path
   * @param {{ recursive?: boolean } & Asking} [options]
   * @returns {Promise<void>}
   */
  async delete(path, { recursive, signal } = {}) {
    const asked = { parts: this.#parts(path), query: { recursive: recursive || null }, signal };
    await this.#transport.read("DELETE /v1/sessions/{session}/files/{path}", asked);
  }

  /**
   * Gives a file or a directory another path, in one step, and returns it.
   * @param {string} path
   * @param {string} to
   * @param {{ new?: boolean } & Asking} [options] new: refuse to replace a file
   */
  async move(path, to, { signal, ...more } = {}) {
    const asked = { parts: this.#parts(path), json: { to, new: more.new ?? false }, signal };
    return member(await this.#transport.call("POST /v1/sessions/{session}/files/{path}", asked), "path", "string");
  }

  /**
   * Changes in a directory as they happen, until the loop is left or the directory is gone.
   *
   * The first is `start`: what happens after it comes. `lost`: there was more than could be told; look at the directory again.
   * @param {string | null} [path]
   * @param {{ recursive?: boolean } & Asking} [options]
   * @returns {AsyncGenerator<FileEvent, void, undefined>}
   */
  async *watch(path, { recursive, signal } = {}) {
    const query = { path: path || null, recursive: recursive || null };
    const exchange = await this.#transport.start("GET /v1/sessions/{session}/watch", { parts: { session: this.#session }, query, headers: STREAM, signal });
    try {
      const lines = new Lines(exchange, this.#transport.maxAnswerBytes);
      for (let event = await readEvent(lines, this.#transport.maxAnswerBytes); event; event = await readEvent(lines, this.#transport.maxAnswerBytes)) {
        if (event.kind === "end") return;
        yield { ...event.data, kind: event.kind };
      }
    } finally {
      exchange.close();
    }
    throw new Unreachable("the connection ended before the watch");
  }

  /**
   * The files of a directory and `depth` - 1 levels below it; 0: all of them. `limit` is per request.
   * @param {string | null} [path]
   * @param {{ depth?: number, limit?: number } & Asking} [options]
   * @returns {AsyncGenerator<File, void, undefined>}
   */
  async *list(path, { depth = 1, limit, signal } = {}) {
    let after = "";
    for (;;) {
      const query = { path: path || null, depth, limit, after: after || null };
      const answer = await this.#transport.call("GET /v1/sessions/{session}/files", { parts: { session: this.#session }, query, signal });
      /** @type {File[]} */
      const files = list(answer, "files");
      yield* files;
      const last = files.at(-1)?.path;
      if (answer.has_more !== true || last === undefined) return;
      if (last === after) throw new ProtocolError("the server lists the same files again");
      after = last;
    }
  }
}
