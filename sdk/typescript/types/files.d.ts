// Made from src/files.js by tests/sdk/run.py --write. Do not edit.
/** @typedef {Api.Files["files"][number]} File */
/**
 * A change in a watched directory: start, create, write, remove, rename, chmod, lost. The path is from `/workspace` on.
 * @typedef {{ kind: string, path?: string, directory?: boolean }} FileEvent
 */
/** Files in `/workspace` of a session. An absolute path is one in a directory that is granted to it. */
export class Files {
    /**
     * @param {Transport} transport
     * @param {string} session
     */
    constructor(transport: Transport, session: string);
    /**
     * The bytes of a file, or those from `start` up to, but not including, `end`.
     * @param {string} path
     * @param {{ start?: number, end?: number } & Asking} [options]
     */
    read(path: string, { start, end, signal }?: {
        start?: number;
        end?: number;
    } & Asking): Promise<Uint8Array<ArrayBuffer>>;
    /**
     * A file as text, from UTF-8.
     * @param {string} path
     * @param {Asking} [asking]
     */
    text(path: string, asking?: Asking): Promise<string>;
    /**
     * The bytes of a file of any size, in pieces.
     * @param {string} path
     * @param {Asking} [asking]
     * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined>}
     */
    chunks(path: string, { signal }?: Asking): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined>;
    /**
     * Writes a file, whole or not at all, and returns its size. Streams are sent as they are read; Node's streams are such, too.
     * @param {string} path
     * @param {Content} content
     * @param {{ executable?: boolean, new?: boolean } & Asking} [options] new: refuse to replace a file
     */
    write(path: string, content: Content, { signal, ...query }?: {
        executable?: boolean;
        new?: boolean;
    } & Asking): Promise<number>;
    /**
     * Deletes a file, or with `recursive` a directory and everything in it.
     * @param {string} path
     * @param {{ recursive?: boolean } & Asking} [options]
     * @returns {Promise<void>}
     */
    delete(path: string, { recursive, signal }?: {
        recursive?: boolean;
    } & Asking): Promise<void>;
    /**
     * Gives a file or a directory another path, in one step, and returns it.
     * @param {string} path
     * @param {string} to
     * @param {{ new?: boolean } & Asking} [options] new: refuse to replace a file
     */
    move(path: string, to: string, { signal, ...more }?: {
        new?: boolean;
    } & Asking): Promise<string>;
    /**
     * Changes in a directory as they happen, until the loop is left or the directory is gone.
     *
     * The first is `start`: what happens after it comes. `lost`: there was more than could be told; look at the directory again.
     * @param {string | null} [path]
     * @param {{ recursive?: boolean } & Asking} [options]
     * @returns {AsyncGenerator<FileEvent, void, undefined>}
     */
    watch(path?: string | null, { recursive, signal }?: {
        recursive?: boolean;
    } & Asking): AsyncGenerator<FileEvent, void, undefined>;
    /**
     * The files of a directory and `depth` - 1 levels below it; 0: all of them. `limit` is per request.
     * @param {string | null} [path]
     * @param {{ depth?: number, limit?: number } & Asking} [options]
     * @returns {AsyncGenerator<File, void, undefined>}
     */
    list(path?: string | null, { depth, limit, signal }?: {
        depth?: number;
        limit?: number;
    } & Asking): AsyncGenerator<File, void, undefined>;
    #private;
}
export type File = Api.Files["files"][number];
/**
 * A change in a watched directory: start, create, write, remove, rename, chmod, lost. The path is from `/workspace` on.
 */
export type FileEvent = {
    kind: string;
    path?: string;
    directory?: boolean;
};
import type { Asking } from "./fields.js";
import type { Content } from "./transport.js";
import type { Transport } from "./transport.js";
import type * as Api from "../types/api.js";
