/** The view library, bound once. */
import { h, render, Fragment } from "preact";
import { useCallback, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import htm from "htm";
import { Failure, get } from "./api.js";
import { live, watch } from "./live.js";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);
export { Fragment, h, render, useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState };

/**
 * What cannot be drawn is left out, and nothing else with it: a stranger's data may have any form.
 * @param {{children?: any, instead: any}} props
 */
export function Guard({ children, instead }) {
  const [error] = useErrorBoundary();
  return error ? instead : children;
}

/** Draws again when what is known of the server changes. */
export function useLive() {
  const [, redraw] = useReducer((/** @type {number} */ n) => n + 1, 0);
  useEffect(() => watch(() => redraw(0)), []);
  return live;
}

const tickers = new Set();
let ticking = 0;

/** Draws again every second, for ages; not while nobody looks. */
export function useTick() {
  const [, redraw] = useReducer((/** @type {number} */ n) => n + 1, 0);
  useEffect(() => {
    const own = () => redraw(0);
    tickers.add(own);
    if (!ticking) ticking = window.setInterval(() => !document.hidden && tickers.forEach((tick) => tick()), 1000);
    return () => {
      tickers.delete(own);
      if (!tickers.size) {
        clearInterval(ticking);
        ticking = 0;
      }
    };
  }, []);
}

/**
 * @typedef {object} Loaded
 * @property {any} data
 * @property {Failure | null} error
 * @property {boolean} loading
 * @property {() => void} reload
 * @property {(data: any) => void} set
 */

const BUSY_MS = 2000;
const BUSY_TRIES = 10;

/**
 * Something of the server's. `null` as path: nothing to ask for. It is read again when the path changes, the server came back, or every
 * `every_ms` while the page is looked at.
 * @param {string | null} path
 * @param {{query?: Record<string, unknown>, every_ms?: number}} [options]
 * @returns {Loaded}
 */
export function useGet(path, options = {}) {
  const { epoch } = useLive();
  const [state, setState] = useState(/** @type {{data: any, error: Failure | null, loading: boolean}} */ ({ data: null, error: null, loading: path !== null }));
  const [round, again] = useReducer((/** @type {number} */ n) => n + 1, 0);
  const query = JSON.stringify(options.query ?? {});
  const key = `${path}${query}`;
  const last = useRef(key);
  const refused = useRef(0);
  useEffect(() => {
    if (path === null) return undefined;
    const control = new AbortController();
    let timer = 0;
    if (last.current !== key) setState({ data: null, error: null, loading: true });
    last.current = key;
    get(path, { query: JSON.parse(query), signal: control.signal }).then(
      (data) => {
        refused.current = 0;
        setState({ data, error: null, loading: false });
      },
      (error) => {
        if (control.signal.aborted) return;
        // A server that has no room now, or a session with a cell under way, is asked again by itself.
        if (error.status === 429 && refused.current++ < BUSY_TRIES) timer = window.setTimeout(() => again(0), BUSY_MS);
        setState((before) => ({ data: before.data, error: error instanceof Failure ? error : new Failure(0, "internal", String(error), null), loading: false }));
      },
    );
    return () => (clearTimeout(timer), control.abort());
  }, [key, round, epoch]);
  useEffect(() => {
    if (!options.every_ms || path === null) return undefined;
    const timer = setInterval(() => !document.hidden && live.state !== "lost" && again(0), options.every_ms);
    return () => clearInterval(timer);
  }, [options.every_ms, path]);
  return { ...state, reload: () => again(0), set: (data) => setState({ data, error: null, loading: false }) };
}

/**
 * Something the person asks for: its failure stays visible until the next try.
 * @returns {{busy: boolean, error: Failure | null, run: (work: () => Promise<any>) => Promise<boolean>, clear: () => void}}
 */
export function useAction() {
  const [state, setState] = useState(/** @type {{busy: boolean, error: Failure | null}} */ ({ busy: false, error: null }));
  const isHere = useRef(true);
  useEffect(() => () => void (isHere.current = false), []);
  const run = async (/** @type {() => Promise<any>} */ work) => {
    setState({ busy: true, error: null });
    try {
      await work();
      if (isHere.current) setState({ busy: false, error: null });
      return true;
    } catch (error) {
      if (isHere.current) setState({ busy: false, error: error instanceof Failure ? error : new Failure(0, "internal", String(error), null) });
      return false;
    }
  };
  return { ...state, run, clear: () => setState({ busy: false, error: null }) };
}
