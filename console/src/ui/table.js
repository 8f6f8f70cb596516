/** A list of any length, of which only what can be seen is in the page. Rows have one height, so that the place of each is known. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/view.js";
import { Loading } from "./basic.js";

const SPARE = 8; // rows drawn above and below

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {string} [title]
 * @property {string} [class]
 * @property {(row: any) => any} cell
 */

/**
 * @param {{label: string, columns: Column[], rows: any[], keyOf: (row: any) => string, hrefOf?: (row: any) => string, total?: number, rowHeight?: number, phoneHeight?: number,
 *   onEnd?: () => void, isMore?: boolean, class?: string}} props
 */
export function List({ label, columns, rows, keyOf, hrefOf, rowHeight = 34, phoneHeight = 66, onEnd, isMore, class: extra }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 800 });
  const [picked, setPicked] = useState(/** @type {string | null} */ (null));
  // Keys may come faster than the page is drawn.
  const at = useRef(/** @type {string | null} */ (null));
  const isPhone = usePhone();
  const height = isPhone ? phoneHeight : rowHeight;
  const measure = () => {
    const b = box.current;
    if (b) setView((old) => (old.top === b.scrollTop && old.height === b.clientHeight ? old : { top: b.scrollTop, height: b.clientHeight }));
  };
  useLayoutEffect(measure, []);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const from = Math.max(0, Math.floor(view.top / height) - SPARE);
  const to = Math.min(rows.length, Math.ceil((view.top + view.height) / height) + SPARE);
  useEffect(() => {
    if (isMore && onEnd && to >= rows.length - SPARE) onEnd();
  }, [to, rows.length, isMore]);
  const move = (/** @type {number} */ step) => {
    if (!rows.length) return;
    const before = rows.findIndex((row) => keyOf(row) === at.current);
    const next = before < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, before + step));
    at.current = keyOf(rows[next]);
    setPicked(at.current);
    const b = box.current;
    if (!b) return;
    const top = next * height;
    if (top < b.scrollTop) b.scrollTop = top;
    else if (top + height * 2 > b.scrollTop + b.clientHeight) b.scrollTop = top + height * 2 - b.clientHeight;
  };
  const openPicked = () => {
    const row = rows.find((r) => keyOf(r) === at.current);
    if (row && hrefOf) location.hash = hrefOf(row);
  };
  const keys = useRef((/** @type {string} */ _key) => {});
  keys.current = (key) => (key === "down" ? move(1) : key === "up" ? move(-1) : openPicked());
  useEffect(() => {
    const listener = (/** @type {Event} */ event) => keys.current(/** @type {CustomEvent} */ (event).detail);
    addEventListener("belljar-list", listener);
    return () => removeEventListener("belljar-list", listener);
  }, []);
  const arrows = (/** @type {KeyboardEvent} */ event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -1e9, End: 1e9 })[event.key];
    if (step) {
      event.preventDefault();
      move(step);
    } else if (event.key === "Enter" && event.target === event.currentTarget) openPicked();
  };
  const open = (/** @type {any} */ row) => (/** @type {MouseEvent} */ event) => {
    if (!hrefOf || event.defaultPrevented || /** @type {HTMLElement} */ (event.target).closest("a,button") || String(getSelection())) return;
    location.hash = hrefOf(row);
  };
  return html`<div class="list ${extra ?? ""}" ref=${box} onScroll=${measure} onKeyDown=${arrows} tabindex="0" role="region" aria-label=${label}>
    <table class="list-table" aria-rowcount=${rows.length + 1}><thead><tr>${columns.map((c) => html`<th scope="col" class=${c.class ?? ""}>${c.title ?? c.name}</th>`)}</tr></thead>
    ${from > 0 && html`<tbody aria-hidden="true"><tr style=${{ height: `${from * height}px` }}><td></td></tr></tbody>`}
    <tbody>${rows.slice(from, to).map((row, n) => html`<tr key=${keyOf(row)} aria-rowindex=${from + n + 2} class="${hrefOf ? "opens" : ""} ${keyOf(row) === picked ? "picked" : ""}" style=${{ height: `${height}px` }} onClick=${open(row)}>
      ${columns.map((c) => html`<td class=${c.class ?? ""} data-name=${c.title ?? c.name}>${c.cell(row)}</td>`)}</tr>`)}</tbody>
    ${to < rows.length && html`<tbody aria-hidden="true"><tr style=${{ height: `${(rows.length - to) * height}px` }}><td></td></tr></tbody>`}
    </table>${isMore && html`<div class="list-more"><${Loading} lines=${2} /></div>`}</div>`;
}

export function usePhone() {
  const media = useRef(matchMedia("(max-width: 720px)"));
  const [is, setIs] = useState(media.current.matches);
  useEffect(() => {
    const m = media.current;
    const changed = () => setIs(m.matches);
    m.addEventListener("change", changed);
    return () => m.removeEventListener("change", changed);
  }, []);
  return is;
}
