/// <reference lib="esnext.disposable" />
// Made from src/session.js by tests/sdk/run.py --write. Do not edit.
/** @typedef {Api.Routes["POST /v1/sessions/{session}/apply"]["json"]} ApplyBody */
/** A sandbox that keeps its variables and files. `await using` ends it with the block. */
export class Session {
    /**
     * @param {Transport} transport
     * @param {any} raw
     */
    constructor(transport: Transport, raw: any);
    id: string;
    name: string;
    /**
     * What the server said of it last.
     * @type {Api.Session}
     */
    raw: Api.Session;
    files: Files;
    commands: Commands;
    /**
     * Runs a cell to its end. See `Client.run()`.
     * @param {string} code
     * @param {CellFields} [fields]
     */
    run(code: string, fields?: CellFields): Promise<Result>;
    /**
     * Runs a cell and gives its events as they happen. See `Client.stream()`.
     * @param {string} code
     * @param {CellFields} [fields]
     */
    stream(code: string, fields?: CellFields): Events;
    /**
     * Starts a cell that goes on without a connection. See `Client.start()`.
     * @param {string} code
     * @param {CellFields} [fields]
     */
    start(code: string, fields?: CellFields): Promise<Job>;
    /**
     * Stops the running cell and keeps the variables. False: none was running.
     * @param {Asking} [asking]
     */
    interrupt({ signal }?: Asking): Promise<boolean>;
    /**
     * Starts again with fresh variables. Files stay.
     * @param {Api.Routes["POST /v1/sessions/{session}/restart"]["json"] & Asking} [options]
     * @returns {Promise<void>}
     */
    restart({ signal, ...json }?: Api.Routes["POST /v1/sessions/{session}/restart"]["json"] & Asking): Promise<void>;
    /**
     * Stops everything in its sandbox. Variables and files stay; cells are refused until `resume()`.
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    pause({ signal }?: Asking): Promise<void>;
    /**
     * Lets a paused session go on.
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    resume({ signal }?: Asking): Promise<void>;
    /**
     * A further kernel with its own variables, for cells with `context`.
     * @param {Api.Routes["POST /v1/sessions/{session}/contexts"]["json"] & Asking} [options]
     */
    openContext({ signal, ...json }?: Api.Routes["POST /v1/sessions/{session}/contexts"]["json"] & Asking): Promise<Api.Context>;
    /**
     * The contexts that were opened.
     * @param {Asking} [asking]
     * @returns {Promise<Api.Context[]>}
     */
    contexts({ signal }?: Asking): Promise<Api.Context[]>;
    /**
     * Starts it again with fresh variables. Files stay.
     * @param {string} context
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    restartContext(context: string, { signal }?: Asking): Promise<void>;
    /**
     * Ends a context. Its variables are gone.
     * @param {string} context
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    deleteContext(context: string, { signal }?: Asking): Promise<void>;
    /**
     * Independent copies, with variables and files as they are now.
     * @param {number} [n]
     * @param {Asking} [asking]
     * @returns {Promise<Session[]>}
     */
    fork(n?: number, { signal }?: Asking): Promise<Session[]>;
    /**
     * Saves the present state under a name.
     * @param {string} name
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    checkpoint(name: string, { signal }?: Asking): Promise<void>;
    /**
     * Saves the present state for `client.session({ snapshot: name })`, also when this session has ended.
     * @param {string} name
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    snapshot(name: string, { signal }?: Asking): Promise<void>;
    /**
     * Goes back to a checkpoint, any number of times.
     * @param {string} name
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    restore(name: string, { signal }?: Asking): Promise<void>;
    /**
     * Names of the checkpoints.
     * @param {Asking} [asking]
     * @returns {Promise<string[]>}
     */
    checkpoints({ signal }?: Asking): Promise<string[]>;
    /**
     * @param {string} name
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    deleteCheckpoint(name: string, { signal }?: Asking): Promise<void>;
    /**
     * The last cells with their programs and answers, while these are kept, the oldest first.
     * @param {Api.Routes["GET /v1/sessions/{session}/cells"]["query"] & Asking} [options]
     */
    cells({ signal, ...query }?: Api.Routes["GET /v1/sessions/{session}/cells"]["query"] & Asking): Promise<any[]>;
    /**
     * Names of the Python variables, with their types and short values. A program can give a wrong list.
     * @param {Asking} [asking]
     */
    variables({ signal }?: Asking): Promise<any[]>;
    /**
     * Lists what it would change on disk; with `diff`, the lines as well.
     * @param {Api.Routes["GET /v1/sessions/{session}/changes"]["query"] & Asking} [options]
     */
    changes({ signal, ...query }?: Api.Routes["GET /v1/sessions/{session}/changes"]["query"] & Asking): Promise<Api.Changes>;
    /**
     * Writes changes to the disk: all, or those at or below `paths`.
     * @param {string[] | null} [paths]
     * @param {Omit<ApplyBody, "paths"> & Asking} [options]
     *   version: of the list that you looked at, refused if the changes differ now; force: also overwrite files that changed on disk;
     *   accept_hidden: `hidden_bytes` of the changes, to apply them although so much was not shown
     */
    apply(paths?: string[] | null, { signal, ...rest }?: Omit<ApplyBody, "paths"> & Asking): Promise<Api.Settled>;
    /**
     * Drops changes: all, or those at or below `paths`.
     * @param {string[] | null} [paths]
     * @param {{ version?: string } & Asking} [options]
     */
    discard(paths?: string[] | null, { signal, ...rest }?: {
        version?: string;
    } & Asking): Promise<Api.Settled>;
    /**
     * Reads the server's present description into `raw`.
     * @param {Asking} [asking]
     */
    refresh({ signal }?: Asking): Promise<Api.Session>;
    /**
     * Ends it. One that has already ended is not an error.
     * @returns {Promise<void>}
     */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
    #private;
}
export type ApplyBody = Api.Routes["POST /v1/sessions/{session}/apply"]["json"];
import type * as Api from "../types/api.js";
import { Files } from "./files.js";
import { Commands } from "./commands.js";
import type { CellFields } from "./fields.js";
import { Result } from "./result.js";
import { Events } from "./events.js";
import { Job } from "./job.js";
import type { Asking } from "./fields.js";
import type { Transport } from "./transport.js";
