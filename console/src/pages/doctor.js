/** What protects this host, what is missing, and the settings in force. */
import { isOperator } from "../lib/live.js";
import { html, useGet, useLive, useState } from "../lib/view.js";
import { Card, Copy, Empty, Facts, Head, Line, Load, Status, Time, Words } from "../ui/basic.js";
import { Icon } from "../ui/icons.js";
import { Same } from "../ui/same.js";
import { SearchBox } from "./runs.js";

export function Doctor() {
  const live = useLive();
  const operator = isOperator();
  const doctor = useGet(operator ? "/v1/doctor" : null);
  const config = useGet(operator ? "/v1/config" : null);
  return html`<div class="page"><${Head} title="Doctor" sub="What stands between a program and this host."><button type="button" onClick=${() => (doctor.reload(), config.reload())}><${Icon} name="refresh" />Look again</button><${Same} call=${{ method: "GET", path: "/v1/doctor" }} /></${Head}>
    ${operator ? html`<${Load} of=${doctor}>${(/** @type {any} */ d) => html`<${Layers} d=${d} />`}<//><${Load} of=${config}>${(/** @type {any} */ c) => html`<${Settings} settings=${c.settings} />`}<//>` : html`<${Empty} title="For operators" icon="doctor" command="belljar doctor"><p class="muted">This token has no right to see how the host is set up. On the host, type:</p><//>`}
    <${Card} title="Server"><${Facts} rows=${[["version", live.version || null], ["started", live.startedAt ? html`<${Time} at=${live.startedAt} />` : null], ["address", location.origin], ["licences of the console", html`<a href="/console/licences.txt" target="_blank" rel="noopener noreferrer">licences.txt</a>`]]} /><//></div>`;
}

/** @param {{d: any}} props */
function Layers({ d }) {
  const missing = d.layers.filter((/** @type {any} */ l) => !l.present);
  return html`<div class="doctor-top"><div class="grade grade-${String(d.grade).charAt(0)}" aria-label="grade ${d.grade}">${d.grade}</div><div><p class="strong">${d.meaning}</p><p class="muted">${d.layers.length - missing.length} of ${d.layers.length} layers stand</p></div></div>
    ${missing.length > 0 && html`<${Card} title="To improve"><ul class="items">${missing.map((/** @type {any} */ l) => html`<li><${Icon} name="warn" /><div class="grow"><p><strong>${l.name}</strong> <span class="muted">protects ${l.protects}</span></p>${l.improve && html`<div class="command"><code>${l.improve}</code><${Copy} text=${l.improve} what="copy" /></div>`}</div></li>`)}</ul><//>`}
    ${(d.notes ?? []).length > 0 && html`<${Card} title="Notes"><ul class="items">${d.notes.map((/** @type {any} */ n) => html`<li><${Icon} name="info" /><span class="grow break"><${Line} text=${typeof n === "string" ? n : (n.text ?? n.message ?? JSON.stringify(n))} max=${1000} /></span></li>`)}</ul><//>`}
    <div class="table-box"><table class="table"><thead><tr><th scope="col">Layer</th><th scope="col">State</th><th scope="col">Protects</th></tr></thead><tbody>${d.layers.map((/** @type {any} */ l) => html`<tr><td data-name="Layer"><code>${l.name}</code></td><td data-name="State"><${Status} state=${l.present ? "present" : "missing"} text=${l.present ? "stands" : "missing"} /></td><td class="muted" data-name="Protects"><${Words} text=${l.protects} /></td></tr>`)}</tbody></table></div>`;
}

/** @param {{settings: Record<string, any>}} props */
function Settings({ settings }) {
  const [text, setText] = useState("");
  const [changed, setChanged] = useState(false);
  const rows = Object.entries(settings).filter(([name, s]) => (!changed || s.from !== "default") && (name.includes(text.toLowerCase()) || JSON.stringify(s.value).toLowerCase().includes(text.toLowerCase())));
  return html`<section class="stack" aria-label="settings"><div class="row wrap"><h2 class="section grow">Settings in force</h2><label class="check"><input type="checkbox" checked=${changed} onChange=${(/** @type {any} */ e) => setChanged(e.target.checked)} /><span>only those that are set</span></label><${SearchBox} label="setting" value=${text} onChange=${setText} /></div>
    ${rows.length ? html`<div class="table-box"><table class="table settings"><thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">From</th></tr></thead><tbody>${rows.map(([name, s]) => html`<tr><td data-name="Setting"><code>${name}</code></td><td class="break" data-name="Value"><code><${Line} text=${valueText(s.value)} max=${400} /></code></td><td class="muted break" data-name="From"><${Line} text=${s.from} max=${200} />${s.reloadable ? "" : html` <span class="small">· needs a restart</span>`}</td></tr>`)}</tbody></table></div>` : html`<${Empty} title="No setting matches" icon="search" />`}</section>`;
}

/** @param {any} value */
function valueText(value) {
  if (Array.isArray(value)) return value.length ? value.join(", ") : "none";
  if (value === "") return "–";
  return String(value);
}

