/** Runs a program or a cell and follows it: what the playground and the notebook share. */
import { Failure, post, path, stream } from "./api.js";

const KEPT = 2_000_000; // characters of each stream while it runs; the result is complete

/**
 * @typedef {object} Execution
 * @property {string} id
 * @property {string} code
 * @property {string} language
 * @property {any} result       what there is so far, then the whole
 * @property {boolean} running
 * @property {Failure | null} error
 * @property {{done: number, total: number | null, text: string} | null} progress
 * @property {any[]} approvals  calls that wait for an answer
 * @property {number} started
 */

/**
 * @param {string} url
 * @param {any} body
 * @param {(execution: Execution) => void} onChange  ten times a second at most, and at the end
 */
export function execute(url, body, onChange) {
  const control = new AbortController();
  /** @type {Execution} */
  let state = {
    id: "", code: body.code, language: body.language ?? "python", running: true, error: null, progress: null, approvals: [], started: Date.now(),
    result: { stdout: "", stderr: "", displays: [], status: "running" },
  };
  let timer = 0;
  const draw = () => {
    timer = 0;
    onChange(state);
  };
  const change = (/** @type {Partial<Execution>} */ part) => {
    state = { ...state, ...part };
    if (!timer) timer = window.setTimeout(draw, 100);
  };
  const grow = (/** @type {any} */ part) => change({ result: { ...state.result, ...part } });
  const take = (/** @type {string} */ event, /** @type {any} */ data) => {
    if (event === "start") change({ id: data.id });
    else if (event === "stdout" || event === "stderr") grow({ [event]: (state.result[event] + data.text).slice(-KEPT) });
    else if (event === "display") grow({ displays: [...state.result.displays, ...data.displays] });
    else if (event === "progress") change({ progress: data });
    else if (event === "approval") change({ approvals: [...state.approvals, data] });
    else if (event === "result") change({ result: data, running: false, id: data.id, progress: null, approvals: [] });
    else if (event === "error") change({ running: false, error: new Failure(0, (data.error ?? data).code, (data.error ?? data).message, (data.error ?? data).hint ?? null) });
  };
  const done = (async () => {
    onChange(state);
    try {
      await stream("POST", url, { json: body, signal: control.signal }, take);
      if (state.running) throw new Failure(0, "no_answer", "the connection to the server was lost", state.id ? `the run is ${state.id}` : null);
    } catch (error) {
      state = { ...state, running: false, error: error instanceof Failure ? error : control.signal.aborted ? null : new Failure(0, "internal", String(error), null) };
    }
    clearTimeout(timer);
    draw();
    return state;
  })();
  return {
    done,
    stop: () => (state.id ? post(path`/v1/runs/${state.id}/cancel`) : Promise.resolve(control.abort())),
    abort: () => control.abort(),
  };
}
