/** What sessions want to write: looked at, then applied at exactly the version that was looked at, or discarded. And what runs wrote, to be undone. */
import { path, post } from "../lib/api.js";
import { LINES_MAX, pairs, parseDiff } from "../lib/diff.js";
import { placeHash } from "../lib/filter.js";
import { bytes, count } from "../lib/format.js";
import { listen } from "../lib/live.js";
import { html, useAction, useEffect, useGet, useMemo, useState } from "../lib/view.js";
import { Copy, Empty, Head, Id, Line, Load, Problem, Status, Sure, Time } from "../ui/basic.js";
import { Icon } from "../ui/icons.js";
import { applyCall } from "../lib/snippets.js";
import { Same } from "../ui/same.js";
import { usePhone } from "../ui/table.js";
import { Undo } from "./run.js";

const SESSIONS_MAX = 20; // whose changes are counted at once
// In a string of its own: a template of htm keeps no quotation marks.
const TRY = `belljar run --session fix --allow ~/project:cow -c 'open("a.txt", "w").write("one\\n")'`;

/** @param {{id?: string}} props */
export function Changes({ id }) {
  if (id) return html`<div class="page"><${Head} title="What a session wants to write" crumbs=${[["Changes", "#/changes"]]} sub=${html`<span class="row">session <${Id} id=${id} href=${placeHash(["sessions", id])} /></span>`} /><${ChangesOf} id=${id} /></div>`;
  return html`<${Overview} />`;
}

function Overview() {
  const sessions = useGet("/v1/sessions", { every_ms: 15_000 });
  const undo = useGet("/v1/undo");
  useEffect(() => listen((events) => events.some((e) => /^changes_|^run_undone|^session_/.test(e.event)) && (sessions.reload(), undo.reload())), []);
  return html`<div class="page"><${Head} title="Changes" sub="What agents want to write, and what they wrote."><${Same} call=${{ method: "GET", path: "/v1/undo" }} /><//>
    <section class="stack" aria-label="waiting"><h2 class="section">Waiting in sessions</h2><${Load} of=${sessions}>${(/** @type {any} */ data) => {
      const some = data.sessions.filter((/** @type {any} */ s) => (s.allow ?? []).some((/** @type {string} */ a) => /:(cow|rw)$/.test(a)));
      return some.length ? html`<ul class="items boxed">${some.slice(0, SESSIONS_MAX).map((/** @type {any} */ s) => html`<${Waiting} key=${s.session_id} s=${s} />`)}</ul>` : html`<${Empty} title="No session has a directory to change" icon="changes" command=${TRY}><p class="muted">With <code>:cow</code>, a session writes to a copy until you apply it. Type:</p><//>`;
    }}<//></section>
    <section class="stack" aria-label="written"><h2 class="section">Written by runs</h2><${Load} of=${undo}>${(/** @type {any} */ data) => data.runs.length ? html`<ul class="items boxed">${data.runs.map((/** @type {any} */ r) => html`<${Written} key=${r.run} r=${r} />`)}</ul>` : html`<${Empty} title="No run has written to a directory of the host" icon="undo"><p class="muted">Runs with a directory granted <code>:rw</code> are listed here and can be undone.</p><//>`}<//></section></div>`;
}

/** @param {{s: any}} props */
function Waiting({ s }) {
  const changes = useGet(path`/v1/sessions/${s.session_id}/changes`);
  useEffect(() => listen((events) => events.some((e) => e.data.session_id === s.session_id) && changes.reload()), [s.session_id]);
  const n = changes.data?.changes.length;
  return html`<li><${Icon} name="sessions" /><div class="grow"><a class="strong" href=${placeHash(["changes", s.session_id])}><${Line} text=${s.name || s.session_id} max=${80} /></a> <span class="muted small">${(s.allow ?? []).map((/** @type {string} */ a) => html`<code><${Line} text=${a} max=${120} /></code> `)}</span></div>
    ${changes.error ? html`<span class="muted small"><${Line} text=${changes.error.message} max=${160} /></span>` : n === undefined ? html`<span class="muted small">…</span>` : html`<span class="tabular ${n ? "strong" : "muted"}">${n === 1 ? "1 change" : `${count(n)} changes`}${changes.data.has_more ? "+" : ""}</span>`}</li>`;
}

/** @param {{r: any}} props */
function Written({ r }) {
  const [open, setOpen] = useState(false);
  const what = [["created", r.created], ["changed", r.changed], ["removed", r.removed], ["renamed", r.renamed]].filter(([, n]) => n).map(([name, n]) => `${n} ${name}`).join(", ");
  return html`<li class="block"><div class="row wrap"><${Icon} name=${r.undone ? "undo" : "file"} /><${Id} id=${r.run} href=${placeHash(["runs", r.run])} short /><span class="grow break">${what} <span class="muted small">${(r.directories ?? []).map((/** @type {string} */ d) => html`<code><${Line} text=${d} max=${160} /></code> `)}</span></span><${Time} at=${r.time} />
    ${r.undone ? html`<span class="status tone-calm">undone</span>` : r.is_running ? html`<${Status} state="running" />` : html`<button type="button" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}><${Icon} name="undo" />Undo…</button>`}</div>
    ${open && html`<${Undo} id=${r.run} changes=${{ ...r, undo: true }} undo=${null} />`}</li>`;
}

/** @param {{id: string}} props */
export function ChangesOf({ id }) {
  const changes = useGet(path`/v1/sessions/${id}/changes`, { query: { diff: "true" } });
  const action = useAction();
  const [left, setLeft] = useState(/** @type {Set<string>} */ (new Set()));
  const [open, setOpen] = useState(/** @type {string | null} */ (null));
  const [isSplit, setSplit] = useState(true);
  const [settled, setSettled] = useState(/** @type {any} */ (null));
  const [accepts, setAccepts] = useState(false);
  const isPhone = usePhone();
  const data = changes.data;
  const all = data?.changes ?? [];
  const chosen = all.filter((/** @type {any} */ c) => !left.has(c.path));
  const hidden = chosen.reduce((/** @type {number} */ n, /** @type {any} */ c) => n + (c.hidden_bytes ?? 0), 0);
  const bodyOf = (/** @type {"apply" | "discard"} */ verb) => {
    /** @type {Record<string, any>} */
    const body = { version: data.version };
    if (chosen.length !== all.length || data.has_more) body.paths = chosen.map((/** @type {any} */ c) => c.path);
    if (verb === "apply" && hidden && accepts) body.accept_hidden = hidden;
    return body;
  };
  const settle = (/** @type {"apply" | "discard"} */ verb) => action.run(async () => {
    setSettled({ verb, ...(await post(`/v1/sessions/${encodeURIComponent(id)}/${verb}`, bodyOf(verb))) });
    setLeft(new Set());
    changes.reload();
  });
  const toggle = (/** @type {string} */ name) => setLeft((old) => {
    const next = new Set(old);
    if (!next.delete(name)) next.add(name);
    return next;
  });
  const words = chosen.length === all.length ? "all" : `${count(chosen.length)} of ${count(all.length)}`;
  return html`<div class="stack">${settled && html`<${Settled} settled=${settled} />`}<${Problem} error=${action.error} />${action.error && html`<p class="muted small">If the session has written since you looked, look again: <button type="button" class="link" onClick=${changes.reload}>read the changes</button></p>`}
    <${Load} of=${changes}>${() => all.length ? html`<div class="changes-bar row wrap"><span class="tabular">${count(all.length)} ${all.length === 1 ? "change" : "changes"}</span><span class="muted small">version <code title=${data.version}>${data.version.slice(0, 12)}</code><${Copy} text=${data.version} what="copy version" /></span><span class="grow"></span>
        ${!isPhone && html`<button type="button" class="quiet" aria-pressed=${String(isSplit)} onClick=${() => setSplit(!isSplit)}>Side by side</button>`}
        <${Same} call=${applyCall(id, bodyOf("apply"))} />
        <${Sure} label="Discard ${words}" icon="trash" sure="Discard ${words}?" disabled=${action.busy || !chosen.length} onDo=${() => settle("discard")} /><button type="button" class="primary" disabled=${action.busy || !chosen.length || (hidden > 0 && !accepts)} onClick=${() => settle("apply")}><${Icon} name="check" />Apply ${words}</button></div>
      ${hidden > 0 && html`<label class="notice check"><input type="checkbox" checked=${accepts} onChange=${(/** @type {any} */ e) => setAccepts(e.target.checked)} /><span>${count(hidden)} bytes of what would be written are masked: you do not see all of it. I want it written anyway.</span></label>`}
      <div class="changed-files">${all.map((/** @type {any} */ c) => html`<${ChangedFile} key=${c.path} c=${c} isChosen=${!left.has(c.path)} onToggle=${() => toggle(c.path)} isOpen=${open === null ? all.length <= 12 : open === c.path} onOpen=${() => setOpen(open === c.path ? "" : c.path)} isSplit=${isSplit && !isPhone} />`)}</div>${data.has_more && html`<p class="muted small">There are more changes than this list shows. Apply these first.</p>`}`
      : html`<${Empty} title="Nothing waits to be written" icon="check"><p class="muted">The directories are on the disk as the session sees them.</p><//>`}<//></div>`;
}

/** @param {{settled: any}} props */
function Settled({ settled }) {
  return html`<div class="notice ${settled.skipped.length ? "" : "tone-good"}" role="status"><${Icon} name=${settled.skipped.length ? "warn" : "check"} /><div class="grow"><p>${settled.verb === "apply" ? "Applied" : "Discarded"}: ${count(settled.done.length)}${settled.skipped.length ? `, skipped: ${count(settled.skipped.length)}` : ""}</p>
    ${settled.skipped.length > 0 && html`<ul class="items">${settled.skipped.map((/** @type {any} */ s) => html`<li><${Icon} name="warn" /><span class="grow break"><code><${Line} text=${s.path} max=${600} /></code> <span class="muted"><${Line} text=${s.message ?? s.reason} max=${600} /></span></span></li>`)}</ul>`}</div></div>`;
}

/** @param {{c: any, isChosen: boolean, onToggle: () => void, isOpen: boolean, onOpen: () => void, isSplit: boolean}} props */
function ChangedFile({ c, isChosen, onToggle, isOpen, onOpen, isSplit }) {
  const letter = { created: "A", changed: "M", deleted: "D" }[/** @type {"created"} */ (c.change)] ?? "?";
  return html`<article class="changed-file card"><header class="changed-head"><input type="checkbox" checked=${isChosen} aria-label="apply ${String(c.path).slice(0, 200)}" onChange=${onToggle} />
      <span class="letter letter-${letter}" title=${c.change}>${letter}<span class="visually-hidden">${c.change}</span></span><button type="button" class="link grow break changed-name" aria-expanded=${String(isOpen)} onClick=${onOpen}><${Line} text=${c.path} max=${1000} /></button>
      ${c.has_invisible && html`<span class="status tone-warn"><${Icon} name="warn" />invisible characters</span>`}${c.hidden_bytes > 0 && html`<span class="status tone-warn"><${Icon} name="mask" />${bytes(c.hidden_bytes)} masked</span>`}
      <span class="tabular small">${c.added ? html`<span class="tone-good">+${count(c.added)}</span> ` : ""}${c.removed ? html`<span class="tone-bad">−${count(c.removed)}</span>` : ""}${c.is_binary ? html`<span class="muted">binary, ${bytes(c.size)}</span>` : ""}</span></header>
    ${c.obstacle && html`<p class="trouble"><${Icon} name="warn" /><span>cannot be applied: <${Line} text=${c.obstacle} max=${600} /></span></p>`}
    ${c.mode && c.old_mode && c.mode !== c.old_mode && html`<p class="muted small changed-note">mode ${c.old_mode} → ${c.mode}</p>`}${c.kind !== c.old_kind && c.old_kind && html`<p class="muted small changed-note">${c.old_kind} → ${c.kind}</p>`}
    ${isOpen && (c.diff ? html`<${Diff} text=${c.diff} isSplit=${isSplit} />` : html`<p class="muted small changed-note">${c.not_shown ? html`not shown: <${Line} text=${c.not_shown} max=${300} />` : c.is_binary ? "Binary content is not shown." : "Nothing to show."}</p>`)}</article>`;
}

/** @param {{text: string, isSplit: boolean}} props */
function Diff({ text, isSplit }) {
  const { lines, left_out } = useMemo(() => parseDiff(text), [text]);
  return html`<div class="diff" tabindex="0" role="region" aria-label="difference"><table class=${isSplit ? "split" : ""}>${isSplit && html`<colgroup><col class="col-line" /><col /><col class="col-line" /><col /></colgroup>`}<tbody>${isSplit ? pairs(lines).map(({ left, right }) => left && left === right && left.kind !== "same" ? html`<tr class="d-${left.kind}"><td colspan="4">${left.text}</td></tr>`
      : html`<tr><${Half} line=${left} side="before" /><${Half} line=${right} side="after" /></tr>`) : lines.map((l) => l.kind === "hunk" || l.kind === "note" ? html`<tr class="d-${l.kind}"><td colspan="3">${l.text}</td></tr>`
      : html`<tr class="d-${l.kind}"><td class="line-number" data-line=${l.before ?? ""}></td><td class="line-number" data-line=${l.after ?? ""}></td><td class="line-text"><span class="sign-mark">${l.kind === "new" ? "+" : l.kind === "old" ? "−" : " "}</span><${DiffText} line=${l} /></td></tr>`)}</tbody></table>
    ${left_out > 0 && html`<p class="muted small changed-note">${count(left_out)} further lines are not shown (${count(LINES_MAX)} at most).</p>`}</div>`;
}

/** @param {{line: import("../lib/diff.js").Line | null, side: "before" | "after"}} props */
function Half({ line, side }) {
  if (!line) return html`<td class="line-number d-none"></td><td class="d-none"></td>`;
  const mark = line.kind === "new" ? "+" : line.kind === "old" ? "−" : " ";
  return html`<td class="line-number d-${line.kind}" data-line=${line[side] ?? ""}></td><td class="line-text d-${line.kind}"><span class="sign-mark">${mark}</span><${DiffText} line=${line} /></td>`;
}

/** @param {{line: import("../lib/diff.js").Line}} props */
function DiffText({ line }) {
  const { text, changed } = line;
  const show = (/** @type {string} */ piece) => piece.split(/(\t)/).map((p) => (p === "\t" ? "\t" : html`<${Line} text=${p} max=${10_000} />`));
  if (!changed) return show(text);
  return html`${show(text.slice(0, changed[0]))}<mark>${show(text.slice(changed[0], changed[1]))}</mark>${show(text.slice(changed[1]))}`;
}

