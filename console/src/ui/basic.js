/** Small parts that every page uses. */
import { ago, exact, shortId } from "../lib/format.js";
import { flat, visible } from "../lib/text.js";
import { html, useEffect, useRef, useState, useTick } from "../lib/view.js";
import { Icon } from "./icons.js";

/** Text of a stranger in one line: hidden characters are marked. @param {{text: unknown, max?: number}} props */
export function Line({ text, max = 400 }) {
  const whole = String(text ?? "");
  return parts(visible(whole.length > max ? `${whole.slice(0, max)}…` : whole, { oneLine: true }));
}

/** What the server says in a line: what stands in backticks is code. @param {{text: unknown, max?: number}} props */
export function Words({ text, max = 400 }) {
  const whole = String(text ?? "");
  const pieces = (whole.length > max ? `${whole.slice(0, max)}…` : whole).split(/`([^`\n]+)`/);
  return pieces.map((piece, n) => (n % 2 ? html`<code><${Line} text=${piece} max=${max} /></code>` : html`<${Line} text=${piece} max=${max} />`));
}

/** The same in several lines. @param {{text: string}} props */
export function Text({ text }) {
  return parts(visible(text));
}

/** @param {import("../lib/text.js").Part[]} list */
function parts(list) {
  return list.map((p) => (typeof p === "string" ? p : html`<span class="hidden-char" title="a character that cannot be seen">${p.hidden}</span>`));
}

/** @param {{at: number | string | null | undefined, class?: string}} props  milliseconds, or as the server writes times */
export function Time({ at, class: extra }) {
  useTick();
  const ms = typeof at === "number" ? at : Date.parse(at ?? "");
  if (!Number.isFinite(ms)) return html`<span class=${extra}>–</span>`;
  return html`<time class=${extra} datetime=${new Date(ms).toISOString()} title=${exact(ms)}>${ago(ms)}</time>`;
}

/** An exact time, with its age beside it. @param {{at: string | null | undefined}} props */
export function BothTimes({ at }) {
  const ms = Date.parse(at ?? "");
  if (!Number.isFinite(ms)) return html`<span>–</span>`;
  return html`<span>${exact(ms)} <span class="muted">(<${Time} at=${ms} />)</span></span>`;
}

/** @param {{text: string, what?: string, class?: string}} props */
export function Copy({ text, what = "copy", class: extra }) {
  const [done, setDone] = useState("");
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (/** @type {Event} */ event) => {
    event.preventDefault();
    event.stopPropagation();
    try {
      await navigator.clipboard.writeText(text);
      setDone("copied");
    } catch {
      setDone("not copied");
    }
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setDone(""), 1500);
  };
  return html`<button type="button" class="icon-button ${extra ?? ""}" title=${done || what} aria-label=${what} onClick=${copy}>
    <${Icon} name=${done === "copied" ? "check" : done ? "warn" : "copy"} /><span class="visually-hidden" role="status">${done}</span></button>`;
}

/** An id with its copy button. @param {{id: string | null | undefined, href?: string, short?: boolean}} props */
export function Id({ id, href, short }) {
  if (!id) return html`<span class="muted">–</span>`;
  const shown = short ? shortId(id) : id;
  const text = html`<code class="id" title=${short ? flat(id) : undefined}><${Line} text=${shown} /></code>`;
  return html`<span class="id-box">${href ? html`<a href=${href}>${text}</a>` : text}<${Copy} text=${id} what="copy id" /></span>`;
}

/** @type {Record<string, [string, string]>}  state to icon and tone */
const STATES = {
  success: ["check", "good"], error: ["cross", "bad"], failed: ["warn", "bad"], timeout: ["clock", "warn"], memory_exceeded: ["memory", "warn"], refused: ["refuse", "warn"],
  cancelled: ["stop", "calm"], running: ["running", "live"], waiting: ["clock", "calm"], unfinished: ["dot", "calm"], idle: ["check", "good"], busy: ["running", "live"],
  paused: ["pause", "calm"], starting: ["clock", "calm"], ended: ["stop", "calm"], created: ["changes", "good"], changed: ["code", "live"], deleted: ["trash", "bad"], present: ["check", "good"],
  missing: ["cross", "bad"], valid: ["check", "good"], problem: ["warn", "bad"], unsigned: ["clock", "calm"],
};

/** @param {{state: string, text?: string}} props */
export function Status({ state, text }) {
  const [icon, tone] = STATES[state] ?? ["dot", "calm"];
  return html`<span class="status tone-${tone}"><${Icon} name=${icon} class=${tone === "live" && (state === "running" || state === "busy") ? "turns" : ""} />${text ?? state.replaceAll("_", " ")}</span>`;
}

/** What the server said, as it came. @param {{error: import("../lib/api.js").Failure | null, onRetry?: () => void}} props */
export function Problem({ error, onRetry }) {
  if (!error) return null;
  return html`<div class="problem" role="alert"><${Icon} name="warn" /><div class="grow">
    <p class="problem-text"><${Words} text=${error.message} max=${4000} /></p>
    ${error.hint && html`<p class="muted">hint: <${Words} text=${error.hint} max=${4000} /></p>`}
    <p class="muted small"><code>${flat(error.code)}</code>${error.status ? ` · HTTP ${error.status}` : ""}</p></div>
    ${onRetry && html`<button type="button" onClick=${onRetry}>Try again</button>`}</div>`;
}

/** Says what to type where there is nothing. @param {{title: string, command?: string, children?: any, icon?: string}} props */
export function Empty({ title, command, children, icon = "info" }) {
  return html`<div class="empty"><${Icon} name=${icon} /><p class="empty-title">${title}</p>${children}
    ${command && html`<div class="command"><code>${command}</code><${Copy} text=${command} what="copy command" /></div>`}</div>`;
}

/** @param {{lines?: number}} props */
export function Loading({ lines = 4 }) {
  return html`<div class="loading" role="status" aria-label="loading">${Array.from({ length: lines }, (_, n) => html`<div class="bone bone-${n % 4}"></div>`)}</div>`;
}

/** Error, waiting, or the children. @param {{of: import("../lib/view.js").Loaded, children: (data: any) => any, lines?: number}} props */
export function Load({ of, children, lines }) {
  if (of.data === null && of.error) return html`<${Problem} error=${of.error} onRetry=${of.reload} />`;
  if (of.data === null) return html`<${Loading} lines=${lines} />`;
  return html`${of.error && html`<${Problem} error=${of.error} onRetry=${of.reload} />`}${children(of.data)}`;
}

/** A page's head: its name, what it is about, and what can be done. @param {{title: any, crumbs?: [string, string][], children?: any, sub?: any}} props */
export function Head({ title, crumbs = [], children, sub }) {
  return html`<header class="page-head"><div class="page-title">
    ${crumbs.length > 0 && html`<nav class="crumbs" aria-label="path">${crumbs.map(([name, href]) => html`<a href=${href}>${name}</a><${Icon} name="right" />`)}</nav>`}
    <h1 tabindex="-1">${title}</h1>${sub && html`<p class="muted page-sub">${sub}</p>`}</div>
    <div class="actions">${children}</div></header>`;
}

/** @param {{title?: any, children?: any, actions?: any, class?: string, label?: string}} props */
export function Card({ title, children, actions, class: extra, label }) {
  return html`<section class="card ${extra ?? ""}" aria-label=${label ?? (typeof title === "string" ? title : undefined)}>
    ${title && html`<header class="card-head"><h2>${title}</h2><div class="actions">${actions}</div></header>`}<div class="card-body">${children}</div></section>`;
}

/** Names and values. @param {{rows: [any, any][]}} props */
export function Facts({ rows }) {
  return html`<dl class="facts">${rows.filter(([, value]) => value !== null && value !== undefined && value !== false).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Asks once more in place, without a dialog. @param {{label: any, icon?: string, sure: string, onDo: () => void, disabled?: boolean, class?: string}} props */
export function Sure({ label, icon, sure, onDo, disabled, class: extra }) {
  const [asking, setAsking] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const click = () => {
    clearTimeout(timer.current);
    if (asking) {
      setAsking(false);
      onDo();
      return;
    }
    setAsking(true);
    timer.current = window.setTimeout(() => setAsking(false), 4000);
  };
  return html`<button type="button" class="${asking ? "danger" : ""} ${extra ?? ""}" disabled=${disabled} onClick=${click} onBlur=${() => setAsking(false)}>
    ${icon && html`<${Icon} name=${icon} />`}<span aria-live="polite">${asking ? sure : label}</span></button>`;
}

/** @param {{value: number, max: number, label: string, text: string}} props */
export function Bar({ value, max, label, text }) {
  const share = max > 0 ? Math.min(1, value / max) : 0;
  const tone = share > 0.9 ? "bad" : share > 0.7 ? "warn" : "calm";
  return html`<div class="bar"><span class="bar-label">${label}</span>
    <svg class="bar-line tone-${tone}" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="${label}: ${text}"><rect class="bar-back" width="100" height="6" rx="1" /><rect class="bar-fill" width=${Math.max(share > 0 ? 1 : 0, share * 100)} height="6" rx="1" /></svg>
    <span class="bar-text">${text}</span></div>`;
}

/** @param {{label: string, tabs: [string, string][], at: string, onPick: (name: string) => void}} props */
export function Tabs({ label, tabs, at, onPick }) {
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const index = tabs.findIndex(([name]) => name === at);
    const next = tabs[(index + step + tabs.length) % tabs.length][0];
    onPick(next);
    const list = /** @type {HTMLElement} */ (event.currentTarget);
    requestAnimationFrame(() => /** @type {HTMLElement | null} */ (list.querySelector('[aria-selected="true"]'))?.focus());
  };
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  // Where they do not all fit, the one that is shown is in sight.
  useEffect(() => {
    const tab = /** @type {HTMLElement | null} */ (box.current?.querySelector('[aria-selected="true"]'));
    if (tab && box.current && box.current.scrollWidth > box.current.clientWidth) box.current.scrollLeft = tab.offsetLeft - box.current.offsetLeft - 24;
  }, [at]);
  return html`<div class="tabs" ref=${box} role="tablist" aria-label=${label} onKeyDown=${keys}>${tabs.map(
    ([name, title]) => html`<button type="button" role="tab" aria-selected=${String(name === at)} tabindex=${name === at ? 0 : -1} onClick=${() => onPick(name)}>${title}</button>`,
  )}</div>`;
}

/** @param {string} name @param {BlobPart} data @param {string} [type] */
export function download(name, data, type = "application/octet-stream") {
  const url = URL.createObjectURL(new Blob([data], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, "_") || "file";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
