/** How a run ended, for the pages that show one. */
import { get, path } from "../lib/api.js";
import { bytes, count, duration } from "../lib/format.js";
import { html, useAction, useState } from "../lib/view.js";
import { Bar, Card, Copy, Facts, Line, Problem, Text, Words } from "./basic.js";
import { Displays } from "./displays.js";
import { Icon } from "./icons.js";
import { Output } from "./output.js";

/** What it printed and displayed. @param {{result: any, follow?: boolean}} props */
export function Outputs({ result, follow }) {
  const [whole, setWhole] = useState(/** @type {Record<string, string>} */ ({}));
  const action = useAction();
  const read = (/** @type {string} */ stream) => action.run(async () => {
    const answer = await get(path`/v1/runs/${result.output_handle ?? result.id}/output`, { query: { stream, limit: 1 << 20 } });
    setWhole((old) => ({ ...old, [stream]: answer.text }));
  });
  return html`${["stdout", "stderr"].map((name) => (result[name] || whole[name]) && html`<${Output} key=${name} kind=${name} text=${whole[name] ?? result[name]} total=${result[`${name}_bytes`]} follow=${follow}
      name=${`${result.id ?? "run"}-${name}`} onWhole=${result.truncated?.[name] && result.output_handle && !whole[name] ? () => read(name) : undefined} />`)}
    <${Problem} error=${action.error} />
    ${result.displays?.length > 0 && html`<${Displays} displays=${result.displays} more=${result.displays_more} />`}
    ${result.result && typeof result.result.text === "string" && !isShown(result) && html`<div class="output output-value"><div class="output-head"><span class="output-title">value</span><span class="grow"></span><${Copy} text=${result.result.text} what="copy value" /></div><pre class="terminal wraps" tabindex="0"><${Text} text=${result.result.text.slice(0, 100_000)} /></pre></div>`}`;
}

/** Whether the value is among the displays, where it looks better. @param {any} result */
function isShown(result) {
  const displays = result.displays ?? [];
  const table = displays.find((/** @type {any} */ d) => d.bundle === displays[displays.length - 1]?.bundle && d.mime === "application/vnd.belljar.table+json");
  const first = result.result.text.split("\n")[0];
  if (table && (table.data?.columns ?? []).every((/** @type {any} */ c) => first.includes(String(c.name)))) return true;
  return displays.some((/** @type {any} */ d) => d.mime === "text/plain" && typeof d.data === "string" && (d.data === result.result.text || d.data.startsWith(result.result.text)));
}

/** Error, refusals and denials: what happened, and what to do instead. @param {{result: any}} props */
export function Troubles({ result }) {
  const { error, violations = [], denials = [] } = result;
  return html`${error && html`<div class="trouble"><${Icon} name="cross" /><div class="grow"><p><strong><${Line} text=${error.name} /></strong>${error.message && html`: <${Line} text=${error.message} max=${2000} />`} ${error.line ? html`<span class="muted">line ${error.line}</span>` : ""}</p>
      ${error.hint && html`<p class="hint">hint: <${Words} text=${error.hint} max=${2000} /></p>`}
      ${error.said_by === "program" && html`<p class="muted small">said by the program</p>`}</div></div>`}
    ${result.hint && html`<div class="trouble tone-info"><${Icon} name="info" /><p class="hint">hint: <${Words} text=${result.hint} max=${2000} /></p></div>`}
    ${violations.length > 0 && html`<${Card} title="Refused before it ran" class="inner"><ul class="items">${violations.map((/** @type {any} */ v) => html`<li><${Icon} name="refuse" /><div class="grow"><p><${Words} text=${v.message} max=${1000} />${v.line ? html` <span class="muted">line ${v.line}</span>` : ""}</p>
        ${v.hint && html`<p class="hint">instead: <${Words} text=${v.hint} max=${1000} /></p>`}</div></li>`)}</ul>${result.violations_more > 0 && html`<p class="muted small">${count(result.violations_more)} more</p>`}<//>`}
    ${denials.length > 0 && html`<${Card} title="Denied while it ran" class="inner"><ul class="items">${denials.map((/** @type {any} */ d) => html`<li><${Icon} name="refuse" /><div class="grow"><p><${Line} text=${d.what} max=${1000} /> <span class="muted">${d.layer}${d.count > 1 ? ` · ${count(d.count)} times` : ""}</span></p>
        ${d.hint && html`<p class="hint">hint: <${Words} text=${d.hint} max=${1000} /></p>`}</div></li>`)}</ul>${result.denials_more > 0 && html`<p class="muted small">${count(result.denials_more)} more</p>`}<//>`}`;
}

/** Use against the limits that were in force. @param {{usage: any, limits: any, outputBytes?: number}} props */
export function Usage({ usage, limits, outputBytes }) {
  if (!usage) return html`<p class="muted">nothing was measured</p>`;
  const bar = (/** @type {string} */ label, /** @type {number} */ value, /** @type {number} */ max, /** @type {(n: number) => string} */ text) =>
    max > 0 ? html`<${Bar} label=${label} value=${value} max=${max} text="${text(value)} of ${text(max)}" />` : html`<div class="bar"><span class="bar-label">${label}</span><span></span><span class="bar-text">${text(value)}</span></div>`;
  return html`<div class="bars">${bar("time", usage.wall_ms, limits?.timeout_ms ?? 0, duration)}${bar("CPU", usage.cpu_ms, limits?.cpu_ms ?? 0, duration)}
    ${bar("memory", usage.memory_peak_bytes, limits?.memory_bytes ?? 0, bytes)}${bar("processes", usage.processes_peak, limits?.processes ?? 0, count)}
    ${outputBytes !== undefined && bar("output", outputBytes, limits?.output_bytes ?? 0, bytes)}</div>`;
}

/** @param {{result: any}} props */
export function ShortFacts({ result }) {
  return html`<${Facts} rows=${[
    ["profile", result.profile],
    ["exit code", result.exit_code ?? null],
    ["signal", result.signal ?? null],
    ["time", duration(result.usage?.wall_ms)],
    ["memory", bytes(result.usage?.memory_peak_bytes)],
    ["masked", result.masked?.count ? `${count(result.masked.count)} (${(result.masked.kinds ?? []).map((/** @type {any} */ k) => (typeof k === "string" ? k : k.kind ?? k.name ?? "")).join(", ")})` : null],
  ]} />`;
}
