/** What a program printed, as a terminal shows it, but as text nodes only. */
import { bytes, count } from "../lib/format.js";
import { spans } from "../lib/sgr.js";
import { ends } from "../lib/text.js";
import { html, useEffect, useMemo, useRef, useState } from "../lib/view.js";
import { Copy, Text, download } from "./basic.js";
import { Icon } from "./icons.js";

const SHOWN_MAX = 200_000;

/** @param {{text: string}} props */
function Spans({ text }) {
  const list = useMemo(() => spans(text), [text]);
  return list.map((s) => (s.style ? html`<span class=${s.style}><${Text} text=${s.text} /></span>` : html`<${Text} text=${s.text} />`));
}

/** @param {{text: string, kind?: "stdout" | "stderr", title?: string, total?: number, follow?: boolean, name?: string, onWhole?: () => void, bare?: boolean}} props  bare: the page has its size and its download already */
export function Output({ text, kind = "stdout", title, total, follow, name = "output", onWhole, bare }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [wraps, setWraps] = useState(true);
  const [follows, setFollows] = useState(true);
  const { head, left_out, tail } = ends(text, SHOWN_MAX);
  const isWide = useMemo(() => /[^\n]{100}/.test(text), [text]);
  useEffect(() => {
    if (follow && follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, follow, follows]);
  const scrolled = () => {
    const b = box.current;
    if (follow && b) setFollows(b.scrollHeight - b.scrollTop - b.clientHeight < 24);
  };
  return html`<div class="output output-${kind}">
    <div class="output-head"><span class="output-title">${title ?? kind}</span>${!bare && html`<span class="muted small">${bytes(total ?? new Blob([text]).size)}</span>`}<span class="grow"></span>
      ${follow && !follows && html`<button type="button" class="quiet" onClick=${() => setFollows(true)}><${Icon} name="down" />Follow</button>`}
      ${isWide && html`<button type="button" class="quiet" aria-pressed=${String(wraps)} onClick=${() => setWraps(!wraps)}>Wrap</button>`}
      <${Copy} text=${text} what="copy ${title ?? kind}" />${!bare && html`<button type="button" class="icon-button" title="download" aria-label="download ${kind}" onClick=${() => download(`${name}.txt`, text, "text/plain")}><${Icon} name="down" /></button>`}</div>
    <pre ref=${box} onScroll=${scrolled} class="terminal ${wraps ? "wraps" : ""}" tabindex="0" aria-label=${title ?? kind}><${Spans} text=${head} />${left_out > 0 && html`<span class="left-out">… ${count(left_out)} characters are not shown here; download has all …\n</span>`}${tail && html`<${Spans} text=${tail} />`}</pre>
    ${total !== undefined && total > new Blob([text]).size + 1 && onWhole && html`<p class="muted small output-foot">The middle was left out of the answer. <button type="button" class="link" onClick=${onWhole}>Read the whole output</button></p>`}
  </div>`;
}
