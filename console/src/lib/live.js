/** What the page knows of the server at any time: whose token it is, whether the server is there, and the one stream of events. */
import * as api from "./api.js";
import { setServerTime } from "./format.js";

const WAITS_MS = [500, 1000, 2000, 4000];
const KEPT = 500; // runs, the newest
const FLUSH_MS = 100;

/**
 * @typedef {object} Live
 * @property {"starting" | "open" | "lost" | "absent"} state   absent: this server has no such stream
 * @property {any} me           the caller, null until known
 * @property {string} version
 * @property {string} startedAt
 * @property {any} counts       of the last hello, and what came since
 * @property {any[]} runs       the newest that the stream told of, the newest first
 * @property {number} seen      ended since the page was opened
 * @property {number} gaps      how often events were lost
 * @property {number} approvals that wait
 * @property {number} lostAt
 * @property {boolean} isCluster  the server is a gateway of several machines
 * @property {number} epoch     grows when lists have to be read again
 */

/** @type {Live} */
export const live = {
  state: "starting", me: null, version: "", startedAt: "", counts: null, runs: [], seen: 0, gaps: 0, approvals: 0, lostAt: 0, isCluster: false, epoch: 0,
};

/** @type {Set<() => void>} */
const watchers = new Set();
/** @type {Set<(events: {event: string, data: any}[]) => void>} */
const listeners = new Set();
/** @type {Map<string, any>} */
let byId = new Map();
/** @type {{event: string, data: any}[]} */
let pending = [];
/** @type {AbortController | null} */
let control = null;
let timer = 0;

/** @param {() => void} watcher */
export function watch(watcher) {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

/** @param {(events: {event: string, data: any}[]) => void} listener  gets events in batches, ten times a second at most */
export function listen(listener) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function tell() {
  for (const watcher of watchers) watcher();
}

export function isOperator() {
  return Boolean(live.me?.operator);
}

/** What operators may ask with: everything of everybody. */
export function scope() {
  return isOperator() ? { all: "true" } : {};
}

export function stop() {
  control?.abort();
  control = null;
}

export async function start() {
  stop();
  const own = (control = new AbortController());
  Object.assign(live, { state: "starting", me: null, runs: [], seen: 0, counts: null, approvals: 0 });
  byId = new Map();
  pending = [];
  tell();
  let tries = 0;
  let lastId = "";
  while (!own.signal.aborted) {
    try {
      if (!live.me) await readMe(own.signal);
      await api.stream("GET", "/v1/events", { query: scope(), signal: own.signal, lastId, onOpen: () => opened(() => (tries = 0)) }, (event, data, id) => {
        if (id) lastId = id;
        take(event, data);
      });
      throw new api.Failure(0, "no_answer", "the server closed the stream", null);
    } catch (failure) {
      if (own.signal.aborted) return;
      const status = failure instanceof api.Failure ? failure.status : 0;
      if (status === 401) return;
      if (status === 404 || status === 405) {
        Object.assign(live, { state: "absent" });
        tell();
        return;
      }
      if (live.state !== "lost") Object.assign(live, { state: "lost", lostAt: Date.now() });
      tell();
      await new Promise((done) => setTimeout(done, WAITS_MS[Math.min(tries++, WAITS_MS.length - 1)]));
    }
  }
}

/** @param {() => void} reset */
function opened(reset) {
  reset();
  if (live.state === "lost") live.epoch++;
  live.state = "open";
  tell();
}

/** @param {AbortSignal} signal */
async function readMe(signal) {
  live.me = await api.get("/v1/me", { signal });
  tell();
}

/**
 * @param {string} event
 * @param {any} data
 */
function take(event, data) {
  pending.push({ event, data });
  if (pending.length > 20000) pending = pending.slice(-10000);
  if (!timer) timer = window.setTimeout(flush, FLUSH_MS);
}

function flush() {
  timer = 0;
  const events = pending;
  pending = [];
  for (const { event, data } of events) note(event, data);
  if (byId.size > KEPT * 2) {
    byId = new Map([...byId].slice(-KEPT));
  }
  live.runs = [...byId.values()].slice(-KEPT).reverse();
  for (const listener of listeners) listener(events);
  tell();
}

/**
 * @param {string} event
 * @param {any} data
 */
function note(event, data) {
  if (event === "hello") {
    setServerTime(data.time);
    if (live.startedAt && live.startedAt !== data.server_started_at) {
      byId.clear();
      live.epoch++;
    }
    live.version = data.version;
    live.startedAt = data.server_started_at;
    live.counts = { ...data.live };
    live.approvals = data.live?.approvals ?? 0;
    live.isCluster = Array.isArray(data.nodes);
  } else if (event === "gap") {
    live.gaps++;
    live.epoch++;
  } else if (event === "node_lost" || event === "node_back" || event === "node_joined") {
    live.epoch++;
  } else if (event.endsWith("_started")) {
    byId.set(data.id, { ...data, state: "running", started_at: data.time, kind: event.split("_")[0] });
    if (live.counts) live.counts.running++;
  } else if (event === "run_ended" || event === "command_ended") {
    const before = byId.get(data.id);
    byId.set(data.id, { ...before, ...data, ended_at: data.time, kind: event.split("_")[0] });
    live.seen++;
    if (live.counts) live.counts.running = Math.max(0, live.counts.running - 1);
  } else if (event === "session_opened" && live.counts) live.counts.sessions++;
  else if (event === "session_ended" && live.counts) live.counts.sessions = Math.max(0, live.counts.sessions - 1);
  else if (event === "approval_asked") live.approvals++;
  else if (event === "approval_answered") live.approvals = Math.max(0, live.approvals - 1);
}
