/** Write, run, look: in a fresh sandbox each time, until it is kept as a session. */
import { post } from "../lib/api.js";
import { execute } from "../lib/execute.js";
import { placeHash } from "../lib/filter.js";
import { duration, span } from "../lib/format.js";
import { go } from "../lib/place.js";
import { runCall } from "../lib/snippets.js";
import { html, useAction, useEffect, useGet, useRef, useState, useTick } from "../lib/view.js";
import { Empty, Head, Problem, Status } from "../ui/basic.js";
import { Editor } from "../ui/editor.js";
import { Icon } from "../ui/icons.js";
import { ApprovalCard } from "../ui/approval.js";
import { Outputs, ShortFacts, Troubles } from "../ui/result.js";
import { Same } from "../ui/same.js";

const KEY = "belljar.draft";
const PROFILES = ["", "open", "standard", "strict"];
const EXAMPLES = [
  { name: "A plot", language: "python", code: 'import matplotlib.pyplot as plt\nimport numpy as np\n\nx = np.linspace(0, 10, 200)\nplt.figure(figsize=(6, 3))\nplt.plot(x, np.sin(x), label="sin")\nplt.plot(x, np.cos(x), label="cos")\nplt.legend()\nplt.show()\n' },
  { name: "A table", language: "python", code: 'import pandas as pd\n\nsales = pd.DataFrame({"month": ["Jan", "Feb", "Mar"], "sum": [12.5, 17.25, 9.0]})\nprint(sales["sum"].sum())\nsales\n' },
  { name: "Progress", language: "python", code: 'import time\nfrom belljar import progress\n\nfor i in range(20):\n    progress(i + 1, 20, f"step {i + 1}")\n    print(f"\\033[32mstep\\033[0m {i + 1}")\n    time.sleep(0.15)\n' },
  { name: "Bash", language: "bash", code: 'for i in 1 2 3; do\n    echo "line $i" >> out.txt\ndone\nwc -l out.txt\nid\n' },
  { name: "Refused", language: "python", profile: "strict", code: "import os\nimport subprocess\n\nsubprocess.run([\"id\"])\n" },
];

/** @typedef {{code: string, language: string, profile: string, timeout_s?: string, memory_mb?: string, allow?: string, net?: string}} Draft */

/** @param {Draft} draft */
export function keepDraft(draft) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(draft));
  } catch {
    // Too large to keep: it is in the editor.
  }
}

const HINT = "print(6 * 7)";

/** @returns {Draft} */
function readDraft() {
  try {
    const draft = JSON.parse(sessionStorage.getItem(KEY) ?? "");
    if (typeof draft.code === "string") return { language: "python", profile: "", ...draft };
  } catch {
    // none
  }
  return { code: "", language: "python", profile: "" };
}

/** @param {Draft} draft */
function fieldsOf(draft) {
  /** @type {Record<string, any>} */
  const fields = {};
  if (draft.language !== "python") fields.language = draft.language;
  if (draft.profile) fields.profile = draft.profile;
  if (draft.timeout_s) fields.timeout_s = Number(draft.timeout_s);
  if (draft.memory_mb) fields.memory_mb = Number(draft.memory_mb);
  const words = (/** @type {string} */ text) => text.split(/[\s,]+/).filter(Boolean);
  if (draft.allow?.trim()) fields.allow = words(draft.allow);
  if (draft.net?.trim()) fields.net = words(draft.net);
  return fields;
}

export function Playground() {
  const [draft, setDraft] = useState(readDraft);
  const [run, setRun] = useState(/** @type {import("../lib/execute.js").Execution | null} */ (null));
  const current = useRef(/** @type {ReturnType<typeof execute> | null} */ (null));
  const keeping = useAction();
  const languages = useGet("/v1/languages");
  useEffect(() => {
    const timer = setTimeout(() => keepDraft(draft), 300);
    return () => clearTimeout(timer);
  }, [draft]);
  useEffect(() => () => current.current?.abort(), []);
  const change = (/** @type {Partial<Draft>} */ part) => setDraft((old) => ({ ...old, ...part }));
  const start = () => {
    if (run?.running || !draft.code.trim()) return;
    current.current = execute("/v1/run", { code: draft.code, ...fieldsOf(draft) }, setRun);
  };
  const stop = () => {
    if (!run?.running) return false;
    current.current?.stop().catch(() => {});
    return true;
  };
  useEffect(() => {
    const keys = (/** @type {KeyboardEvent} */ e) => {
      if (e.key === "Enter" && (e.shiftKey || e.ctrlKey) && !e.defaultPrevented) {
        e.preventDefault();
        start();
      } else if (e.key === "c" && e.ctrlKey && !String(getSelection()) && stop()) e.preventDefault();
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  });
  const keep = () => keeping.run(async () => {
    const { language, timeout_s, ...rest } = fieldsOf(draft);
    const session = await post("/v1/sessions", rest);
    if (draft.code.trim()) keepDraft({ ...draft });
    go(["sessions", session.session_id]);
  });
  const names = (languages.data?.languages ?? [{ name: "python" }, { name: "bash" }]).filter((/** @type {any} */ l) => l.available !== false && l.name !== "command").map((/** @type {any} */ l) => l.name);
  return html`<div class="page"><${Head} title="Playground">
      <button type="button" disabled=${keeping.busy} onClick=${keep}><${Icon} name="sessions" />Open a session</button><${Same} call=${runCall(draft.code.trim() ? draft.code : HINT, fieldsOf(draft))} /></${Head}>
    <${Problem} error=${keeping.error} />
    <div class="halves"><div class="stack"><div class="output editor-box"><div class="output-head"><select aria-label="language" value=${draft.language} onChange=${(/** @type {any} */ e) => change({ language: e.target.value })}>${names.map((/** @type {string} */ n) => html`<option value=${n} selected=${n === draft.language}>${n}</option>`)}</select>
          <select aria-label="profile" value=${draft.profile} onChange=${(/** @type {any} */ e) => change({ profile: e.target.value })}>${PROFILES.map((p) => html`<option value=${p} selected=${p === draft.profile}>${p || "profile: default"}</option>`)}</select><span class="grow"></span>
          ${run?.running ? html`<button type="button" class="danger" onClick=${stop}><${Icon} name="stop" />Stop</button>` : html`<button type="button" class="primary" disabled=${!draft.code.trim()} title="Shift-Enter" onClick=${start}><${Icon} name="play" />Run</button>`}</div>
        <${Editor} text=${draft.code} language=${draft.language} label="program" hint=${HINT} focus=${!matchMedia("(max-width: 720px)").matches} onChange=${(/** @type {string} */ code) => change({ code })} onRun=${start} onStop=${stop} class="editor-tall" /></div>
      <${Options} draft=${draft} onChange=${change} />
      <div class="row wrap"><span class="muted small">Examples</span>${EXAMPLES.map((e) => html`<button type="button" class="quiet" onClick=${() => change({ code: e.code, language: e.language, profile: e.profile ?? "" })}>${e.name}</button>`)}</div></div>
    <section class="stack" aria-label="output" aria-live="off">${run ? html`<${Execution} run=${run} />` : html`<${Empty} title="Output appears here" icon="play"><p class="muted">Press <kbd>Shift</kbd> <kbd>Enter</kbd> in the editor. Each run has a fresh sandbox.</p><//>`}</section></div></div>`;
}

/** @param {{draft: Draft, onChange: (part: Partial<Draft>) => void}} props */
function Options({ draft, onChange }) {
  const field = (/** @type {"timeout_s" | "memory_mb" | "allow" | "net"} */ name, /** @type {string} */ label, /** @type {string} */ hint, /** @type {string} */ type) =>
    html`<label class="field"><span>${label}</span><input type=${type} min="1" placeholder=${hint} value=${draft[name] ?? ""} spellcheck=${false} onInput=${(/** @type {any} */ e) => onChange({ [name]: e.target.value })} /></label>`;
  const set = ["timeout_s", "memory_mb", "allow", "net"].filter((n) => /** @type {any} */ (draft)[n]).length;
  return html`<details class="options" open=${set > 0}><summary>Limits and grants${set ? ` (${set})` : ""}</summary><div class="fields">
    ${field("timeout_s", "Time (s)", "30", "number")}${field("memory_mb", "Memory (MB)", "1024", "number")}${field("allow", "Directories", "/srv/data /srv/out:rw", "text")}${field("net", "Hosts", "api.example.org:443", "text")}</div></details>`;
}

/** One run as it goes on. @param {{run: import("../lib/execute.js").Execution}} props */
export function Execution({ run }) {
  const r = run.result;
  return html`<div class="stack execution"><div class="row wrap execution-head"><${Status} state=${run.error ? "failed" : r.status} />${run.running ? html`<${Elapsed} since=${run.started} />` : html`<span class="muted tabular">${duration(r.usage?.wall_ms)}</span>`}<span class="grow"></span>
      ${run.id && html`<a href=${placeHash(["runs", run.id])} class="small">Details</a>`}</div>
    ${run.progress && html`<${Progress} progress=${run.progress} />`}
    ${run.approvals.map((a) => html`<${ApprovalCard} key=${a.approval_id} approval=${{ run_id: run.id, ...a }} hasProgram />`)}
    <${Problem} error=${run.error} /><${Troubles} result=${r} /><${Outputs} result=${r} follow=${run.running} />
    ${!run.running && r.usage && html`<${ShortFacts} result=${r} />`}</div>`;
}

/** @param {{since: number}} props */
function Elapsed({ since }) {
  useTick();
  return html`<span class="muted tabular">${span((Date.now() - since) / 1000)}</span>`;
}

/** @param {{progress: {done: number, total: number | null, text: string}}} props */
function Progress({ progress }) {
  return html`<div class="progress"><progress max=${progress.total ?? undefined} value=${progress.total ? progress.done : undefined} aria-label="progress"></progress><span class="muted small tabular">${progress.done}${progress.total ? ` of ${progress.total}` : ""} ${String(progress.text ?? "").slice(0, 120)}</span></div>`;
}
