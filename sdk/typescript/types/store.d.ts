// Made from src/store.js by tests/sdk/run.py --write. Do not edit.
/** Code that later programs import: `from skills.NAME import …`. */
export class Skills {
    /** @param {Transport} transport */
    constructor(transport: Transport);
    /**
     * Your own skills and the public ones.
     * @param {Asking} [asking]
     * @returns {Promise<Api.SkillHead[]>}
     */
    list({ signal }?: Asking): Promise<Api.SkillHead[]>;
    /**
     * One skill, with its code, files and versions.
     * @param {string} skill
     * @param {{ version?: number } & Asking} [options]
     */
    get(skill: string, { version, signal }?: {
        version?: number;
    } & Asking): Promise<Api.Skill>;
    /**
     * Saves a module of Python, or a ZIP file of a folder with a SKILL.md, and returns the new version.
     * @param {string} skill
     * @param {string | Uint8Array} content
     * @param {{ profile?: string, description?: string } & Asking} [options]
     */
    save(skill: string, content: string | Uint8Array, { profile, description, signal }?: {
        profile?: string;
        description?: string;
    } & Asking): Promise<number>;
    /**
     * One file of a skill that is a folder.
     * @param {string} skill
     * @param {string} path
     * @param {{ version?: number } & Asking} [options]
     */
    file(skill: string, path: string, { version, signal }?: {
        version?: number;
    } & Asking): Promise<Uint8Array<ArrayBuffer>>;
    /**
     * Removes the last version, and returns the one before it.
     * @param {string} skill
     * @param {Asking} [asking]
     */
    undo(skill: string, { signal }?: Asking): Promise<number>;
    /**
     * @param {string} skill
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    delete(skill: string, { signal }?: Asking): Promise<void>;
    #private;
}
/** States of work that continues over several runs: JSON objects with versions. */
export class States {
    /** @param {Transport} transport */
    constructor(transport: Transport);
    /**
     * @param {Asking} [asking]
     * @returns {Promise<Api.WorkHead[]>}
     */
    list({ signal }?: Asking): Promise<Api.WorkHead[]>;
    /**
     * Makes an empty one. False: it was already there.
     * @param {string} name
     * @param {{ description?: string } & Asking} [options]
     */
    create(name: string, { signal, ...rest }?: {
        description?: string;
    } & Asking): Promise<boolean>;
    /**
     * The last version, or an earlier one.
     * @param {string} work
     * @param {{ version?: number } & Asking} [options]
     */
    load(work: string, { version, signal }?: {
        version?: number;
    } & Asking): Promise<Api.Work>;
    /**
     * Saves a version and returns its number. With `version`, the one it was made from, ConflictError if there is a newer one.
     * @param {string} work
     * @param {{ [name: string]: unknown }} state
     * @param {{ version?: number } & Asking} [options]
     */
    save(work: string, state: {
        [name: string]: unknown;
    }, { signal, ...rest }?: {
        version?: number;
    } & Asking): Promise<number>;
    /**
     * @param {string} work
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    delete(work: string, { signal }?: Asking): Promise<void>;
    #private;
}
import type { Asking } from "./fields.js";
import type * as Api from "../types/api.js";
import type { Transport } from "./transport.js";
