/** A program, with its lines numbered and those marked that something was said about. */
import { count } from "../lib/format.js";
import { lines } from "../lib/highlight.js";
import { html, useMemo, useState } from "../lib/view.js";
import { Line } from "./basic.js";

const LINES_MAX = 1000;

/** @param {{code: string, language?: string, marks?: Map<number, string>, label?: string}} props  marks: line to "bad" or "warn" */
export function Code({ code, language = "python", marks, label = "program" }) {
  const all = useMemo(() => lines(code, language), [code, language]);
  const [whole, setWhole] = useState(false);
  const shown = whole ? all : all.slice(0, LINES_MAX);
  return html`<div class="code" tabindex="0" role="region" aria-label=${label}><table><tbody>${shown.map((tokens, n) => {
    const mark = marks?.get(n + 1);
    return html`<tr class=${mark ? `mark-${mark}` : ""}><td class="line-number" data-line=${n + 1}>${mark ? html`<span class="visually-hidden">${mark === "bad" ? "failed here" : "refused"}</span>` : ""}</td>
      <td class="line-text">${tokens.map((t) => (t.kind ? html`<span class="t-${t.kind}"><${Line} text=${t.text} max=${4000} /></span>` : html`<${CodeText} text=${t.text} />`))}</td></tr>`;
  })}</tbody></table>
    ${all.length > shown.length && html`<button type="button" class="link" onClick=${() => setWhole(true)}>Show all ${count(all.length)} lines</button>`}</div>`;
}

/** Tabs are blanks here and not marks. @param {{text: string}} props */
function CodeText({ text }) {
  return text.includes("\t") ? text.split(/(\t)/).map((piece) => (piece === "\t" ? "\t" : html`<${Line} text=${piece} max=${8000} />`)) : html`<${Line} text=${text} max=${8000} />`;
}
