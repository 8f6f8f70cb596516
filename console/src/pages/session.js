/** One session, as a notebook on what is alive: cells, variables, files, checkpoints, changes. */
import { get, path, post, remove } from "../lib/api.js";
import { execute } from "../lib/execute.js";
import { placeHash } from "../lib/filter.js";
import { bytes, count, span } from "../lib/format.js";
import { listen } from "../lib/live.js";
import { go } from "../lib/place.js";
import { html, useAction, useEffect, useGet, useLive, useReducer, useRef, useState } from "../lib/view.js";
import { Card, Empty, Facts, Head, Id, Line, Load, Loading, Problem, Status, Sure, Tabs, Time } from "../ui/basic.js";
import { Code } from "../ui/code.js";
import { Editor } from "../ui/editor.js";
import { Files } from "../ui/files.js";
import { Icon } from "../ui/icons.js";
import { Outputs, Troubles } from "../ui/result.js";
import { Same } from "../ui/same.js";
import { Terminals } from "../ui/terminal.js";
import { ChangesOf } from "./changes.js";
import { Execution } from "./playground.js";

/** @param {{id: string, tab: string, query: Record<string, string>}} props */
export function Session({ id, tab, query }) {
  const session = useGet(path`/v1/sessions/${id}`, { every_ms: 10_000 });
  const [round, changed] = useReducer((/** @type {number} */ n) => n + 1, 0);
  useEffect(() => listen((events) => {
    const own = events.filter((e) => e.data.session_id === (session.data?.session_id ?? id));
    if (!own.length) return;
    session.reload();
    // To list variables, or files of a granted directory, is a run in the session, too: to list them again after it would never end.
    if (!own.every((e) => e.data.helper)) changed(0);
  }), [session.data?.session_id]);
  const s = session.data;
  if (!s) {
    return html`<div class="page"><${Head} title="Session" crumbs=${[["Sessions", "#/sessions"]]} sub=${html`<${Id} id=${id} />`} />
      ${session.error ? html`<${Problem} error=${session.error} onRetry=${session.reload} /><p class="muted">Its cells may still be in the trail: <a href=${placeHash(["runs"], { session: id })}>runs of this session</a>.</p>` : html`<${Loading} lines=${8} />`}</div>`;
  }
  const hasCow = (s.allow ?? []).some((/** @type {string} */ a) => /:(cow|rw)$/.test(a));
  const tabs = /** @type {[string, string][]} */ ([["cells", "Cells"], ["variables", "Variables"], ["files", "Files"], ["checkpoints", "Checkpoints"], ...(hasCow || s.parent ? [["changes", "Changes"]] : []), ["terminal", "Terminal"], ["about", "About"]]);
  const pick = (/** @type {string} */ name) => go(["sessions", id, name]);
  return html`<div class="page session-page"><${Head} title=${html`<${Line} text=${s.name || s.session_id} max=${80} />`} crumbs=${[["Sessions", "#/sessions"]]} sub=${html`<span class="row wrap"><${Status} state=${s.state} /><${Id} id=${s.session_id} />${s.parent ? html`<span>fork of <a href=${placeHash(["sessions", s.parent])}><code>…${s.parent.slice(-6)}</code></a></span>` : ""}</span>`}>
      <${SessionActions} s=${s} onChange=${() => (session.reload(), changed(0))} /></${Head}>
    <${Tabs} label="parts of the session" tabs=${tabs} at=${tab} onPick=${pick} />
    <div class="tab-body">${tab === "variables" ? html`<${Variables} id=${s.session_id} round=${round} />` : tab === "files" ? html`<${Files} id=${s.session_id} roots=${["", ...(s.allow ?? []).map((/** @type {string} */ a) => a.replace(/:(rw|cow)$/, ""))]} dir=${query.dir ?? ""} file=${query.file ?? ""} round=${round} />`
      : tab === "checkpoints" ? html`<${Checkpoints} id=${s.session_id} onChange=${() => (session.reload(), changed(0))} />` : tab === "changes" ? html`<${ChangesOf} id=${s.session_id} />`
      : tab === "terminal" ? html`<${Terminals} id=${s.session_id} />` : tab === "about" ? html`<${About} s=${s} />` : html`<${Cells} id=${s.session_id} round=${round} language=${query.language ?? "python"} />`}</div></div>`;
}

/** @param {{s: any, onChange: () => void}} props */
function SessionActions({ s, onChange }) {
  const action = useAction();
  const act = (/** @type {string} */ verb, /** @type {any} */ body = {}) => action.run(async () => (await post(`/v1/sessions/${encodeURIComponent(s.session_id)}/${verb}`, body), onChange()));
  const fork = () => action.run(async () => {
    const answer = await post(path`/v1/sessions/${s.session_id}/fork`, { n: 1 });
    onChange();
    if (answer.sessions?.[0]) go(["sessions", answer.sessions[0].session_id]);
  });
  const end = () => action.run(async () => (await remove(path`/v1/sessions/${s.session_id}`), go(["sessions"])));
  return html`${s.state === "busy" && html`<button type="button" disabled=${action.busy} onClick=${() => act("interrupt")}><${Icon} name="stop" />Interrupt</button>`}
    <button type="button" disabled=${action.busy} onClick=${fork}><${Icon} name="fork" />Fork</button>
    ${s.state === "paused" ? html`<button type="button" disabled=${action.busy} onClick=${() => act("resume")}><${Icon} name="play" />Resume</button>` : html`<button type="button" disabled=${action.busy} onClick=${() => act("pause")}><${Icon} name="pause" />Pause</button>`}
    <${Sure} label="Restart" icon="refresh" sure="Lose variables?" disabled=${action.busy} onDo=${() => act("restart")} /><${Sure} label="End" icon="trash" sure="End it?" disabled=${action.busy} onDo=${end} />
    <${Same} call=${{ method: "POST", path: `/v1/sessions/${s.session_id}/execute`, json: { code: "6 * 7" }, python: `session = client.get_session("${s.session_id}")\nprint(session.run("6 * 7").value)`, typescript: `const session = await client.getSession("${s.session_id}");\nconsole.log((await session.run("6 * 7")).value);`, mcp: { tool: "run_code", arguments: { code: "6 * 7", session_id: s.session_id } } }} />
    <${Problem} error=${action.error} />`;
}

/** @param {{id: string, round: number, language: string}} props */
function Cells({ id, round, language: first }) {
  const past = useGet(path`/v1/sessions/${id}/cells`, { query: { limit: 50 } });
  const [older, setOlder] = useState(/** @type {any[]} */ ([]));
  const [hasOlder, setHasOlder] = useState(/** @type {boolean | null} */ (null));
  const [own, setOwn] = useState(/** @type {import("../lib/execute.js").Execution[]} */ ([]));
  const [text, setText] = useState("");
  const [language, setLanguage] = useState(first);
  const running = useRef(/** @type {ReturnType<typeof execute> | null} */ (null));
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  const loading = useAction();
  useEffect(() => () => running.current?.abort(), []);
  useEffect(() => past.reload(), [round]);
  const isBusy = own.some((c) => c.running);
  const run = () => {
    const code = text;
    if (!code.trim() || isBusy) return;
    setText("");
    const key = Date.now();
    running.current = execute(path`/v1/sessions/${id}/execute`, { code, language }, (state) =>
      setOwn((list) => {
        const at = list.findIndex((c) => c.started === state.started);
        return at < 0 ? [...list, state].slice(-100) : list.map((c, n) => (n === at ? state : c));
      }),
    );
    running.current.done.then(() => past.reload());
    requestAnimationFrame(() => end.current?.scrollIntoView({ block: "end", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" }));
    return key;
  };
  const stop = () => {
    if (!isBusy) return false;
    post(path`/v1/sessions/${id}/interrupt`).catch(() => {});
    return true;
  };
  const more = () => loading.run(async () => {
    const oldest = older[0] ?? past.data?.cells[0];
    const answer = await get(path`/v1/sessions/${id}/cells`, { query: { limit: 50, before: oldest?.id } });
    setOlder((list) => [...answer.cells, ...list]);
    setHasOlder(answer.has_more);
  });
  const kept = past.data ? [...older, ...past.data.cells] : [];
  const shown = new Set(kept.filter((c) => c.result).map((c) => c.id));
  const fresh = own.filter((c) => !c.id || !shown.has(c.id));
  const freshIds = new Set(fresh.map((c) => c.id));
  return html`<div class="notebook"><${Problem} error=${past.error} onRetry=${past.reload} />${past.loading && !past.data && html`<${Loading} lines=${6} />`}
    ${(hasOlder ?? past.data?.has_more) && html`<button type="button" class="quiet" disabled=${loading.busy} onClick=${more}>Earlier cells</button>`}<${Problem} error=${loading.error} />
    ${kept.filter((c) => !freshIds.has(c.id)).map((c, n) => html`<${Cell} key=${c.id} cell=${c} n=${n + 1} />`)}
    ${fresh.map((c) => html`<article key=${c.started} class="cell"><div class="cell-side">${c.running ? html`<${Status} state="running" text="" />` : ""}</div><div class="grow stack"><div class="output"><${Code} code=${c.code} language=${c.language} /></div><${Execution} run=${c} /></div></article>`)}
    ${past.data && !kept.length && !fresh.length && html`<p class="muted notebook-hint">This session has run no cell yet. What you write below runs in it, with its variables and files.</p>`}
    <div class="cell cell-new" ref=${end}><div class="cell-side"></div><div class="grow output editor-box"><${Editor} text=${text} language=${language} label="new cell" hint="x = 41" focus=${!matchMedia("(max-width: 720px)").matches} onChange=${setText} onRun=${run} onStop=${stop} />
      <div class="output-foot row"><select aria-label="language of the cell" value=${language} onChange=${(/** @type {any} */ e) => setLanguage(e.target.value)}>${["python", "bash", "javascript", "typescript"].map((l) => html`<option value=${l} selected=${l === language}>${l}</option>`)}</select><span class="muted small desktop-only"><kbd>Shift</kbd> <kbd>Enter</kbd></span><span class="grow"></span>
        ${isBusy ? html`<button type="button" class="danger" onClick=${stop}><${Icon} name="stop" />Interrupt</button>` : html`<button type="button" class="primary" disabled=${!text.trim()} onClick=${run}><${Icon} name="play" />Run cell</button>`}</div></div></div></div>`;
}

/** @param {{cell: any, n: number}} props */
function Cell({ cell, n }) {
  const r = cell.result;
  const marks = new Map(r?.error?.line ? [[r.error.line, "bad"]] : []);
  return html`<article class="cell" aria-label="cell ${n}"><div class="cell-side"><a href=${placeHash(["runs", cell.id])} title="details of this run" aria-label="details of cell ${n}">${n}</a></div><div class="grow stack">
    ${cell.code !== null ? html`<div class="output"><${Code} code=${cell.code} language=${cell.language} marks=${marks} /></div>` : html`<p class="muted">A program too long to show here.</p>`}
    ${cell.state !== "success" && html`<${Status} state=${cell.state} />`}${r ? html`<${Troubles} result=${r} /><${Outputs} result=${r} />` : ""}</div></article>`;
}

/** @param {{id: string, round: number}} props */
function Variables({ id, round }) {
  const list = useGet(path`/v1/sessions/${id}/variables`);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else list.reload();
  }, [round]);
  return html`<${Load} of=${list}>${(/** @type {any} */ data) => data.variables.length ? html`<div class="table-box"><table class="table variables"><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Value</th></tr></thead><tbody>
    ${data.variables.map((/** @type {any} */ v) => html`<tr><td class="break" data-name="Name"><code><${Line} text=${v.name} max=${120} /></code></td><td class="muted break" data-name="Type"><code><${Line} text=${v.type} max=${120} /></code></td><td class="break" data-name="Value">${v.summary ? html`<code><${Line} text=${v.summary} max=${300} /></code>` : html`<span class="muted">–</span>`}</td></tr>`)}</tbody></table></div>${data.has_more && html`<p class="muted small">There are more.</p>`}`
    : html`<${Empty} title="No variables yet" icon="code"><p class="muted">Run a cell that sets one: <code>x = 41</code></p><//>`}<//>`;
}

/** @param {{id: string, onChange: () => void}} props */
function Checkpoints({ id, onChange }) {
  const list = useGet(path`/v1/sessions/${id}/checkpoints`);
  const action = useAction();
  const [name, setName] = useState("");
  const make = (/** @type {Event} */ e) => {
    e.preventDefault();
    if (name.trim()) action.run(async () => (await post(path`/v1/sessions/${id}/checkpoint`, { name: name.trim() }), setName(""), list.reload(), onChange()));
  };
  const act = (/** @type {() => Promise<any>} */ work) => action.run(async () => (await work(), list.reload(), onChange()));
  return html`<div class="stack narrow"><form class="row" onSubmit=${make}><input class="grow" aria-label="name of the checkpoint" placeholder="name, e.g. before-cleanup" value=${name} spellcheck=${false} onInput=${(/** @type {any} */ e) => setName(e.target.value)} /><button type="submit" class="primary" disabled=${action.busy || !name.trim()}><${Icon} name="flag" />Keep this state</button></form><${Problem} error=${action.error} />
    <${Load} of=${list}>${(/** @type {any} */ data) => data.checkpoints.length ? html`<ul class="items boxed">${data.checkpoints.map((/** @type {string} */ c) => html`<li><${Icon} name="flag" /><span class="grow break"><${Line} text=${c} max=${200} /></span>
      <${Sure} label="Restore" icon="undo" sure="Lose what came after?" disabled=${action.busy} onDo=${() => act(() => post(path`/v1/sessions/${id}/restore`, { name: c }))} /><${Sure} label="Forget" icon="trash" sure="Forget it?" class="quiet" disabled=${action.busy} onDo=${() => act(() => remove(path`/v1/sessions/${id}/checkpoints/${c}`))} /></li>`)}</ul>`
      : html`<${Empty} title="No checkpoints" icon="flag"><p class="muted">A checkpoint keeps variables and files as they are now; you can go back to it as often as you like.</p><//>`}<//></div>`;
}

/** @param {{s: any}} props */
function About({ s }) {
  useLive();
  const l = s.limits ?? {};
  return html`<div class="columns even"><${Card} title="Clocks"><${Facts} rows=${[["opened", s.opened_at ? html`<${Time} at=${s.opened_at} />` : `${span(s.age_s)} ago`], ["idle for", span(s.idle_s)], ["ends after idling", s.idle_limit_s ? span(s.idle_limit_s) : "never"], ["lifetime", s.lifetime_s ? span(s.lifetime_s) : "no limit"], ["cells", count(s.cells)], ["commands", count(s.commands)], ["owner", s.owner], ["profile", s.profile]]} /><//>
    <${Card} title="Limits"><${Facts} rows=${[["time of a cell", span(l.timeout_s)], ["CPU time", l.cpu_time_s ? span(l.cpu_time_s) : "no limit"], ["memory", bytes((l.memory_mb ?? 0) * 1048576)], ["disk", bytes((l.disk_mb ?? 0) * 1048576)], ["processes", count(l.pids)], ["output", bytes(l.output_bytes)], ["CPUs", l.cpus ? String(l.cpus) : "no limit"]]} /><//>
    <${Card} title="Reach"><${Facts} rows=${[["works in", html`<code><${Line} text=${s.workdir} /></code>`], ["directories", list(s.allow)], ["hosts", list(s.net)], ["ports", list(s.ports)]]} /><//></div>`;
}

/** @param {string[] | undefined} names */
function list(names) {
  return names?.length ? html`<ul class="tags">${names.map((n) => html`<li><code><${Line} text=${n} /></code></li>`)}</ul>` : html`<span class="muted">none</span>`;
}

