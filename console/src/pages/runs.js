/** All runs: what goes on now from the stream, what was before from the trail. */
import { get } from "../lib/api.js";
import { count } from "../lib/format.js";
import { matchesRun } from "../lib/filter.js";
import { isOperator, scope } from "../lib/live.js";
import { setQuery } from "../lib/place.js";
import { html, useEffect, useLive, useMemo, useRef, useState } from "../lib/view.js";
import { Empty, Head, Loading, Problem } from "../ui/basic.js";
import { Icon } from "../ui/icons.js";
import { hrefOf, runColumns } from "../ui/runrow.js";
import { Same } from "../ui/same.js";
import { List } from "../ui/table.js";

const STATES = ["waiting", "running", "success", "error", "timeout", "memory_exceeded", "refused", "cancelled", "failed", "unfinished"];
const LANGUAGES = ["python", "bash", "javascript", "typescript", "command"];
const PAGE = 200;

/** @param {Record<string, string>} query @param {string | null} before */
function listQuery(query, before) {
  const { status, language, owner, session, text, since } = query;
  return { ...(owner ? {} : scope()), history: "true", limit: PAGE, status, language, owner, session, text, since, before };
}

/**
 * Pages of the past for these filters, as far as somebody has scrolled.
 * @param {Record<string, string>} query
 * @param {number} epoch
 */
function usePast(query, epoch) {
  const [state, setState] = useState(/** @type {{rows: any[], next: string | null, error: any, loading: boolean}} */ ({ rows: [], next: null, error: null, loading: true }));
  const [round, setRound] = useState(0);
  const busy = useRef(/** @type {AbortController | null} */ (null));
  const key = JSON.stringify(listQuery(query, null));
  const read = async (/** @type {string | null} */ before) => {
    busy.current?.abort();
    const control = (busy.current = new AbortController());
    try {
      const answer = await get("/v1/runs", { query: listQuery(query, before), signal: control.signal });
      setState((old) => ({ rows: before ? [...old.rows, ...answer.runs] : answer.runs, next: answer.next ?? null, error: null, loading: false }));
    } catch (error) {
      if (!control.signal.aborted) setState((old) => ({ ...old, error, loading: false }));
    } finally {
      if (busy.current === control) busy.current = null;
    }
  };
  useEffect(() => {
    setState((old) => ({ rows: old.rows.length && round ? old.rows : [], next: null, error: null, loading: true }));
    read(null);
    return () => busy.current?.abort();
  }, [key, epoch, round]);
  return { ...state, more: () => void (state.next && !busy.current && read(state.next)), reload: () => setRound((n) => n + 1) };
}

/** @param {{query: Record<string, string>}} props */
export function Runs({ query }) {
  const live = useLive();
  const past = usePast(query, live.epoch);
  const [paused, setPaused] = useState(/** @type {any[] | null} */ (null));
  const isOwn = !isOperator();
  // What a server alone can judge is not taken from the stream.
  const takesLive = !query.since && !query.text;
  const fresh = paused ?? live.runs;
  const rows = useMemo(() => {
    const known = new Map(fresh.map((r) => [r.id, r]));
    const before = new Set(past.rows.map((r) => r.id));
    const news = takesLive ? fresh.filter((r) => !before.has(r.id) && matchesRun(r, query)) : [];
    return [...news, ...past.rows.map((r) => (known.has(r.id) ? { ...r, ...known.get(r.id) } : r)).filter((r) => !query.status || r.state === query.status)];
  }, [fresh, past.rows, query, takesLive]);
  const change = (/** @type {string} */ name, /** @type {string} */ value) => setQuery({ ...query, [name]: value });
  const columns = useMemo(() => runColumns({ operator: !isOwn }), [isOwn]);
  const isFiltered = Object.values(query).some(Boolean);
  return html`<div class="page page-fill"><${Head} title="Runs" sub=${html`<span class="tabular">${count(live.counts?.running ?? 0)}</span> running · <span class="tabular">${count(live.seen)}</span> ended since you opened the console${live.gaps ? ` · ${count(live.gaps)} gaps in the stream` : ""}`}>
      <button type="button" aria-pressed=${String(Boolean(paused))} onClick=${() => setPaused(paused ? null : live.runs)}><${Icon} name=${paused ? "play" : "pause"} />${paused ? "Follow" : "Pause"}</button>
      <${Same} call=${{ method: "GET", path: "/v1/runs?history=true&limit=100", python: "for run in client.runs(limit=100):\n    print(run.id, run.state)", typescript: "for (const run of await client.runs({ limit: 100 })) console.log(run.id, run.state);" }} /></${Head}>
    <${Filters} query=${query} onChange=${change} isOwn=${isOwn} onClear=${isFiltered ? () => setQuery({}) : undefined} />
    ${past.error && html`<${Problem} error=${past.error} onRetry=${past.reload} />`}
    ${rows.length ? html`<${List} label="runs" class="runs" columns=${columns} rows=${rows} keyOf=${(/** @type {any} */ r) => r.id} hrefOf=${hrefOf} onEnd=${past.more} isMore=${Boolean(past.next)} />` : past.loading ? html`<${Loading} lines=${8} />` : html`<${Nothing} isFiltered=${isFiltered} next=${past.next} onMore=${past.more} />`}</div>`;
}

/** @param {{isFiltered: boolean, next: string | null, onMore: () => void}} props */
function Nothing({ isFiltered, next, onMore }) {
  if (!isFiltered) return html`<${Empty} title="Nothing has run yet" icon="runs" command="belljar run --server auto -c 'print(6 * 7)'"><p class="muted">Run something in the <a href="#/playground">playground</a>, or type:</p><//>`;
  return html`<${Empty} title="No run matches these filters" icon="search">${next && html`<p class="muted">The server has looked at a part of the trail. <button type="button" class="link" onClick=${onMore}>Search older runs</button></p>`}<//>`;
}

/** @param {{query: Record<string, string>, onChange: (name: string, value: string) => void, isOwn: boolean, onClear?: () => void}} props */
function Filters({ query, onChange, isOwn, onClear }) {
  return html`<form class="filters" role="search" onSubmit=${(/** @type {Event} */ e) => e.preventDefault()}>
    <${SearchBox} label="text of the program" value=${query.text ?? ""} onChange=${(/** @type {string} */ v) => onChange("text", v)} />
    <${Choice} label="status" value=${query.status ?? ""} values=${STATES} onChange=${(/** @type {string} */ v) => onChange("status", v)} />
    <${Choice} label="language" value=${query.language ?? ""} values=${LANGUAGES} onChange=${(/** @type {string} */ v) => onChange("language", v)} />
    <${Choice} label="since" value=${query.since ?? ""} values=${["10m", "1h", "1d", "7d"]} onChange=${(/** @type {string} */ v) => onChange("since", v)} />
    ${!isOwn && html`<${SearchBox} label="owner" value=${query.owner ?? ""} plain onChange=${(/** @type {string} */ v) => onChange("owner", v)} />`}
    ${query.session && html`<span class="chip">session <code>…${query.session.slice(-6)}</code><button type="button" class="icon-button" aria-label="remove the filter" onClick=${() => onChange("session", "")}><${Icon} name="cross" /></button></span>`}
    ${onClear && html`<button type="button" class="quiet" onClick=${onClear}>Clear</button>`}</form>`;
}

/** @param {{label: string, value: string, values: string[], onChange: (value: string) => void}} props */
export function Choice({ label, value, values, onChange }) {
  return html`<select aria-label=${label} class=${value ? "is-set" : ""} value=${value} onChange=${(/** @type {any} */ e) => onChange(e.target.value)}><option value="">${label}: any</option>${values.map((v) => html`<option value=${v} selected=${v === value}>${v.replaceAll("_", " ")}</option>`)}</select>`;
}

/** Waits until somebody has stopped typing. @param {{label: string, value: string, onChange: (value: string) => void, plain?: boolean}} props */
export function SearchBox({ label, value, onChange, plain }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (/** @type {string} */ next) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onChange(next), 300);
  };
  return html`<span class="search ${plain ? "search-plain" : ""}">${!plain && html`<${Icon} name="search" />`}<input type=${plain ? "text" : "search"} aria-label=${label} placeholder=${label} value=${text} spellcheck=${false} autocomplete="off" onInput=${(/** @type {any} */ e) => typed(e.target.value)} /></span>`;
}
