/**
 * @import * as Api from "../types/api.js"
 * @import { Asking } from "./fields.js"
 * @import { Transport } from "./transport.js"
 */
import { list, member } from "./result.js";

/** Code that later programs import: `from skills.NAME import …`. */
export class Skills {
  #transport;

  /** @param {Transport} transport */
  constructor(transport) {
    this.#transport = transport;
  }

  /**
   * Your own skills and the public ones.
   * @param {Asking} [asking]
   * @returns {Promise<Api.SkillHead[]>}
   */
  async list({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/skills", { signal }), "skills");
  }

  /**
   * One skill, with its code, files and versions.
   * @param {string} skill
   * @param {{ version?: number } & Asking} [options]
   */
  get(skill, { version, signal } = {}) {
    return this.#transport.call("GET /v1/skills/{skill}", { parts: { skill }, query: { version }, signal });
  }

  /**
   * Saves a module of Python, or a ZIP file of a folder with a SKILL.md, and returns the new version.
   * @param {string} skill
   * @param {string | Uint8Array} content
   * @param {{ profile?: string, description?: string } & Asking} [options]
   */
  async save(skill, content, { profile, description, signal } = {}) {
    const asked = { parts: { skill }, query: { profile, description }, bytes: content, signal };
    return member(await this.#transport.call("PUT /v1/skills/{skill}", asked), "version", "number");
  }

  /**
   * One file of a skill that is a folder.
   * @param {string} skill
   * @param {string} path
   * @param {{ version?: number } & Asking} [options]
   */
  file(skill, path, { version, signal } = {}) {
    return this.#transport.read("GET /v1/skills/{skill}/files/{path}", { parts: { skill, path }, query: { version }, signal });
  }

  /**
   * Removes the last version, and returns the one before it.
   * @param {string} skill
   * @param {Asking} [asking]
   */
  async undo(skill, { signal } = {}) {
    return member(await this.#transport.call("POST /v1/skills/{skill}/undo", { parts: { skill }, json: {}, signal }), "version", "number");
  }

  /**
   * @param {string} skill
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async delete(skill, { signal } = {}) {
    await this.#transport.read("DELETE /v1/skills/{skill}", { parts: { skill }, signal });
  }
}

/** States of work that continues over several runs: JSON objects with versions. */
export class States {
  #transport;

  /** @param {Transport} transport */
  constructor(transport) {
    this.#transport = transport;
  }

  /**
   * @param {Asking} [asking]
   * @returns {Promise<Api.WorkHead[]>}
   */
  async list({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/states", { signal }), "states");
  }

  /**
   * Makes an empty one. False: it was already there.
   * @param {string} name
   * @param {{ description?: string } & Asking} [options]
   */
  async create(name, { signal, ...rest } = {}) {
    return member(await this.#transport.call("POST /v1/states", { json: { name, ...rest }, signal }), "is_new", "boolean");
  }

  /**
   * The last version, or an earlier one.
   * @param {string} work
   * @param {{ version?: number } & Asking} [options]
   */
  load(work, { version, signal } = {}) {
    return this.#transport.call("GET /v1/states/{work}", { parts: { work }, query: { version }, signal });
  }

  /**
   * Saves a version and returns its number. With `version`, the one it was made from, ConflictError if there is a newer one.
   * @param {string} work
   * @param {{ [name: string]: unknown }} state
   * @param {{ version?: number } & Asking} [options]
   */
  async save(work, state, { signal, ...rest } = {}) {
    const asked = { parts: { work }, json: { state, ...rest }, signal };
    return member(await this.#transport.call("POST /v1/states/{work}/versions", asked), "version", "number");
  }

  /**
   * @param {string} work
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async delete(work, { signal } = {}) {
    await this.#transport.read("DELETE /v1/states/{work}", { parts: { work }, signal });
  }
}
