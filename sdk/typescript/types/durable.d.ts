// Made from src/durable.js by tests/sdk/run.py --write. Do not edit.
/** Durable jobs: programs that the server runs even if it is restarted meanwhile. After `submit()` the job is on the server's disk. */
export class Jobs {
    /** @param {Transport} transport */
    constructor(transport: Transport);
    /**
     * Has a program run, also if the server ends meanwhile. Keep `id` to come back to it.
     * @param {string} code
     * @param {JobFields} [fields]
     */
    submit(code: string, { key, signal, ...fields }?: JobFields): Promise<Api.Job>;
    /**
     * Your jobs, the newest first. `before`: only those older than this id.
     * @param {Api.Routes["GET /v1/jobs"]["query"] & Asking} [options]
     * @returns {Promise<Api.JobHead[]>}
     */
    list({ signal, ...query }?: Api.Routes["GET /v1/jobs"]["query"] & Asking): Promise<Api.JobHead[]>;
    /**
     * A job as it is now; with `wait_s`, when it is over or after that time (60 at most).
     * @param {string} job
     * @param {{ wait_s?: number } & Asking} [options]
     */
    get(job: string, { wait_s, signal }?: {
        wait_s?: number;
    } & Asking): Promise<Api.Job>;
    /**
     * Waits until a job is over. The signal ends the waiting, not the job.
     * @param {string} job
     * @param {Asking} [asking]
     */
    wait(job: string, asking?: Asking): Promise<Api.Job>;
    /**
     * The result of a job that is over. ConflictError: it has none, or not yet.
     * @param {string} job
     * @param {Asking} [asking]
     */
    result(job: string, { signal }?: Asking): Promise<Result>;
    /**
     * Cancels a job. False: it had ended.
     * @param {string} job
     * @param {Asking} [asking]
     */
    cancel(job: string, { signal }?: Asking): Promise<boolean>;
    /**
     * Deletes a job that is over, with its result.
     * @param {string} job
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    delete(job: string, { signal }?: Asking): Promise<void>;
    #private;
}
import type { JobFields } from "./fields.js";
import type * as Api from "../types/api.js";
import type { Asking } from "./fields.js";
import { Result } from "./result.js";
import type { Transport } from "./transport.js";
