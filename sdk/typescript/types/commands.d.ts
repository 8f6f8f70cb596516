// Made from src/commands.js by tests/sdk/run.py --write. Do not edit.
/** @typedef {Api.Routes["POST /v1/sessions/{session}/commands/{command}/signal"]["json"]["signal"]} Signal */
/** A command that goes on without a connection. Keep `id` to come back to it: `session.commands.get(id)`. */
export class Command extends Job {
    /**
     * @param {Transport} transport
     * @param {string} id
     * @param {string} sessionId
     */
    constructor(transport: Transport, id: string, sessionId: string);
    session_id: string;
    /**
     * Types on its terminal, or writes to its standard input, which was opened with `stdin_open`.
     * @param {string | Uint8Array} [data]
     * @param {{ close?: boolean } & Asking} [options] close: that is the end of it
     * @returns {Promise<void>}
     */
    write(data?: string | Uint8Array, { close, signal }?: {
        close?: boolean;
    } & Asking): Promise<void>;
    /**
     * Sets the size of its terminal, which it has with `pty`.
     * @param {number} cols
     * @param {number} rows
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    resize(cols: number, rows: number, { signal }?: Asking): Promise<void>;
    /**
     * Sends a signal to it and to what it started: TERM, INT, HUP, KILL, …
     * @param {Signal} name
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    signal(name: Signal, { signal }?: Asking): Promise<void>;
    /**
     * Kills it and what it started. False: it had ended.
     * @param {Asking} [asking]
     */
    kill({ signal }?: Asking): Promise<boolean>;
    #private;
}
/** Commands of a session. Each is a line for Bash, or a list: a program and its arguments, without a shell. */
export class Commands {
    /**
     * @param {Transport} transport
     * @param {string} session
     */
    constructor(transport: Transport, session: string);
    /**
     * Runs a command to its end. The signal ends it, unless it has a `key`.
     * @param {string | readonly string[]} command
     * @param {CommandFields} [fields]
     */
    run(command: string | readonly string[], fields?: CommandFields): Promise<Result>;
    /**
     * Runs a command and gives its events as they happen.
     * @param {string | readonly string[]} command
     * @param {CommandFields} [fields]
     */
    stream(command: string | readonly string[], fields?: CommandFields): Events;
    /**
     * Starts a command that goes on without a connection.
     * @param {string | readonly string[]} command
     * @param {CommandFields} [fields]
     */
    start(command: string | readonly string[], fields?: CommandFields): Promise<Command>;
    /**
     * The commands of the session, the newest first.
     * @param {Asking} [asking]
     * @returns {Promise<Api.Commands["commands"]>}
     */
    list({ signal }?: Asking): Promise<Api.Commands["commands"]>;
    /**
     * A command by its id. Its `events()` are the output so far and what follows.
     * @param {string} commandId
     */
    get(commandId: string): Command;
    #private;
}
export type Signal = Api.Routes["POST /v1/sessions/{session}/commands/{command}/signal"]["json"]["signal"];
import { Job } from "./job.js";
import type { Asking } from "./fields.js";
import type { Transport } from "./transport.js";
import type { CommandFields } from "./fields.js";
import { Result } from "./result.js";
import { Events } from "./events.js";
import type * as Api from "../types/api.js";
