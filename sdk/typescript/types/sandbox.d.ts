// Made from src/sandbox.js by tests/sdk/run.py --write. Do not edit.
/** @param {Result} result */
export function exitCode({ exit_code: code, ok, status }: Result): number;
export class Sandbox {
    /** @param {Session} session */
    constructor(session: Session);
    session: Session;
    /**
     * Starts a command once, also if the connection breaks. The signal kills it.
     * @param {string | readonly string[]} command
     * @param {RunOptions & { stdin_open?: boolean }} [options]
     */
    start(command: string | readonly string[], { cwd, env, timeout, signal, stdin_open }?: RunOptions & {
        stdin_open?: boolean;
    }): Promise<Process>;
    /**
     * Runs a line of Bash, or a program with its arguments, to its end.
     * @param {string | readonly string[]} command
     * @param {RunOptions} [options]
     */
    run(command: string | readonly string[], options?: RunOptions): Promise<Result>;
    /**
     * Makes a file with this content, to be removed with `unstage()`.
     * @param {string | Uint8Array | ReadableStream<Uint8Array>} content
     */
    stage(content: string | Uint8Array | ReadableStream<Uint8Array>): Promise<string>;
    /** @param {string} file */
    unstage(file: string): Promise<void>;
    /**
     * @param {string} path
     * @param {{ signal?: AbortSignal | undefined, maxBytes?: number }} [options]
     */
    read(path: string, { signal, maxBytes }?: {
        signal?: AbortSignal | undefined;
        maxBytes?: number;
    }): Promise<Uint8Array<ArrayBuffer>>;
    /**
     * Writes a file and makes missing directories. One that is there keeps its mode, and a link is followed.
     * @param {string} path
     * @param {string | Uint8Array | ReadableStream<Uint8Array>} content
     * @param {{ signal?: AbortSignal | undefined }} [options]
     * @returns {Promise<void>}
     */
    write(path: string, content: string | Uint8Array | ReadableStream<Uint8Array>, { signal }?: {
        signal?: AbortSignal | undefined;
    }): Promise<void>;
    /**
     * Deletes a file or a link.
     * @param {string} path
     * @param {{ signal?: AbortSignal | undefined }} [options]
     */
    delete(path: string, { signal }?: {
        signal?: AbortSignal | undefined;
    }): Promise<void>;
    /**
     * The kind and size of what a path leads to.
     * @param {string} path
     * @param {{ signal?: AbortSignal | undefined }} [options]
     */
    stat(path: string, { signal }?: {
        signal?: AbortSignal | undefined;
    }): Promise<{
        kind: string;
        size: number;
    }>;
    /**
     * The entries of a directory; links among them are not followed.
     * @param {string} path
     * @param {{ signal?: AbortSignal | undefined }} [options]
     * @returns {Promise<Entry[]>}
     */
    list(path: string, { signal }?: {
        signal?: AbortSignal | undefined;
    }): Promise<Entry[]>;
    #private;
}
/** A command that runs. */
export class Process {
    /**
     * @param {Command} command
     * @param {AbortSignal | undefined} signal
     * @param {() => Promise<void>} [clean] after its end
     */
    constructor(command: Command, signal: AbortSignal | undefined, clean?: () => Promise<void>);
    /** Its result. Rejects with the signal's reason if that ended it. */
    wait(): Promise<Result>;
    /** Kills it and what it started, however often. */
    kill(): Promise<void>;
    /**
     * What it writes, as it comes. A command that has ended has its output only in its result.
     * @param {readonly ("stdout" | "stderr")[]} [names]
     * @param {Events} [events]
     * @returns {AsyncGenerator<{ name: "stdout" | "stderr", text: string }, void, undefined>}
     */
    output(names?: readonly ("stdout" | "stderr")[], events?: Events): AsyncGenerator<{
        name: "stdout" | "stderr";
        text: string;
    }, void, undefined>;
    /**
     * The bytes of one of its streams, as fast as they are read.
     * @param {"stdout" | "stderr"} name
     * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
     */
    stream(name: "stdout" | "stderr"): ReadableStream<Uint8Array<ArrayBuffer>>;
    /**
     * Its standard input. Closing it is the end of the input, not of the command.
     * @returns {WritableStream<Uint8Array>}
     */
    input(): WritableStream<Uint8Array>;
    #private;
}
export type RunOptions = {
    cwd?: string | undefined;
    env?: {
        [name: string]: string;
    } | undefined;
    timeout?: number | undefined;
    signal?: AbortSignal | undefined;
};
export type Entry = {
    name: string;
    kind: string;
    size: number;
};
import type { Result } from "./result.js";
import type { Session } from "./session.js";
import type { Events } from "./events.js";
import type { Command } from "./commands.js";
