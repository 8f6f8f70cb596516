/** The state of things, at a glance. */
import { Failure, request } from "../lib/api.js";
import { bytes, count, duration } from "../lib/format.js";
import { isOperator, live as known, scope } from "../lib/live.js";
import { parseMetrics, quantile, sum } from "../lib/metrics.js";
import { html, useEffect, useGet, useLive, useState } from "../lib/view.js";
import { Card, Empty, Head, Line, Load, Problem, Status, Time } from "../ui/basic.js";
import { Icon } from "../ui/icons.js";
import { Plot } from "../ui/plot.js";
import { hrefOf, timeOf } from "../ui/runrow.js";

const EVERY_MS = 3000;
const KEPT = 200; // ten minutes

/** @typedef {{at: number, reading: import("../lib/metrics.js").Reading}} Sample */
/** @typedef {{t: number, rate: number | null, p50: number | null, p95: number | null}} Point */

/** Kept while the tab lives, so that a look at another page costs nothing. @type {{last: Sample | null, points: Point[]}} */
const kept = { last: null, points: [] };

/** @param {boolean} on */
function useMetrics(on) {
  const [state, setState] = useState(/** @type {{reading: any, points: Point[], error: Failure | null}} */ ({ reading: kept.last?.reading ?? null, points: kept.points, error: null }));
  useEffect(() => {
    if (!on) return undefined;
    const control = new AbortController();
    const read = async () => {
      if (document.hidden || known.state === "lost") return;
      try {
        const text = await (await request("GET", "/metrics", { signal: control.signal })).text();
        const reading = parseMetrics(text);
        const at = Date.now();
        const last = kept.last && at - kept.last.at < EVERY_MS * 10 ? kept.last : null;
        if (last) {
          const ran = sum(reading, "belljar_runs_total") - sum(last.reading, "belljar_runs_total");
          const ms = (/** @type {number | null} */ s) => (s === null ? null : s * 1000);
          const point = { t: at / 1000, rate: ran < 0 ? null : (ran * 1000) / (at - last.at), p50: ms(quantile(last.reading, reading, "belljar_total_seconds", 0.5)), p95: ms(quantile(last.reading, reading, "belljar_total_seconds", 0.95)) };
          kept.points = [...kept.points, point].slice(-KEPT);
        }
        kept.last = { at, reading };
        setState({ reading, points: kept.points, error: null });
      } catch (error) {
        if (!control.signal.aborted) setState((old) => ({ ...old, error: error instanceof Failure ? error : null }));
      }
    };
    read();
    const timer = setInterval(read, EVERY_MS);
    return () => (clearInterval(timer), control.abort());
  }, [on]);
  return state;
}

export function Now() {
  const live = useLive();
  const operator = isOperator();
  const { reading, points, error } = useMetrics(operator);
  const doctor = useGet(operator ? "/v1/doctor" : null);
  const recent = useGet("/v1/runs", { query: { ...scope(), history: "true", limit: 100 } });
  const n = (/** @type {string} */ name) => (reading ? sum(reading, name) : null);
  const times = points.map((p) => p.t);
  const missing = doctor.data?.layers.filter((/** @type {any} */ l) => !l.present).length ?? 0;
  return html`<div class="page"><${Head} title="Now" sub=${live.version ? html`Belljar ${live.version}, started <${Time} at=${live.startedAt} />` : null} />
    ${live.approvals > 0 && html`<a class="notice notice-link" href="#/approvals"><${Icon} name="approvals" /><span class="grow"><strong>${live.approvals === 1 ? "1 call waits" : `${count(live.approvals)} calls wait`}</strong> for your answer</span><${Icon} name="right" /></a>`}
    ${error && html`<${Problem} error=${error} />`}
    <div class="tiles">${operator && html`<${Tile} name="Grade of the host" href="#/doctor" value=${doctor.data ? doctor.data.grade : "–"} note=${doctor.data ? (missing ? `${missing} ${missing === 1 ? "layer" : "layers"} missing` : "all layers stand") : (doctor.error?.message ?? "")} />`}
      <${Tile} name="Running" href="#/runs?status=running" value=${count(live.counts?.running ?? n("belljar_runs_running") ?? 0)} note="${count(n("belljar_queue_waiting") ?? live.counts?.waiting ?? 0)} wait" />
      <${Tile} name="Sessions" href="#/sessions" value=${count(live.counts?.sessions ?? n("belljar_sessions") ?? 0)} note="open" />
      <${Tile} name="Approvals" href="#/approvals" value=${count(live.approvals)} note=${live.approvals ? "wait for you" : "none waits"} />
      ${operator && html`<${Tile} name="Runs since start" href="#/runs" value=${count(n("belljar_runs_total"))} note="${count(failures(reading))} did not succeed" /><${Tile} name="Masked secrets" href="#/runs" value=${count(n("belljar_masked_total"))} note="in ${count(n("belljar_masked_runs_total"))} ${n("belljar_masked_runs_total") === 1 ? "run" : "runs"}" /><${Tile} name="Warm sandboxes" value=${count(n("belljar_pool_idle"))} note="of ${count(n("belljar_pool_wanted"))}" /><${Tile} name="Memory of the server" value=${bytes(n("belljar_resident_memory_bytes"))} note="${count(n("belljar_http_connections"))} connections" />`}</div>
    ${operator && html`<div class="plots"><${Plot} title="Runs per second" unit="" times=${times} series=${[{ label: "runs", tone: "accent", values: points.map((p) => p.rate) }]} format=${(/** @type {number} */ v) => (v >= 10 || v === 0 ? String(Math.round(v)) : v.toFixed(1))} />
      <${Plot} title="Time of a run" unit="ms" times=${times} series=${[{ label: "median", tone: "accent", values: points.map((p) => p.p50) }, { label: "95 %", tone: "warn", values: points.map((p) => p.p95) }]} format=${(/** @type {number} */ v) => duration(v)} /></div>`}
    <${Recent} recent=${recent} runs=${live.runs} /></div>`;
}

/** @param {any} reading */
function failures(reading) {
  return reading ? sum(reading, "belljar_runs_total") - (reading.get('belljar_runs_total{status="success"}') ?? 0) : null;
}

/** @param {{name: string, value: any, note: any, href?: string}} props */
function Tile({ name, value, note, href }) {
  const inner = html`<span class="tile-name">${name}</span><span class="tile-value tabular">${value}</span><span class="tile-note"><${Line} text=${note} max=${80} /></span>`;
  return href ? html`<a class="tile" href=${href}>${inner}</a>` : html`<div class="tile">${inner}</div>`;
}

/** @param {{recent: import("../lib/view.js").Loaded, runs: any[]}} props */
function Recent({ recent, runs }) {
  return html`<${Load} of=${recent}>${(/** @type {any} */ data) => {
    const known = new Set(runs.map((r) => r.id));
    const all = [...runs, ...data.runs.filter((/** @type {any} */ r) => !known.has(r.id))];
    const bad = all.filter((r) => !["success", "running", "waiting", "cancelled"].includes(r.state)).slice(0, 8);
    if (!all.length) return html`<${Empty} title="Nothing has run yet" icon="play" command="belljar run --server auto -c 'print(6 * 7)'"><p class="muted">Try the <a href="#/playground">playground</a>, or type:</p><//>`;
    return html`<div class="columns even"><${Card} title="Latest runs" actions=${html`<a href="#/runs">All runs</a>`}><${Short} runs=${all.slice(0, 8)} /><//><${Card} title="Latest failures" actions=${html`<a href="#/runs?status=error">Errors</a>`}>${bad.length ? html`<${Short} runs=${bad} />` : html`<p class="muted">None of the last ${count(all.length)} runs failed.</p>`}<//></div>`;
  }}<//>`;
}

/** @param {{runs: any[]}} props */
function Short({ runs }) {
  return html`<ul class="items short-runs">${runs.map((r) => html`<li key=${r.id}><${Status} state=${r.state} /><a href=${hrefOf(r)} class="grow code-line"><code><${Line} text=${r.code || "(no text)"} max=${120} /></code></a><${Time} at=${timeOf(r)} class="muted small tabular" /></li>`)}</ul>`;
}
