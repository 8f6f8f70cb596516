/** What outlives runs: skills, and the saved states of work. */
import { path, post, remove, request } from "../lib/api.js";
import { placeHash } from "../lib/filter.js";
import { bytes, count } from "../lib/format.js";
import { go } from "../lib/place.js";
import { html, useAction, useEffect, useGet, useState } from "../lib/view.js";
import { Card, Copy, Empty, Facts, Head, Line, Load, Problem, Sure, Time } from "../ui/basic.js";
import { Code } from "../ui/code.js";
import { Icon } from "../ui/icons.js";
import { Output } from "../ui/output.js";
import { Same } from "../ui/same.js";

export function Skills() {
  const skills = useGet("/v1/skills");
  const states = useGet("/v1/states");
  return html`<div class="page"><${Head} title="Skills and saved states"><${Same} call=${{ method: "GET", path: "/v1/skills", python: "for skill in client.skills.list():\n    print(skill)", typescript: "console.log(await client.skills.list());", mcp: { tool: "list_skills", arguments: {} } }} /></${Head}>
    <section class="stack" aria-label="skills"><h2 class="section">Skills</h2><${Load} of=${skills}>${(/** @type {any} */ d) => d.skills.length ? html`<ul class="items boxed">${d.skills.map((/** @type {any} */ s) => html`<li><${Icon} name="skills" /><div class="grow"><a class="strong" href=${placeHash(["skills", s.name])}><${Line} text=${s.name} max=${80} /></a>${s.kind === "public" ? html` <span class="chip">built in</span>` : html` <span class="muted small">version ${s.version}</span>`}<p class="muted clamp"><${Line} text=${s.description ?? ""} max=${400} /></p></div><span class="muted small tabular">${bytes(s.bytes)}</span><${Time} at=${s.updated_at} class="muted small" /></li>`)}</ul>`
      : html`<${Empty} title="No skills yet" icon="skills" command="belljar skill save report report.py"><p class="muted">A skill is code that later programs import.</p><//>`}<//></section>
    <section class="stack" aria-label="saved states"><h2 class="section">Saved states</h2><${Load} of=${states}>${(/** @type {any} */ d) => d.states.length ? html`<ul class="items boxed">${d.states.map((/** @type {any} */ s) => html`<li><${Icon} name="flag" /><div class="grow"><a class="strong" href=${placeHash(["states", s.name])}><${Line} text=${s.name} max=${80} /></a> <span class="muted small">version ${s.version}</span><p class="muted clamp"><${Line} text=${s.description ?? ""} max=${400} /></p></div><span class="muted small tabular">${bytes(s.bytes)}</span><${Time} at=${s.updated_at} class="muted small" /></li>`)}</ul>`
      : html`<${Empty} title="No saved states" icon="flag"><p class="muted">Agents keep the state of longer work here, over several conversations: <code>create_refactoring_session</code>, <code>save_session_state</code>.</p><//>`}<//></section></div>`;
}

/** @param {{id: string}} props */
export function Skill({ id }) {
  const [version, setVersion] = useState("");
  const [file, setFile] = useState("");
  const skill = useGet(path`/v1/skills/${id}`, { query: { version } });
  const action = useAction();
  const gone = () => action.run(async () => (await remove(path`/v1/skills/${id}`), go(["skills"])));
  const undo = () => action.run(async () => (await post(path`/v1/skills/${id}/undo`), setVersion(""), skill.reload()));
  return html`<div class="page"><${Head} title=${html`<${Line} text=${id} max=${80} />`} crumbs=${[["Skills", "#/skills"]]}>${skill.data?.kind === "user" && html`${(skill.data.versions?.length ?? 0) > 1 && html`<${Sure} label="Undo last version" icon="undo" sure="Remove the last version?" disabled=${action.busy} onDo=${undo} />`}<${Sure} label="Delete" icon="trash" sure="Delete, with all versions?" disabled=${action.busy} onDo=${gone} />`}
      <${Same} call=${{ method: "GET", path: `/v1/skills/${encodeURIComponent(id)}`, mcp: { tool: "get_skill_info", arguments: { skill_name: id } } }} /></${Head}><${Problem} error=${action.error} />
    <${Load} of=${skill}>${(/** @type {any} */ s) => html`<div class="columns"><div class="main-column stack"><p><${Line} text=${s.description ?? ""} max=${2000} /></p>
        ${file ? html`<${SkillFile} key=${file + version} id=${id} file=${file} version=${version} onClose=${() => setFile("")} />` : s.code && html`<div class="output"><div class="output-head"><span class="output-title">${s.is_folder ? "__init__.py" : `${s.module?.split(".").pop()}.py`}</span><span class="grow"></span><${Copy} text=${s.code} what="copy code" /></div><${Code} code=${s.code} /></div>`}</div>
      <aside class="side-column stack" aria-label="about this skill"><${Card} title="About"><${Facts} rows=${[["import", html`<code><${Line} text=${s.module} /></code>`], ["kind", s.kind === "public" ? "built in" : "yours"], ["version", s.version || null], ["changed", html`<${Time} at=${s.updated_at} />`], ["size", bytes(s.bytes)]]} /><//>
        ${s.files?.length > 0 && html`<${Card} title="Files"><ul class="items">${s.files.map((/** @type {any} */ f) => html`<li><${Icon} name="file" /><button type="button" class="link grow break" onClick=${() => setFile(f.path)}><${Line} text=${f.path} max=${300} /></button><span class="muted small tabular">${bytes(f.bytes)}</span></li>`)}</ul><//>`}
        ${s.versions?.length > 0 && html`<${Card} title="Versions"><ul class="items">${s.versions.map((/** @type {any} */ v) => html`<li><button type="button" class="link grow" onClick=${() => setVersion(String(v.version))}>version ${v.version}</button><${Time} at=${v.timestamp} class="muted small" /></li>`)}</ul><//>`}</aside></div>`}<//></div>`;
}

/** @param {{id: string, file: string, version: string, onClose: () => void}} props */
function SkillFile({ id, file, version, onClose }) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const action = useAction();
  useEffect(() => {
    action.run(async () => setText(await (await request("GET", path`/v1/skills/${id}/files/` + file.split("/").map(encodeURIComponent).join("/"), { query: { version } })).text()));
  }, []);
  return html`<div class="stack"><div><button type="button" class="link" onClick=${onClose}>‹ back to the code</button></div><${Problem} error=${action.error} />${text !== null && (file.endsWith(".py") ? html`<div class="output"><div class="output-head"><span class="output-title"><${Line} text=${file} /></span><span class="grow"></span><${Copy} text=${text} what="copy code" /></div><${Code} code=${text} /></div>` : html`<${Output} text=${text} title=${file} name=${file} />`)}</div>`;
}

/** @param {{id: string}} props */
export function State({ id }) {
  const [version, setVersion] = useState("");
  const state = useGet(path`/v1/states/${id}`, { query: { version } });
  const action = useAction();
  const gone = () => action.run(async () => (await remove(path`/v1/states/${id}`), go(["skills"])));
  return html`<div class="page"><${Head} title=${html`<${Line} text=${id} max=${80} />`} crumbs=${[["Saved states", "#/skills"]]}><${Sure} label="Delete" icon="trash" sure="Delete, with its history?" disabled=${action.busy} onDo=${gone} /><${Same} call=${{ method: "GET", path: `/v1/states/${encodeURIComponent(id)}`, mcp: { tool: "load_session_state", arguments: { session_name: id } } }} /></${Head}><${Problem} error=${action.error} />
    <${Load} of=${state}>${(/** @type {any} */ s) => html`<div class="columns"><div class="main-column stack"><${Output} text=${JSON.stringify(s.state ?? s, null, 2)} title="state" name=${id} /></div><aside class="side-column stack" aria-label="about this state"><${Card} title="About"><${Facts} rows=${[["version", count(s.version)], ["changed", s.updated_at ? html`<${Time} at=${s.updated_at} />` : null], ["description", s.description ? html`<${Line} text=${s.description} max=${600} />` : null]]} /><//>
      ${(s.versions ?? s.history)?.length > 0 && html`<${Card} title="Versions"><ul class="items">${(s.versions ?? s.history).map((/** @type {any} */ v) => html`<li><button type="button" class="link grow" onClick=${() => setVersion(String(v.version))}>version ${v.version}</button><${Time} at=${v.timestamp ?? v.saved_at} class="muted small" /></li>`)}</ul><//>`}</aside></div>`}<//></div>`;
}

