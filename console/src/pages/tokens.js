/** Who may use this server, and how much of it. */
import { path, post, remove } from "../lib/api.js";
import { count, span } from "../lib/format.js";
import { isOperator, live } from "../lib/live.js";
import { html, useAction, useGet, useState } from "../lib/view.js";
import { Bar, Card, Copy, Empty, Head, Line, Load, Problem, Sure, Time } from "../ui/basic.js";
import { Icon } from "../ui/icons.js";
import { Same } from "../ui/same.js";

const LIMITS = [["runs_per_minute", "Runs per minute"], ["max_runs", "Runs at once"], ["max_sessions", "Sessions"], ["cpu_s_per_hour", "CPU seconds per hour"]];

export function Tokens() {
  const me = useGet("/v1/me", { every_ms: 10_000 });
  const operator = isOperator();
  const tokens = useGet(operator ? "/v1/tokens" : null, { every_ms: 10_000 });
  const [adding, setAdding] = useState(false);
  return html`<div class="page"><${Head} title="Tokens">${operator && html`<button type="button" class="primary" aria-expanded=${String(adding)} onClick=${() => setAdding(!adding)}><${Icon} name="tokens" />Add a token</button>`}<${Same} call=${{ method: "GET", path: "/v1/tokens", python: "for token in client.tokens():\n    print(token)", typescript: "console.log(await client.tokens());" }} /></${Head}>
    ${adding && html`<${Add} onAdded=${tokens.reload} />`}
    <${Load} of=${me}>${(/** @type {any} */ m) => html`<${Card} title=${html`Yours: <${Line} text=${m.name} max=${60} />`} label="your token"><${Rights} t=${m} /><${Use} t=${m} /><//>`}<//>
    ${operator ? html`<${Load} of=${tokens}>${(/** @type {any} */ data) => html`<div class="table-box"><table class="table"><thead><tr><th scope="col">Name</th><th scope="col">Rights</th><th scope="col">Limits and use</th><th scope="col" class="col-number">Running</th><th scope="col" class="col-number">Done</th><th scope="col" class="col-number">Refused</th><th scope="col">Last used</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
      <tbody>${data.tokens.map((/** @type {any} */ t) => html`<${Row} key=${t.name} t=${t} onGone=${tokens.reload} />`)}</tbody></table></div>`}<//>` : html`<${Empty} title="Other tokens are for operators" icon="tokens"><p class="muted">This token has no right to see or change them.</p><//>`}</div>`;
}

/** @param {{t: any}} props */
function Rights({ t }) {
  return html`<ul class="tags">${t.operator && html`<li><${Icon} name="approvals" />operator</li>`}${t.grants && html`<li><${Icon} name="folder" />directories and hosts</li>`}${(t.profiles ?? []).length ? t.profiles.map((/** @type {string} */ p) => html`<li>profile <${Line} text=${p} /></li>`) : html`<li>all profiles</li>`}</ul>`;
}

/** @param {{t: any}} props */
function Use({ t }) {
  const limits = Object.entries(t.limits ?? {}).filter(([, v]) => v);
  if (!limits.length) return html`<p class="muted small">no limits of its own${t.expires_in_s ? ` · ends in ${span(t.expires_in_s)}` : ""}</p>`;
  return html`<div class="bars">${limits.map(([name, max]) => html`<${Bar} label=${name.replaceAll("_", " ")} value=${t.used?.[name] ?? 0} max=${/** @type {number} */ (max)} text="${count(t.used?.[name] ?? 0)} of ${count(/** @type {number} */ (max))}" />`)}</div>${t.expires_in_s ? html`<p class="muted small">ends in ${span(t.expires_in_s)}</p>` : ""}`;
}

/** @param {{t: any, onGone: () => void}} props */
function Row({ t, onGone }) {
  const action = useAction();
  return html`<tr><td class="break" data-name="Name"><strong><${Line} text=${t.name} max=${80} /></strong>${t.name === live.me?.name ? html` <span class="muted small">you</span>` : ""}</td><td data-name="Rights"><${Rights} t=${t} /></td><td data-name="Limits"><${Use} t=${t} /></td><td class="col-number" data-name="Running">${count(t.running)}${t.waiting ? html` <span class="muted small">+${count(t.waiting)}</span>` : ""}</td><td class="col-number" data-name="Done">${count(t.done)}</td><td class="col-number" data-name="Refused">${count(t.refused)}</td><td data-name="Last used">${t.last_used_at ? html`<${Time} at=${t.last_used_at} />` : html`<span class="muted">–</span>`}</td>
    <td class="row-actions">${t.name !== live.me?.name && html`<${Sure} label="Remove" icon="trash" sure="Remove, with all it opened?" class="quiet" disabled=${action.busy} onDo=${() => action.run(async () => (await remove(path`/v1/tokens/${t.name}`), onGone()))} />`}<${Problem} error=${action.error} /></td></tr>`;
}

/** @param {{onAdded: () => void}} props */
function Add({ onAdded }) {
  const [name, setName] = useState("");
  const [flags, setFlags] = useState(/** @type {Record<string, boolean>} */ ({}));
  const [profiles, setProfiles] = useState("");
  const [limits, setLimits] = useState(/** @type {Record<string, string>} */ ({}));
  const [made, setMade] = useState("");
  const action = useAction();
  const add = (/** @type {Event} */ e) => {
    e.preventDefault();
    action.run(async () => {
      /** @type {Record<string, any>} */
      const body = { name: name.trim(), ...Object.fromEntries(Object.entries(flags).filter(([, v]) => v)) };
      const names = profiles.split(/[\s,]+/).filter(Boolean);
      if (names.length) body.profiles = names;
      const set = Object.entries(limits).filter(([, v]) => v);
      if (set.length) body.limits = Object.fromEntries(set.map(([n, v]) => [n, Number(v)]));
      const answer = await post("/v1/tokens", body);
      setMade(answer.token);
      setName("");
      onAdded();
    });
  };
  if (made) return html`<${Card} title="The new token" class="made"><p>It is not shown again: copy it now.</p><div class="command"><code>${made}</code><${Copy} text=${made} what="copy token" /></div><button type="button" onClick=${() => setMade("")}>Done</button><//>`;
  const box = (/** @type {string} */ n, /** @type {string} */ label) => html`<label class="check"><input type="checkbox" checked=${Boolean(flags[n])} onChange=${(/** @type {any} */ e) => setFlags({ ...flags, [n]: e.target.checked })} /><span>${label}</span></label>`;
  return html`<${Card} title="Add a token"><form class="stack" onSubmit=${add}><div class="fields"><label class="field"><span>Name</span><input value=${name} required spellcheck=${false} autocomplete="off" onInput=${(/** @type {any} */ e) => setName(e.target.value)} /></label><label class="field"><span>Profiles</span><input placeholder="all" value=${profiles} spellcheck=${false} onInput=${(/** @type {any} */ e) => setProfiles(e.target.value)} /></label>
      ${LIMITS.map(([n, label]) => html`<label class="field"><span>${label}</span><input type="number" min="1" placeholder="no limit" value=${limits[n] ?? ""} onInput=${(/** @type {any} */ e) => setLimits({ ...limits, [n]: e.target.value })} /></label>`)}</div>
    <div class="row wrap">${box("grants", "may use directories and hosts")}${box("operator", "operator: sees and may do everything")}</div><${Problem} error=${action.error} /><div><button type="submit" class="primary" disabled=${action.busy || !name.trim()}>Add</button></div></form><//>`;
}

