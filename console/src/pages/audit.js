/** The trail: its records, and the proof that nobody has changed them. */
import { Failure, get, path, post, stream } from "../lib/api.js";
import { placeHash } from "../lib/filter.js";
import { bytes, count, duration } from "../lib/format.js";
import { listen } from "../lib/live.js";
import { setQuery } from "../lib/place.js";
import { html, useAction, useEffect, useGet, useLive, useRef, useState } from "../lib/view.js";
import { BothTimes, Card, Copy, Empty, Facts, Head, Id, Line, Load, Loading, Problem, Status, Time, download } from "../ui/basic.js";
import { Icon } from "../ui/icons.js";
import { Same } from "../ui/same.js";
import { List } from "../ui/table.js";
import { Choice, SearchBox } from "./runs.js";

const KINDS = ["run", "start", "input", "undo", "session", "file", "call", "net", "refusal", "token", "server", "seal"];
const STATES = ["success", "error", "timeout", "memory_exceeded", "refused", "cancelled", "failed", "unfinished"];
const PAGE = 200;
const RECEIPT_BYTES = 4 << 20;
const EXPORT_MAX = 20_000;

/** @param {{query: Record<string, string>}} props */
export function Audit({ query }) {
  const { epoch, isCluster } = useLive();
  const head = useGet(isCluster ? null : "/v1/audit/head");
  const [state, setState] = useState(/** @type {{rows: any[], next: string | null, newest: string | null, error: any, loading: boolean}} */ ({ rows: [], next: null, newest: null, error: null, loading: true }));
  const busy = useRef(/** @type {AbortController | null} */ (null));
  const filters = Object.fromEntries(Object.entries(query).filter(([n, v]) => v && ["kind", "status", "owner", "session", "text", "since", "until"].includes(n)));
  const key = JSON.stringify(filters);
  const read = async (/** @type {string | null} */ before) => {
    busy.current?.abort();
    const control = (busy.current = new AbortController());
    try {
      const answer = await get("/v1/audit/records", { query: { ...filters, limit: PAGE, before }, signal: control.signal });
      setState((old) => ({ rows: before ? [...old.rows, ...answer.records] : answer.records, next: answer.next ?? null, newest: before ? old.newest : (answer.newest ?? null), error: null, loading: false }));
    } catch (error) {
      if (!control.signal.aborted) setState((old) => ({ ...old, error, loading: false }));
    } finally {
      if (busy.current === control) busy.current = null;
    }
  };
  useEffect(() => {
    setState({ rows: [], next: null, newest: null, error: null, loading: true });
    read(null);
    return () => busy.current?.abort();
  }, [key, epoch]);
  const [news, setNews] = useState(0);
  useEffect(() => listen((events) => setNews((n) => n + events.filter((e) => e.event.endsWith("_ended")).length)), []);
  const change = (/** @type {string} */ name, /** @type {string} */ value) => setQuery({ ...query, [name]: value });
  const exporting = useAction();
  const save = () => exporting.run(async () => {
    const lines = [];
    let before = null;
    do {
      const answer = await get("/v1/audit/records", { query: { ...filters, limit: 1000, before } });
      lines.push(...answer.records.map((/** @type {any} */ r) => JSON.stringify(r)));
      before = answer.next ?? null;
    } while (before && lines.length < EXPORT_MAX);
    download("audit.jsonl", lines.join("\n") + "\n", "application/x-ndjson");
  });
  return html`<div class="page page-fill"><${Head} title="Audit" sub="Every run is recorded before it starts. Records are chained and signed.">
      <button type="button" disabled=${exporting.busy} onClick=${save}><${Icon} name="down" />Export</button><${Same} call=${{ method: "GET", path: "/v1/audit/records?limit=100", python: "for record in client.audit(limit=100):\n    print(record)\nprint(client.verify_audit())", typescript: "console.log(await client.audit({ limit: 100 }));\nconsole.log(await client.verifyAudit());" }} /></${Head}>
    <${Problem} error=${exporting.error} />
    <div class="audit-top">${isCluster ? html`<${OfAll} />` : html`<${Verify} head=${head} />`}<${Receipt} /></div>
    <form class="filters" role="search" onSubmit=${(/** @type {Event} */ e) => e.preventDefault()}><${SearchBox} label="text of records" value=${query.text ?? ""} onChange=${(/** @type {string} */ v) => change("text", v)} /><${Choice} label="kind" value=${query.kind ?? ""} values=${KINDS} onChange=${(/** @type {string} */ v) => change("kind", v)} />
      <${Choice} label="status" value=${query.status ?? ""} values=${STATES} onChange=${(/** @type {string} */ v) => change("status", v)} /><${Choice} label="since" value=${query.since ?? ""} values=${["10m", "1h", "1d", "7d"]} onChange=${(/** @type {string} */ v) => change("since", v)} /><${SearchBox} label="owner" plain value=${query.owner ?? ""} onChange=${(/** @type {string} */ v) => change("owner", v)} />
      ${news > 0 && html`<button type="button" class="quiet" onClick=${() => (setNews(0), read(null), head.reload())}><${Icon} name="refresh" />${count(news)} new</button>`}</form>
    ${state.error && html`<${Problem} error=${state.error} onRetry=${() => read(null)} />`}
    ${state.rows.length ? html`<${List} label="records" class="records" columns=${COLUMNS} rows=${state.rows} keyOf=${(/** @type {any} */ r) => `${r.node ?? ""}${r.seq}`} hrefOf=${placeOf} onEnd=${() => state.next && !busy.current && read(state.next)} isMore=${Boolean(state.next)} />`
      : state.loading ? html`<${Loading} lines=${8} />` : !state.error && html`<${Empty} title="No record matches" icon="audit"><p class="muted">${Object.keys(filters).length ? html`<button type="button" class="link" onClick=${() => setQuery({})}>Clear the filters</button>` : "The trail begins with the first run."}</p><//>`}</div>`;
}

/** Machines number their own records. @param {any} r */
const placeOf = (r) => placeHash(["audit", String(r.seq)], { node: r.node });

/** Machines are not believed one by one: whoever verifies keeps what was seen. */
function OfAll() {
  const command = "belljar audit verify --cluster";
  return html`<${Card} title="Is it whole?" class="verify"><p class="muted">Each machine has a trail of its own. On a machine of the cluster, type:</p><div class="command"><code>${command}</code><${Copy} text=${command} what="copy command" /></div><//>`;
}

const COLUMNS = [
  { name: "seq", title: "#", class: "col-number col-seq", cell: (/** @type {any} */ r) => html`<a href=${placeOf(r)} class="tabular">${r.node ? html`<span class="muted"><${Line} text=${r.node} max=${12} /></span> ` : ""}${r.seq}</a>` },
  { name: "kind", title: "Kind", class: "col-kind", cell: (/** @type {any} */ r) => html`${r.kind}${r.event ? html` <span class="muted">${r.event}</span>` : ""}` },
  { name: "status", title: "Status", class: "col-status", cell: (/** @type {any} */ r) => (r.status ? html`<${Status} state=${r.status} />` : html`<span class="muted">–</span>`) },
  { name: "summary", title: "What", class: "col-code", cell: (/** @type {any} */ r) => html`<span class="code-line">${r.summary ? html`<code><${Line} text=${r.summary} max=${160} /></code>` : html`<span class="muted">${r.id ?? "–"}</span>`}</span>` },
  { name: "owner", title: "Owner", class: "col-owner", cell: (/** @type {any} */ r) => html`<${Line} text=${r.owner ?? "–"} max=${40} />` },
  { name: "duration", title: "Duration", class: "col-number col-duration", cell: (/** @type {any} */ r) => duration(r.wall_ms) },
  { name: "when", title: "When", class: "col-when", cell: (/** @type {any} */ r) => html`<${Time} at=${r.time} />` },
];

/** Reads the whole trail while somebody looks. @param {{head: import("../lib/view.js").Loaded}} props */
function Verify({ head }) {
  const [state, setState] = useState(/** @type {{running: boolean, progress: any, findings: any[], result: any, error: Failure | null}} */ ({ running: false, progress: null, findings: [], result: null, error: null }));
  const control = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => () => control.current?.abort(), []);
  const start = async () => {
    control.current?.abort();
    control.current = new AbortController();
    setState({ running: true, progress: null, findings: [], result: null, error: null });
    try {
      await stream("POST", "/v1/audit/verify", { json: {}, signal: control.current.signal }, (event, data) => {
        if (event === "progress") setState((old) => ({ ...old, progress: data }));
        else if (event === "finding") setState((old) => ({ ...old, findings: [...old.findings, data].slice(0, 100) }));
        else if (event === "result") setState((old) => ({ ...old, running: false, result: data, findings: data.findings ?? old.findings }));
        else if (event === "error") setState((old) => ({ ...old, running: false, error: new Failure(0, (data.error ?? data).code, (data.error ?? data).message, (data.error ?? data).hint ?? null) }));
      });
      setState((old) => ({ ...old, running: false }));
    } catch (error) {
      if (!control.current?.signal.aborted) setState((old) => ({ ...old, running: false, error: error instanceof Failure ? error : new Failure(0, "internal", String(error), null) }));
    }
    head.reload();
  };
  const { running, progress, findings, result, error } = state;
  const problems = findings.filter((f) => f.is_problem);
  return html`<${Card} title="Is it whole?" class="verify" actions=${html`<button type="button" class="primary" disabled=${running} onClick=${start}><${Icon} name="audit" />${running ? "Reading…" : "Verify now"}</button>`}>
    <${Ribbon} progress=${progress} result=${result} running=${running} problems=${problems} />
    <div role="status">${result ? html`<p class="verdict ${result.valid ? "tone-good" : "tone-bad"}"><${Icon} name=${result.valid ? "check" : "warn"} /><strong>${result.valid ? "Whole" : result.problems === 1 ? "1 problem" : `${count(result.problems)} problems`}</strong><span class="muted">${count(result.records)} records in ${count(result.files)} ${result.files === 1 ? "file" : "files"}, ${bytes(result.bytes)}${result.unsigned ? `; ${count(result.unsigned)} not signed yet` : ""}</span></p>`
      : running ? html`<p class="muted tabular">${progress ? `${count(progress.records)} records, ${bytes(progress.bytes)} of ${bytes(progress.total_bytes)}` : "starting"}</p>` : html`<p class="muted">Reads every record again and checks the chain, the hashes and the signatures.</p>`}</div>
    ${findings.length > 0 && html`<ul class="items findings">${findings.map((f) => html`<li class=${f.is_problem ? "tone-bad" : "muted"}><${Icon} name=${f.is_problem ? "warn" : "info"} /><span class="grow break"><${Line} text=${f.text} max=${1000} /></span></li>`)}</ul>`}
    <${Problem} error=${error} />
    <${Load} of=${head} lines=${2}>${(/** @type {any} */ h) => html`<${Facts} rows=${[["head", html`#${count(h.seq)} · <${BothTimes} at=${h.time} />`], ["hash", html`<${Id} id=${h.hash} short />`], ["public key", html`<${Id} id=${h.key} short />`]]} />`}<//><//>`;
}

/** One piece for each file of the trail. @param {{progress: any, result: any, running: boolean, problems: any[]}} props */
function Ribbon({ progress, result, running, problems }) {
  const files = Math.max(1, Math.min(200, result?.files ?? progress?.total_files ?? 1));
  // Two pixels between files, whatever their number.
  const gap = files > 1 ? files / 40 : 0;
  const share = result ? 1 : progress?.total_bytes ? progress.bytes / progress.total_bytes : 0;
  const done = share * files;
  const bad = new Set(problems.map((p) => Number(/(\d+)\.jsonl/.exec(p.text)?.[1] ?? NaN)).filter(Number.isFinite));
  const words = result ? (result.valid ? "whole" : "not whole") : running ? "being read" : "not read yet";
  return html`<svg class="ribbon ${running ? "is-running" : ""}" viewBox="0 0 ${files * 10} 10" preserveAspectRatio="none" role="img" aria-label="files of the trail: ${words}">
    ${Array.from({ length: files }, (_, n) => html`<rect class="ribbon-back" x=${n * 10 + gap} y="0" width=${10 - gap * 2} height="10" />`)}
    ${Array.from({ length: Math.ceil(done) }, (_, n) => html`<rect class=${result && !result.valid && (bad.size === 0 ? true : bad.has(n + 1) || (files === 1)) ? "ribbon-bad" : "ribbon-good"} x=${n * 10 + gap} y="0" width=${Math.max(0, (10 - gap * 2) * Math.min(1, done - n))} height="10" />`)}</svg>`;
}

/** Drop a receipt, or a result with one. */
function Receipt() {
  const [over, setOver] = useState(false);
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const action = useAction();
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const check = (/** @type {File | undefined} */ file) => file && action.run(async () => {
    setAnswer(null);
    if (file.size > RECEIPT_BYTES) throw new Failure(0, "too_large", "this file is too large for a receipt", "a receipt is a few kilobytes of JSON");
    let json;
    try {
      json = JSON.parse(await file.text());
    } catch {
      throw new Failure(0, "invalid", "this file is not JSON", "drop the receipt, or the whole result that has it");
    }
    setAnswer(await post("/v1/audit/receipt", json));
  });
  const drop = (/** @type {DragEvent} */ e) => {
    e.preventDefault();
    setOver(false);
    check(e.dataTransfer?.files[0]);
  };
  return html`<${Card} title="Check a receipt" class="receipt ${over ? "is-over" : ""}" actions=${html`<button type="button" disabled=${action.busy} onClick=${() => input.current?.click()}><${Icon} name="file" />Choose a file</button>`}><div class="drop" onDragOver=${(/** @type {Event} */ e) => (e.preventDefault(), setOver(true))} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <input ref=${input} type="file" hidden aria-label="receipt" accept=".json,application/json" onChange=${(/** @type {any} */ e) => (check(e.target.files[0]), (e.target.value = ""))} />
    ${answer ? html`<div class="stack" role="status"><p class="verdict ${answer.is_genuine ? "tone-good" : "tone-bad"}"><${Icon} name=${answer.is_genuine ? "check" : "warn"} /><strong>${answer.is_genuine ? "Genuine" : "Not genuine"}</strong>${answer.why && html`<span class="muted"><${Line} text=${answer.why} max=${400} /></span>`}</p>
      <${Facts} rows=${[["run", answer.id ? html`<${Id} id=${answer.id} href=${placeHash(["runs", answer.id])} short />` : null], ["status", answer.status ? html`<${Status} state=${answer.status} />` : null], ["time", answer.time ? html`<${BothTimes} at=${answer.time} />` : null], ["in the trail", answer.is_in_trail === null || answer.is_in_trail === undefined ? null : answer.is_in_trail ? "yes, that very record" : "no"]]} /></div>`
      : html`<p class="muted">Drop a receipt here, or a result that has one. Runs get one with <code>"receipt": true</code>. It is checked against the key of this server.</p>`}<${Problem} error=${action.error} /></div><//>`;
}

/** @param {{id: string, query: Record<string, string>}} props */
export function Record({ id, query: { node } }) {
  const of = node ? `?${new URLSearchParams({ node })}` : "";
  const found = useGet(path`/v1/audit/records/${id}` + of);
  const head = useGet(`/v1/audit/head${of}`);
  const isNumber = /^\d+$/.test(id);
  const at = isNumber ? Number(id) : found.data?.records[0]?.seq;
  return html`<div class="page"><${Head} title=${isNumber ? `Record #${id}` : "Records"} crumbs=${[["Audit", "#/audit"]]} sub=${isNumber ? null : html`<${Id} id=${id} />`}>
      ${at > 1 && html`<a class="button" data-key="previous" href=${placeHash(["audit", String(at - 1)], { node })}>‹ #${at - 1}</a>`}${at && at < (head.data?.seq ?? Infinity) && html`<a class="button" data-key="next" href=${placeHash(["audit", String(at + 1)], { node })}>#${at + 1} ›</a>`}<${Same} call=${{ method: "GET", path: path`/v1/audit/records/${id}` + of }} /></${Head}>
    <${Load} of=${found}>${(/** @type {any} */ data) => html`<div class="stack">${data.records.map((/** @type {any} */ r) => html`<${OneRecord} key=${r.seq} r=${r} />`)}${data.has_more && html`<p class="muted small">There are more records of this id.</p>`}</div>`}<//></div>`;
}

/** @param {{r: any}} props */
function OneRecord({ r }) {
  const text = JSON.stringify(r, null, 2);
  return html`<${Card} title=${html`#${r.seq} <span class="muted">${r.kind}${r.event ? ` · ${r.event}` : ""}</span>`} label="record ${r.seq}" actions=${html`${r.id?.startsWith?.("run_") && html`<a href=${placeHash(["runs", r.id])}>Run</a>`}<${Copy} text=${text} what="copy record" />`}>
    <${Facts} rows=${[["time", html`<${BothTimes} at=${r.time} />`], ["owner", r.owner ? html`<${Line} text=${r.owner} />` : null], ["status", r.status ? html`<${Status} state=${r.status} />` : null], ["hash", html`<${Id} id=${r.hash} short />`], ["hash before", r.prev ? html`<${Id} id=${r.prev} short />` : null]]} />
    <pre class="terminal wraps record-json" tabindex="0" aria-label="the record as JSON"><${Json} text=${text} /></pre><//>`;
}

/** @param {{text: string}} props */
function Json({ text }) {
  return text.split("\n").map((line) => html`<${Line} text=${line} max=${20_000} />${"\n"}`);
}
