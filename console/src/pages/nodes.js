/** The machines of a cluster, as the gateway that answers knows them. */
import { bytes, count, span } from "../lib/format.js";
import { isOperator } from "../lib/live.js";
import { html, useGet, useLive } from "../lib/view.js";
import { Bar, Empty, Head, Line, Load, Loading, Status } from "../ui/basic.js";
import { Same } from "../ui/same.js";

/** @type {Record<string, [string, string]>}  state to the word of an icon and what is said */
const STATES = { ready: ["present", "ready"], draining: ["paused", "draining"], no_engine: ["missing", "no engine"], lost: ["problem", "lost"] };
const CLOCK_NOTE_MS = 1000;

export function Nodes() {
  const live = useLive();
  const ask = isOperator() && live.isCluster;
  const nodes = useGet(ask ? "/v1/cluster/nodes" : null, { every_ms: 3000 });
  const call = { method: "GET", path: "/v1/cluster/nodes", python: "print(client.cluster_nodes())", typescript: "console.log(await client.clusterNodes());" };
  if (!live.counts && live.state === "starting") return html`<div class="page"><${Head} title="Nodes" /><${Loading} lines=${4} /></div>`;
  if (!live.isCluster) return html`<div class="page"><${Head} title="Nodes" /><${Empty} title="This server is a single machine" icon="nodes"><p class="muted">Gateways of a cluster show its machines here.</p><//></div>`;
  if (!isOperator()) return html`<div class="page"><${Head} title="Nodes" /><${Empty} title="For operators" icon="nodes"><p class="muted">This token has no right to see the machines.</p><//></div>`;
  return html`<div class="page"><${Head} title="Nodes" sub=${nodes.data && html`<${Sum} data=${nodes.data} />`}><${Same} call=${call} /></${Head}>
    <${Load} of=${nodes}>${(/** @type {any} */ data) => html`<${Table} data=${data} />`}<//></div>`;
}

/** @param {{data: any}} props */
function Sum({ data }) {
  const of = (/** @type {string} */ name) => data.nodes.reduce((/** @type {number} */ sum, /** @type {any} */ n) => sum + (n[name] ?? 0), 0);
  const ready = data.nodes.filter((/** @type {any} */ n) => n.state === "ready").length;
  return html`${count(ready)} of ${count(data.nodes.length)} ready · ${count(of("running"))} running · room for ${count(of("room"))} · ${count(of("sessions"))} sessions · by the gateway <${Line} text=${data.gateway} max=${20} />`;
}

/** @param {{data: any}} props */
function Table({ data }) {
  const nodes = [...data.nodes].sort((a, b) => (a.node < b.node ? -1 : 1));
  return html`<div class="table-box"><table class="table"><thead><tr><th scope="col">Machine</th><th scope="col">State</th><th scope="col">Load</th><th scope="col" class="col-number">Room</th><th scope="col" class="col-number">Waiting</th><th scope="col" class="col-number">Sessions</th><th scope="col" class="col-number">Memory</th><th scope="col">Version</th><th scope="col">Heard</th></tr></thead>
    <tbody>${nodes.map((n) => html`<${Row} key=${n.node} n=${n} own=${data.version} />`)}</tbody></table></div>`;
}

/** @param {{n: any, own: string}} props */
function Row({ n, own }) {
  const [state, text] = STATES[n.state] ?? ["unsigned", String(n.state)];
  const max = n.queue?.max_running;
  const off = Math.abs(n.clock_off_ms ?? 0) > CLOCK_NOTE_MS;
  const number = (/** @type {any} */ value) => (typeof value === "number" ? count(value) : html`<span class="muted">–</span>`);
  return html`<tr><td class="break" data-name="Machine"><strong><${Line} text=${n.node} max=${20} /></strong>${(n.labels ?? []).length > 0 && html`<ul class="tags">${n.labels.map((/** @type {string} */ l) => html`<li><${Line} text=${l} max=${40} /></li>`)}</ul>`}</td>
    <td data-name="State"><${Status} state=${state} text=${text} />${off && html`<p class="muted small">its clock is off by ${span(Math.abs(n.clock_off_ms) / 1000)}</p>`}</td>
    <td data-name="Load">${typeof n.running === "number" && max ? html`<${Bar} label="running" value=${n.running} max=${max} text="${count(n.running)} of ${count(max)}" />` : number(n.running)}</td>
    <td class="col-number" data-name="Room">${number(n.room)}</td><td class="col-number" data-name="Waiting">${number(n.waiting)}</td><td class="col-number" data-name="Sessions">${number(n.sessions)}</td>
    <td class="col-number" data-name="Memory">${typeof n.resident_bytes === "number" ? bytes(n.resident_bytes) : html`<span class="muted">–</span>`}</td>
    <td data-name="Version"><${Line} text=${n.version || "–"} max=${32} />${n.version && n.version !== own ? html` <span class="muted small">not the gateway's</span>` : ""}</td>
    <td data-name="Heard">${n.state === "lost" ? html`${span(n.silent_s)} ago` : html`<span class="muted">now</span>`}</td></tr>`;
}
