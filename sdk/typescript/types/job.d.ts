// Made from src/job.js by tests/sdk/run.py --write. Do not edit.
/** A key that nobody else has. */
export function newKey(): Promise<string>;
/**
 * The result of a run; null: it still runs.
 * @param {Transport} transport
 * @param {string} run
 * @param {Asking} [asking]
 */
export function readRun(transport: Transport, run: string, { signal }?: Asking): Promise<Result | null>;
/**
 * @param {Transport} transport
 * @param {string} run
 * @param {Asking} [asking]
 */
export function cancelRun(transport: Transport, run: string, { signal }?: Asking): Promise<boolean>;
/**
 * @param {Transport} transport
 * @param {string} run
 * @param {OutputFields} fields
 */
export function readOutput(transport: Transport, run: string, { signal, ...query }: OutputFields): Promise<Api.Output>;
/** A run that goes on without a connection. Keep `id` to come back to it: `client.job(id)`. */
export class Job {
    /**
     * @param {Transport} transport
     * @param {string} id
     */
    constructor(transport: Transport, id: string);
    id: string;
    /**
     * The output so far and what follows, then the result. Any number of clients can read along, and leaving does not end the run.
     * @param {{ stdout?: number, stderr?: number, wait?: boolean } & Asking} [options]
     *   stdout, stderr: bytes of each that you have; wait: false for only the output so far
     */
    events({ signal, ...query }?: {
        stdout?: number;
        stderr?: number;
        wait?: boolean;
    } & Asking): Events;
    /**
     * The result; null: it still runs.
     * @param {Asking} [asking]
     */
    result(asking?: Asking): Promise<Result | null>;
    /**
     * Waits until it has ended. The signal ends the waiting, not the run.
     * @param {Asking} [asking]
     * @returns {Promise<Result>}
     */
    wait({ signal }?: Asking): Promise<Result>;
    /**
     * A part of its whole output; see `Client.output()`.
     * @param {OutputFields} [fields]
     */
    output(fields?: OutputFields): Promise<Api.Output>;
    /**
     * Ends it. False: it had ended.
     * @param {Asking} [asking]
     */
    cancel(asking?: Asking): Promise<boolean>;
    #private;
}
export type OutputFields = Api.Routes["GET /v1/runs/{run}/output"]["query"] & Asking;
import type { Transport } from "./transport.js";
import type { Asking } from "./fields.js";
import { Result } from "./result.js";
import type * as Api from "../types/api.js";
import { Events } from "./events.js";
