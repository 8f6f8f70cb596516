/** Requests to the server that the page came from, and to no other. The token is in sessionStorage: no cookie, nothing that outlives the tab. */
import { readEvents } from "./sse.js";
import { query as queryText } from "./format.js";

const KEY = "belljar.token";

/** What the server, or the way to it, said: shown as it came. */
export class Failure extends Error {
  /**
   * @param {number} status  0: there was no answer
   * @param {string} code
   * @param {string} message
   * @param {string | null} hint
   * @param {any} [body]
   */
  constructor(status, code, message, hint, body) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.body = body;
  }
}

/** @type {Set<() => void>} */
const refusedListeners = new Set();

/** @param {() => void} listener  called when the server no longer takes the token */
export function onRefused(listener) {
  refusedListeners.add(listener);
}

let token = "";

export function loadToken() {
  try {
    token = sessionStorage.getItem(KEY) ?? "";
  } catch {
    token = "";
  }
  return token;
}

/** @param {string} value */
export function setToken(value) {
  token = value;
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // Without storage the token lives as long as the page does.
  }
}

/** For a WebSocket, which can send it in no other way. */
export function tokenText() {
  return token;
}

export function hasToken() {
  return token !== "";
}

/**
 * @typedef {object} Options
 * @property {any} [json]
 * @property {BodyInit} [body]
 * @property {Record<string, unknown>} [query]
 * @property {AbortSignal} [signal]
 * @property {Record<string, string>} [headers]
 * @property {boolean} [anonymous]
 */

/**
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<Response>}
 */
export async function request(method, path, options = {}) {
  /** @type {Record<string, string>} */
  const headers = { ...options.headers };
  if (token && !options.anonymous) headers.Authorization = `Bearer ${token}`;
  let body = options.body;
  if (options.json !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(options.json);
  }
  let response;
  try {
    response = await fetch(path + queryText(options.query ?? {}), {
      method, headers, body, signal: options.signal, credentials: "omit", redirect: "error", cache: "no-store", referrerPolicy: "no-referrer",
    });
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new Failure(0, "no_answer", "the server does not answer", "is `belljar serve` still running? The page tries again by itself");
  }
  if (!response.ok) {
    const failure = await readFailure(response);
    if (response.status === 401 && !options.anonymous) for (const listener of refusedListeners) listener();
    throw failure;
  }
  return response;
}

/** @param {Response} response */
async function readFailure(response) {
  let body;
  try {
    body = await response.json();
  } catch {
    body = null;
  }
  const error = body?.error;
  if (error?.message) return new Failure(response.status, String(error.code ?? ""), String(error.message), error.hint ?? null, body);
  const detail = body?.detail?.[0];
  if (detail?.msg) return new Failure(response.status, "invalid", `${(detail.loc ?? []).join(".")}: ${detail.msg}`, null, body);
  return new Failure(response.status, `http_${response.status}`, `the server answered ${response.status}`, null, body);
}

/**
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export async function get(path, options) {
  return (await request("GET", path, options)).json();
}

/**
 * @param {string} path
 * @param {any} [json]
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export async function post(path, json, options = {}) {
  const response = await request("POST", path, { ...options, json: json ?? {} });
  return response.status === 204 ? null : response.json();
}

/**
 * @param {string} path
 * @param {Options} [options]
 */
export async function remove(path, options) {
  await request("DELETE", path, options);
}

/**
 * One stream of events, until it ends; the caller decides whether to ask again.
 * @param {string} method
 * @param {string} path
 * @param {Options & {lastId?: string, onOpen?: () => void}} options
 * @param {(event: string, data: any, id: string) => void} onEvent
 */
export async function stream(method, path, options, onEvent) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "text/event-stream", ...options.headers };
  if (options.lastId) headers["Last-Event-ID"] = options.lastId;
  const response = await request(method, path, { ...options, headers });
  options.onOpen?.();
  if (!response.body) return;
  try {
    await readEvents(response.body, (event) => onEvent(event.event, JSON.parse(event.data), event.id));
  } catch (cause) {
    if (options.signal?.aborted || cause instanceof Failure || cause instanceof SyntaxError) throw cause;
    throw new Failure(0, "no_answer", "the connection to the server was lost", null);
  }
}

/**
 * Path of something with an id that a stranger may have chosen.
 * @param {TemplateStringsArray} strings
 * @param {...unknown} values
 */
export function path(strings, ...values) {
  return strings.reduce((text, piece, at) => text + piece + (at < values.length ? encodeURIComponent(String(values[at])) : ""), "");
}
