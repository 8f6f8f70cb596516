/** The columns that lists of runs have in common. */
import { placeHash } from "../lib/filter.js";
import { bytes, duration, serverNow } from "../lib/format.js";
import { html } from "../lib/view.js";
import { Line, Status, Time } from "./basic.js";

/** @param {any} run */
export function timeOf(run) {
  const at = Date.parse(run.ended_at ?? run.started_at ?? "");
  return Number.isFinite(at) ? at : serverNow() - (run.age_s ?? 0) * 1000;
}

/** @param {any} run */
export function hrefOf(run) {
  return placeHash(["runs", run.id]);
}

/** @param {{operator?: boolean, session?: boolean}} options */
export function runColumns({ operator, session = true }) {
  return [
    { name: "status", title: "Status", class: "col-status", cell: (/** @type {any} */ r) => html`<${Status} state=${r.state} />` },
    { name: "code", title: "Program", class: "col-code", cell: (/** @type {any} */ r) => html`<a href=${hrefOf(r)} class="code-line"><code><${Line} text=${r.code || "(no text)"} max=${160} /></code></a>` },
    { name: "language", title: "Language", class: "col-language", cell: (/** @type {any} */ r) => r.language },
    { name: "profile", title: "Profile", class: "col-profile", cell: (/** @type {any} */ r) => r.profile ?? "–" },
    operator && { name: "owner", title: "Owner", class: "col-owner", cell: (/** @type {any} */ r) => html`<${Line} text=${r.owner} max=${40} />` },
    session && { name: "session", title: "Session", class: "col-session", cell: (/** @type {any} */ r) => (r.session_id ? html`<a href=${placeHash(["sessions", r.session_id])}><code>…${r.session_id.slice(-6)}</code></a>` : html`<span class="muted">–</span>`) },
    { name: "duration", title: "Duration", class: "col-number col-duration", cell: (/** @type {any} */ r) => (r.wall_ms === undefined || r.wall_ms === null ? html`<span class="muted">–</span>` : duration(r.wall_ms)) },
    { name: "memory", title: "Memory", class: "col-number col-memory", cell: (/** @type {any} */ r) => bytes(r.memory_peak_bytes) },
    { name: "when", title: "When", class: "col-when", cell: (/** @type {any} */ r) => html`<${Time} at=${timeOf(r)} />` },
  ].filter(Boolean);
}
