/** What a program displayed: pictures, tables, charts, HTML. All of it is a stranger's. */
import { parseCsv } from "../lib/csv.js";
import { bytes, count } from "../lib/format.js";
import { frameOf } from "../lib/trusted.js";
import { Guard, html, useMemo, useState } from "../lib/view.js";
import { Copy, Line, Tabs, Text, download } from "./basic.js";
import { Icon } from "./icons.js";
import { theme } from "./theme.js";

const ROWS_MAX = 500;
const CELLS_MAX = 10_000;
const NAMES = /** @type {Record<string, string>} */ ({
  table: "Table", "text/html": "HTML", "image/png": "Picture", "image/jpeg": "Picture", "image/gif": "Picture", "image/webp": "Picture", "image/svg+xml": "SVG", "text/plain": "Text",
  "text/csv": "CSV", "text/markdown": "Markdown", "text/latex": "LaTeX", "application/json": "JSON", "application/vnd.belljar.chart+json": "Numbers", "application/javascript": "JavaScript",
});
const ORDER = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml", "table", "text/html", "text/markdown", "text/latex", "application/json", "text/plain", "text/csv", "application/vnd.belljar.chart+json"];
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;

/** @param {{displays: any[], more?: number}} props */
export function Displays({ displays, more = 0 }) {
  const bundles = useMemo(() => {
    const map = new Map();
    for (const d of displays ?? []) {
      if (!map.has(d.bundle)) map.set(d.bundle, []);
      map.get(d.bundle).push(d);
    }
    return [...map.entries()];
  }, [displays]);
  return html`<div class="displays">${bundles.map(([bundle, forms]) => html`<${Guard} key=${bundle} instead=${html`<p class="muted">A display cannot be shown: it is not what it says.</p>`}><${Bundle} forms=${forms} /><//>`)}
    ${more > 0 && html`<p class="muted small">${count(more)} further displays were dropped: a run may have 100.</p>`}</div>`;
}

/** @param {{forms: any[]}} props */
function Bundle({ forms }) {
  const shown = forms.filter((f) => f.mime !== "image/vnd.belljar.small+png" && f.mime !== "application/vnd.belljar.table+json");
  const names = shown.map((f) => f.mime);
  const table = forms.find((f) => f.mime === "text/csv") && forms.find((f) => f.mime === "application/vnd.belljar.table+json");
  if (table) names.unshift("table");
  names.sort((a, b) => rank(a) - rank(b));
  const [at, setAt] = useState(names[0]);
  const form = at === "table" ? table : shown.find((f) => f.mime === at);
  if (!names.length) return null;
  const picked = shown.find((f) => f.mime === (at === "table" ? "text/csv" : at));
  const size = picked?.width ? `${picked.width} × ${picked.height}` : "";
  return html`<figure class="display"><figcaption class="output-head">${names.length > 1 ? html`<${Tabs} label="forms" tabs=${names.map((n) => [n, NAMES[n] ?? n])} at=${at} onPick=${setAt} />` : html`<span class="output-title">${NAMES[at] ?? html`<${Line} text=${at} max=${60} />`}</span>`}
    <span class="grow"></span><span class="muted small">${size}</span>${picked && html`<${Actions} form=${picked} />`}</figcaption>
    <div class="display-body">${at === "table" ? html`<${Table} about=${table.data} csv=${forms.find((f) => f.mime === "text/csv").data} />` : form && html`<${Form} form=${form} />`}</div></figure>`;
}

/** @param {string} mime */
function rank(mime) {
  const at = ORDER.indexOf(mime);
  return at < 0 ? ORDER.length : at;
}

/** @param {{form: any}} props */
function Actions({ form }) {
  const isText = form.encoding !== "base64";
  const text = typeof form.data === "string" ? form.data : JSON.stringify(form.data, null, 2);
  const name = `display.${({ "image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg", "text/html": "html.txt", "text/csv": "csv" })[/** @type {string} */ (form.mime)] ?? "txt"}`;
  const save = () => download(name, isText ? text : Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), "application/octet-stream");
  return html`${isText && html`<${Copy} text=${text} what="copy" />`}<button type="button" class="icon-button" aria-label="download" title="download" onClick=${save}><${Icon} name="down" /></button>`;
}

/** @param {{form: any}} props */
function Form({ form }) {
  const { mime, data } = form;
  if (PICTURES.test(mime) && form.encoding === "base64") return html`<${Picture} src=${`data:${mime};base64,${data}`} width=${form.width} height=${form.height} />`;
  if (mime === "image/svg+xml" && typeof data === "string") return html`<${Picture} src=${`data:image/svg+xml,${encodeURIComponent(well(data))}`} />`;
  if (mime === "text/html" && typeof data === "string") return html`<${Frame} text=${data} />`;
  if (form.encoding === "base64") return html`<p class="muted">${bytes(data.length * 0.75)} of <${Line} text=${mime} />: download to see it.</p>`;
  const text = typeof data === "string" ? data : JSON.stringify(data, null, 2);
  return html`<pre class="plain" tabindex="0"><${Text} text=${text.slice(0, 200_000)} />${text.length > 200_000 ? "…" : ""}</pre>`;
}

/** Lone halves of pairs would make encodeURIComponent fail. @param {string} text */
function well(text) {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

/** A picture is drawn by the browser as a picture: nothing in it runs. @param {{src: string, width?: number, height?: number}} props */
function Picture({ src, width, height }) {
  const [failed, setFailed] = useState(false);
  if (failed) return html`<p class="muted">The browser cannot draw this picture.</p>`;
  return html`<img class="picture" alt="a picture that the program displayed" src=${src} width=${width} height=${height} onError=${() => setFailed(true)} />`;
}

/** @param {{text: string}} props */
function Frame({ text }) {
  const frame = useMemo(() => frameOf(text, theme()), [text]);
  const height = Math.min(420, Math.max(64, frame.rows ? frame.rows * 29 + 24 : 120));
  return html`<div class="frame-box" style=${{ height: `${height}px` }}><iframe class="frame" title="HTML of the program, without scripts" sandbox="" srcdoc=${frame.srcdoc} referrerpolicy="no-referrer"></iframe></div>`;
}

/** @param {{about?: any, csv: string}} props  about: what the program said of it, where there is a program */
export function Table({ about = {}, csv }) {
  const rows = useMemo(() => parseCsv(csv, ROWS_MAX), [csv]);
  const [head, ...body] = rows;
  const width = head?.length ?? 0;
  const shown = body.slice(0, Math.min(ROWS_MAX, Math.floor(CELLS_MAX / Math.max(1, width))));
  const types = new Map((about.columns ?? []).map((/** @type {any} */ c) => [c.name, c.dtype]));
  const isNumber = (head ?? []).map((name, n) => (about.columns ? /^(u?int|float|complex)/.test(String(types.get(name) ?? "")) : shown.length > 0 && shown.every((row) => !row[n] || Number.isFinite(Number(row[n])))));
  return html`<div class="data-box" tabindex="0" role="region" aria-label="table"><table class="data"><thead><tr>${(head ?? []).map((name, n) => html`<th scope="col" class=${isNumber[n] ? "number" : ""} title=${types.get(name) ?? ""}><${Line} text=${name} max=${80} /></th>`)}</tr></thead>
    <tbody>${shown.map((row) => html`<tr>${row.map((cell, n) => html`<td class=${isNumber[n] ? "number" : ""}><${Line} text=${cell} max=${200} /></td>`)}</tr>`)}</tbody></table></div>
    <p class="muted small table-foot">${about.shape ? `${count(about.shape[0])} rows × ${count(about.shape[1])} columns${shown.length < about.shape[0] ? `; the first ${count(shown.length)} are shown` : ""}` : `${shown.length < body.length || body.length >= ROWS_MAX ? "the first " : ""}${count(shown.length)} rows × ${count(width)} columns`}</p>`;
}
