/** One run, from beginning to end: what it was, what it did, what held it, and where it stands in the trail. */
import { Failure, get, path, post, stream } from "../lib/api.js";
import { bytes, count, duration } from "../lib/format.js";
import { listen, live as known, scope } from "../lib/live.js";
import { placeHash } from "../lib/filter.js";
import { go } from "../lib/place.js";
import { runCall } from "../lib/snippets.js";
import { html, useAction, useEffect, useGet, useLive, useReducer, useRef, useState } from "../lib/view.js";
import { BothTimes, Card, Copy, Facts, Head, Id, Line, Loading, Problem, Status, Sure, download } from "../ui/basic.js";
import { Code } from "../ui/code.js";
import { Icon } from "../ui/icons.js";
import { Outputs, Troubles, Usage } from "../ui/result.js";
import { Same } from "../ui/same.js";
import { keepDraft } from "./playground.js";

/**
 * The answer of a run, and its output while it goes on.
 * @param {string} id
 */
function useRun(id) {
  const [state, setState] = useState(/** @type {{result: any, error: Failure | null, live: boolean}} */ ({ result: null, error: null, live: false }));
  const [round, again] = useReducer((/** @type {number} */ n) => n + 1, 0);
  const { epoch } = useLive();
  useEffect(() => {
    const control = new AbortController();
    const read = async () => {
      try {
        const result = await get(path`/v1/runs/${id}`, { signal: control.signal });
        const isLive = result.status === "running" || result.status === "waiting";
        setState({ result, error: null, live: isLive });
        if (isLive) await follow(id, control.signal, setState);
      } catch (error) {
        if (!control.signal.aborted && error instanceof Failure) setState((old) => ({ ...old, error, live: false }));
      }
    };
    read();
    return () => control.abort();
  }, [id, round, epoch]);
  return { ...state, reload: () => again(0) };
}

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @param {(change: (old: any) => any) => void} setState
 */
async function follow(id, signal, setState) {
  let pieces = { stdout: "", stderr: "" };
  let timer = 0;
  const draw = () => {
    timer = 0;
    const text = pieces;
    setState((old) => (old.live ? { ...old, result: { ...old.result, ...text } } : old));
  };
  await stream("GET", path`/v1/runs/${id}/follow`, { signal }, (event, data) => {
    if (event === "stdout" || event === "stderr") {
      pieces = { ...pieces, [event]: (pieces[event] + data.text).slice(-2_000_000) };
      if (!timer) timer = window.setTimeout(draw, 100);
    } else if (event === "result") {
      clearTimeout(timer);
      setState(() => ({ result: data, error: null, live: false }));
    } else if (event === "error") {
      clearTimeout(timer);
      const e = data.error ?? data;
      setState((old) => ({ ...old, error: new Failure(0, e.code, e.message, e.hint), live: false }));
    }
  });
}

/** @param {{id: string}} props */
export function Run({ id }) {
  const run = useRun(id);
  const record = useGet(path`/v1/runs/${id}/record`, { query: scope() });
  const isOver = Boolean(run.result) && !run.live;
  // The record of the end is written before the answer leaves.
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else record.reload();
  }, [isOver]);
  useEffect(() => listen((events) => void (events.some((e) => e.event === "run_ended" && e.data.id === id) && (record.reload(), run.reload()))), [id]);
  const r = run.result;
  const t = record.data;
  const state = r?.status ?? t?.state ?? known.runs.find((k) => k.id === id)?.state;
  if (!r && !t && (run.error || record.error) && !(record.loading && !run.error)) {
    return html`<div class="page"><${Head} title="Run" crumbs=${[["Runs", "#/runs"]]}><${Copy} text=${id} what="copy id" /></${Head}><${Problem} error=${record.error ?? run.error} onRetry=${() => (run.reload(), record.reload())} /></div>`;
  }
  if (!r && !t) return html`<div class="page"><${Head} title="Run" crumbs=${[["Runs", "#/runs"]]} /><${Loading} lines=${8} /></div>`;
  const code = t?.code?.text ?? null;
  const language = t?.start?.language ?? r?.language ?? "python";
  return html`<div class="page"><${Head} title=${html`<${Status} state=${state ?? "running"} />`} crumbs=${[["Runs", "#/runs"]]} sub=${html`<${Id} id=${id} />`}>
      <${RunActions} id=${id} run=${run} code=${code} start=${t?.start} language=${language} record=${t} /></${Head}>
    <div class="columns"><div class="main-column stack">
      ${r && html`<${Troubles} result=${r} />`}
      <${Program} code=${code} about=${t?.code} language=${language} result=${r} loading=${!t && record.loading} />
      ${r ? html`<${Outputs} result=${r} follow=${run.live} />${!run.live && !r.stdout && !r.stderr && !r.displays?.length && !r.result && html`<p class="muted">It printed and displayed nothing.</p>`}` : html`<${NotKept} error=${run.error} end=${t?.end} />`}
      <${Files} result=${r} />
    </div><aside class="side-column stack" aria-label="about this run"><${Side} result=${r} record=${t} id=${id} live=${run.live} problem=${record.error} /></aside></div></div>`;
}

/** @param {{code: string | null, about: any, language: string, result: any, loading: boolean}} props */
function Program({ code, about, language, result, loading }) {
  if (code === null) return loading ? html`<${Loading} lines=${3} />` : about ? html`<p class="muted">The trail does not keep the text of programs here (<code>trail_keep</code>): ${bytes(about.bytes)}, SHA-256 <code class="hash">${about.sha256}</code></p>` : null;
  const marks = new Map();
  for (const v of result?.violations ?? []) if (v.line) marks.set(v.line, "warn");
  if (result?.error?.line) marks.set(result.error.line, "bad");
  return html`<div class="output"><div class="output-head"><span class="output-title">${language}</span><span class="muted small">${bytes(about?.bytes)}${about?.masked ? ` · ${count(about.masked)} secrets masked` : ""}</span><span class="grow"></span><${Copy} text=${code} what="copy program" /></div>
    <${Code} code=${code} language=${language} marks=${marks} /></div>`;
}

/** @param {{error: Failure | null, end: any}} props */
function NotKept({ error, end }) {
  const parts = ["stdout", "stderr", "result"].filter((name) => end?.[name]?.bytes);
  return html`<${Card} title="Output"><p class="muted">${error?.status === 404 ? "The output is not kept any more, or belongs to another token. The trail has its sizes and hashes." : (error?.message ?? "The output cannot be read.")}</p>
    ${parts.length > 0 && html`<${Facts} rows=${parts.map((name) => [name, html`${bytes(end[name].bytes)} · <code class="hash">${end[name].sha256}</code>`])} />`}<//>`;
}

/** @param {{id: string, run: any, code: string | null, start: any, language: string, record: any}} props */
function RunActions({ id, run, code, start, language, record }) {
  const action = useAction();
  const r = run.result;
  const again = () => {
    keepDraft({ code: code ?? "", language: language === "command" ? "bash" : language, profile: start?.profile ?? "" });
    go(["playground"]);
  };
  return html`${run.live && html`<${Sure} label="Stop" icon="stop" sure="Stop it?" disabled=${action.busy} onDo=${() => action.run(() => post(path`/v1/runs/${id}/cancel`))} />`}
    ${code !== null && html`<button type="button" onClick=${again}><${Icon} name="play" />Run again</button><${Same} call=${runCall(code, { ...(language === "python" ? {} : { language }), ...(start?.profile ? { profile: start.profile } : {}) })} />`}
    <button type="button" class="icon-button" title="download as JSON" aria-label="download as JSON" onClick=${() => download(`${id}.json`, JSON.stringify({ result: r, record }, null, 2), "application/json")}><${Icon} name="down" /></button>
    <${Problem} error=${action.error} />`;
}

/** @param {{result: any, record: any, id: string, live: boolean, problem: Failure | null}} props */
function Side({ result: r, record: t, id, live, problem }) {
  const start = t?.start;
  const end = t?.end;
  const usage = end?.usage ?? r?.usage;
  const limits = start?.limits;
  const outputBytes = end?.stdout ? end.stdout.bytes + (end.stderr?.bytes ?? 0) : undefined;
  const session = start?.session ?? start?.session_id ?? r?.session_id;
  const layers = end?.layers ?? r?.layers ?? [];
  return html`<${Card} title="About"><${Facts} rows=${[
      ["began", start ? html`<${BothTimes} at=${start.time} />` : null], ["ended", end ? html`<${BothTimes} at=${end.time} />` : live ? html`<span class="muted">still running</span>` : null],
      ["owner", t?.owner ?? r?.owner], ["profile", start?.profile ?? r?.profile], ["session", session ? html`<${Id} id=${session} href=${placeHash(["sessions", session])} short />` : null],
      ["exit code", end?.exit_code ?? r?.exit_code ?? null], ["signal", r?.signal ?? null], ["correlation", start?.correlation_id ?? r?.correlation_id ? html`<${Id} id=${start?.correlation_id ?? r?.correlation_id} short />` : null],
      ["seed", start?.seed ?? null], ["fingerprint", end?.fingerprint ? html`<${Id} id=${end.fingerprint} short />` : null]]} /><//>
    <${Card} title="Use against limits"><${Usage} usage=${usage} limits=${limits} outputBytes=${outputBytes} /><//>
    <${Masked} masked=${end?.masked ?? r?.masked} />
    <${Reach} record=${t} result=${r} />
    <${Undo} id=${id} changes=${r?.changes} undo=${t?.undo} />
    ${layers.length > 0 && html`<${Card} title="Layers that stood"><ul class="tags">${layers.map((/** @type {string} */ l) => html`<li>${l}</li>`)}</ul><//>`}
    <${Trail} record=${t} problem=${problem} receipt=${r?.receipt} />`;
}

/** @param {{masked: any}} props */
function Masked({ masked }) {
  if (!masked?.count) return null;
  const kinds = (masked.kinds ?? []).map((/** @type {any} */ k) => (typeof k === "string" ? { kind: k } : k));
  return html`<${Card} title="Secrets that were masked"><p><strong>${count(masked.count)}</strong> in what it gave out</p><ul class="tags">${kinds.map((/** @type {any} */ k) => html`<li><${Icon} name="mask" /><${Line} text=${k.kind ?? k.name} />${k.count > 1 ? ` × ${count(k.count)}` : ""}</li>`)}</ul><//>`;
}

/** A grant as one writes it: a directory with its mode, a host. @param {any} g */
function grantText(g) {
  if (typeof g === "string") return g;
  if (g.path) return g.mode ? `${g.path}:${g.mode}` : g.path;
  const host = g.host ?? g.grant ?? JSON.stringify(g);
  return host === "ask" ? "other hosts: ask" : host;
}

/** Hosts and calls. @param {{record: any, result: any}} props */
function Reach({ record, result }) {
  const nets = record?.net ?? [];
  const calls = record?.calls ?? [];
  const grants = [...(record?.start?.allow ?? []), ...(record?.start?.net ?? [])].map(grantText);
  if (!nets.length && !calls.length && !grants.length && !result?.net?.connections) return null;
  return html`${grants.length > 0 && html`<${Card} title="Granted"><ul class="tags">${grants.map((g) => html`<li><code><${Line} text=${g} /></code></li>`)}</ul><//>`}
    ${nets.length > 0 && html`<${Card} title="Hosts"><ul class="items">${nets.map((/** @type {any} */ n) => html`<li><${Icon} name=${n.why ? "refuse" : "check"} /><span class="grow"><code><${Line} text="${n.host ?? "?"}:${n.port ?? ""}" /></code> <span class="muted small">${n.why ? html`<${Line} text=${n.why} />` : `${bytes(n.sent_bytes ?? 0)} out, ${bytes(n.received_bytes ?? 0)} in`}</span></span></li>`)}</ul><//>`}
    ${calls.length > 0 && html`<${Card} title="Calls of the program"><ul class="items">${calls.map((/** @type {any} */ c) => html`<li><${Icon} name=${c.answer === "no" || c.outcome === "refused" ? "refuse" : "check"} /><span class="grow"><code><${Line} text=${c.call ?? c.name} /></code> <span class="muted small">${[c.outcome, c.answer && `answer: ${c.answer}`, duration(c.wall_ms ?? c.time_ms)].filter((x) => x && x !== "–").join(" · ")}</span></span></li>`)}</ul><//>`}`;
}

/** What it changed in directories of the host, and taking that back. @param {{id: string, changes: any, undo: any}} props */
export function Undo({ id, changes, undo }) {
  const action = useAction();
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  const [done, setDone] = useState(/** @type {any} */ (null));
  if (!changes?.undo && !undo?.length) return null;
  const n = changes ? [["created", changes.created], ["changed", changes.changed], ["removed", changes.removed], ["renamed", changes.renamed]].filter(([, v]) => v).map(([name, v]) => `${v} ${name}`).join(", ") : "";
  const shown = done ?? plan;
  return html`<${Card} title="Changes on the disk"><p>${n || "It changed files in a granted directory."}</p>
    ${plan && !done && !plan.already_undone && html`<p class="muted">${plan.done.length ? "An undo would do this:" : "There is nothing left to undo."}</p>`}${shown && html`<ul class="items">${shown.done.map((/** @type {any} */ s) => html`<li><${Icon} name="undo" /><span class="grow break"><span class="muted">${s.action}</span> <code><${Line} text=${s.path} max=${600} /></code></span></li>`)}
      ${shown.conflicts.map((/** @type {any} */ s) => html`<li><${Icon} name="warn" /><span class="grow break"><code><${Line} text=${s.path} max=${600} /></code> <span class="muted"><${Line} text=${s.reason} /></span></span></li>`)}</ul>`}
    ${done ? html`<p class="status tone-good" role="status"><${Icon} name="check" />Undone: ${count(done.n_done ?? done.done.length)} steps${done.n_conflicts ? `, ${count(done.n_conflicts)} conflicts` : ""}</p>` : !plan
        ? html`<button type="button" disabled=${action.busy} onClick=${() => action.run(async () => setPlan(await get(path`/v1/runs/${id}/changes`)))}><${Icon} name="undo" />What an undo would do</button>`
        : plan.already_undone ? html`<p class="muted">This was undone before.</p>` : html`<${Sure} label="Undo" icon="undo" sure="Undo these changes?" disabled=${action.busy || !plan.done.length} onDo=${() => action.run(async () => setDone(await post(path`/v1/runs/${id}/undo`, {})))} />`}
    <${Problem} error=${action.error} /><//>`;
}

/** Its place in the trail. @param {{record: any, problem: Failure | null, receipt: any}} props */
function Trail({ record, problem, receipt }) {
  if (!record) return problem ? html`<${Card} title="In the trail"><p class="muted"><${Line} text=${problem.message} max=${600} /></p><//>` : null;
  return html`<${Card} title="In the trail"><${Facts} rows=${[["start", record.start ? html`<a href=${placeHash(["audit", String(record.start.seq)])}>#${record.start.seq}</a>` : null], ["end", record.end ? html`<a href=${placeHash(["audit", String(record.end.seq)])}>#${record.end.seq}</a>` : html`<span class="muted">none yet</span>`],
      ["hash", record.end?.hash ? html`<${Id} id=${record.end.hash} short />` : null]]} />
    <div class="row pager"><${Neighbour} id=${record.previous} name="previous" /><${Neighbour} id=${record.next} name="next" /></div>
    ${receipt && html`<button type="button" onClick=${() => download("receipt.json", JSON.stringify(receipt, null, 2), "application/json")}><${Icon} name="down" />Receipt</button>`}<//>`;
}

/** @param {{id: string | null, name: string}} props */
function Neighbour({ id, name }) {
  if (!id) return html`<span class="muted small">no ${name} run</span>`;
  return html`<a class="button" data-key=${name} href=${placeHash(["runs", id])}>${name === "previous" ? "‹ Previous" : "Next ›"}</a>`;
}

/** @param {{result: any}} props */
function Files({ result }) {
  const files = result?.files ?? [];
  const gone = result?.files_gone ?? [];
  if (!files.length && !gone.length) return null;
  return html`<${Card} title="Files it left"><ul class="items">${files.map((/** @type {any} */ f) => html`<li><${Icon} name="file" /><span class="grow break"><code><${Line} text=${f.path} max=${600} /></code></span><span class="muted small tabular">${bytes(f.size)}</span></li>`)}
    ${gone.map((/** @type {string} */ f) => html`<li><${Icon} name="trash" /><span class="grow break"><code><${Line} text=${f} max=${600} /></code></span><span class="muted small">deleted</span></li>`)}</ul>${result.files_truncated && html`<p class="muted small">There are more.</p>`}<//>`;
}

