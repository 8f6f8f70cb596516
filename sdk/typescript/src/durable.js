/**
 * @import * as Api from "../types/api.js"
 * @import { Asking, JobFields } from "./fields.js"
 * @import { Transport } from "./transport.js"
 */
import { withFiles } from "./fields.js";
import { newKey } from "./job.js";
import { Result, list, member } from "./result.js";

const WAIT_S = 30;

/** Durable jobs: programs that the server runs even if it is restarted meanwhile. After `submit()` the job is on the server's disk. */
export class Jobs {
  #transport;

  /** @param {Transport} transport */
  constructor(transport) {
    this.#transport = transport;
  }

  /**
   * Has a program run, also if the server ends meanwhile. Keep `id` to come back to it.
   * @param {string} code
   * @param {JobFields} [fields]
   */
  async submit(code, { key, signal, ...fields } = {}) {
    const asked = { json: { ...withFiles(fields), code }, key: key ?? (await newKey()), signal };
    return await this.#transport.call("POST /v1/jobs", asked);
  }

  /**
   * Your jobs, the newest first. `before`: only those older than this id.
   * @param {Api.Routes["GET /v1/jobs"]["query"] & Asking} [options]
   * @returns {Promise<Api.JobHead[]>}
   */
  async list({ signal, ...query } = {}) {
    return list(await this.#transport.call("GET /v1/jobs", { query, signal }), "jobs");
  }

  /**
   * A job as it is now; with `wait_s`, when it is over or after that time (60 at most).
   * @param {string} job
   * @param {{ wait_s?: number } & Asking} [options]
   */
  get(job, { wait_s, signal } = {}) {
    return this.#transport.call("GET /v1/jobs/{job}", { parts: { job }, query: { wait_s }, signal });
  }

  /**
   * Waits until a job is over. The signal ends the waiting, not the job.
   * @param {string} job
   * @param {Asking} [asking]
   */
  async wait(job, asking = {}) {
    for (;;) {
      const known = await this.get(job, { wait_s: WAIT_S, ...asking });
      if (known.state !== "waiting" && known.state !== "running") return known;
    }
  }

  /**
   * The result of a job that is over. ConflictError: it has none, or not yet.
   * @param {string} job
   * @param {Asking} [asking]
   */
  async result(job, { signal } = {}) {
    return new Result(await this.#transport.call("GET /v1/jobs/{job}/result", { parts: { job }, signal }));
  }

  /**
   * Cancels a job. False: it had ended.
   * @param {string} job
   * @param {Asking} [asking]
   */
  async cancel(job, { signal } = {}) {
    return member(await this.#transport.call("POST /v1/jobs/{job}/cancel", { parts: { job }, json: {}, signal }), "cancelled", "boolean");
  }

  /**
   * Deletes a job that is over, with its result.
   * @param {string} job
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async delete(job, { signal } = {}) {
    await this.#transport.read("DELETE /v1/jobs/{job}", { parts: { job }, signal });
  }
}
