/** Sessions as the tree of their forks. */
import { path, post, remove } from "../lib/api.js";
import { placeHash } from "../lib/filter.js";
import { bytes, count, span } from "../lib/format.js";
import { isOperator, listen, live, scope } from "../lib/live.js";
import { go } from "../lib/place.js";
import { treeOf } from "../lib/tree.js";
import { html, useAction, useEffect, useGet } from "../lib/view.js";
import { Empty, Head, Id, Line, Load, Problem, Status, Sure } from "../ui/basic.js";
import { Icon } from "../ui/icons.js";
import { Same } from "../ui/same.js";

export function Sessions() {
  const list = useGet("/v1/sessions", { query: scope(), every_ms: 10_000 });
  const action = useAction();
  useEffect(() => listen((events) => events.some((e) => e.event.startsWith("session_") || (e.event.endsWith("_ended") && e.data.session_id)) && list.reload()), []);
  const open = () => action.run(async () => {
    const session = await post("/v1/sessions", {});
    go(["sessions", session.session_id]);
  });
  return html`<div class="page"><${Head} title="Sessions" sub="Sandboxes that stay, with their variables and files.">
      <button type="button" class="primary" disabled=${action.busy} onClick=${open}><${Icon} name="sessions" />Open a session</button>
      <${Same} call=${{ method: "POST", path: "/v1/sessions", json: {}, python: 'with client.session() as session:\n    print(session.run("6 * 7").value)', typescript: 'const session = await client.session();\nconsole.log((await session.run("6 * 7")).value);\nawait session.close();', mcp: { tool: "run_code", arguments: { code: "6 * 7", session_id: "new" } } }} /></${Head}>
    <${Problem} error=${action.error} />
    <${Load} of=${list}>${(/** @type {any} */ data) => data.sessions.length ? html`<${Tree} sessions=${data.sessions} onChange=${list.reload} />` : html`<${Empty} title="No session is open" icon="sessions" command="belljar run --session trial -c 'x = 41'"><p class="muted">Open one here, or type:</p><//>`}<//></div>`;
}

/** @param {{sessions: any[], onChange: () => void}} props */
function Tree({ sessions, onChange }) {
  const rows = treeOf(sessions);
  return html`<div class="table-box"><table class="table sessions-table"><thead><tr><th scope="col">Session</th><th scope="col">State</th><th scope="col" class="col-number">Cells</th><th scope="col" class="col-number">Age</th><th scope="col">Ends after idling</th><th scope="col" class="col-number">Memory limit</th><th scope="col">Profile</th>${isOperator() && html`<th scope="col">Owner</th>`}<th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
    <tbody>${rows.map(({ session, depth, isLast }) => html`<${Row} key=${session.session_id} s=${session} depth=${depth} isLast=${isLast} onChange=${onChange} />`)}</tbody></table></div>`;
}

/** @param {{s: any, depth: number, isLast: boolean, onChange: () => void}} props */
function Row({ s, depth, isLast, onChange }) {
  const action = useAction();
  const href = placeHash(["sessions", s.session_id]);
  const own = live.me === null || s.owner === live.me.name;
  const idleLeft = s.idle_limit_s ? Math.max(0, s.idle_limit_s - s.idle_s) : null;
  return html`<tr><td class="tree-cell" data-name="Session"><span class="tree depth-${Math.min(depth, 6)} ${isLast ? "last" : ""}">${depth > 0 && html`<${Icon} name="fork" label="fork" />`}<span class="tree-name">
      <a href=${href} class="strong"><${Line} text=${s.name && s.name !== s.session_id ? s.name : `…${s.session_id.slice(-8)}`} max=${48} /></a><${Id} id=${s.session_id} short /></span></span></td>
    <td data-name="State"><${Status} state=${s.state} />${s.waiting > 0 ? html` <span class="muted small">${count(s.waiting)} wait</span>` : ""}</td><td class="col-number" data-name="Cells">${count(s.cells)}</td><td class="col-number" data-name="Age">${span(s.age_s)}</td>
    <td data-name="Ends in">${idleLeft === null ? html`<span class="muted">never</span>` : html`${span(idleLeft)} <span class="muted">of ${span(s.idle_limit_s)}</span>`}</td><td class="col-number" data-name="Memory limit">${bytes((s.limits?.memory_mb ?? 0) * 1048576)}</td><td data-name="Profile">${s.profile}</td>
    ${isOperator() && html`<td data-name="Owner"><${Line} text=${s.owner} max=${40} /></td>`}
    <td class="row-actions">${own && html`<button type="button" class="quiet" disabled=${action.busy} onClick=${() => action.run(async () => (await post(path`/v1/sessions/${s.session_id}/fork`, { n: 1 }), onChange()))}><${Icon} name="fork" />Fork</button>`}
      <${Sure} label="End" icon="trash" sure="End it?" class="quiet" disabled=${action.busy} onDo=${() => action.run(async () => (await remove(path`/v1/sessions/${s.session_id}`), onChange()))} /><${Problem} error=${action.error} /></td></tr>`;
}

