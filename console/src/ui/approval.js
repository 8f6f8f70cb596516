/** A call that waits for a person: what exactly, for whom, how long. Yes or no. */
import { path, post } from "../lib/api.js";
import { placeHash } from "../lib/filter.js";
import { count, span } from "../lib/format.js";
import { scope } from "../lib/live.js";
import { html, useAction, useGet, useRef, useState, useTick } from "../lib/view.js";
import { Facts, Id, Line, Problem, Text } from "./basic.js";
import { Code } from "./code.js";
import { Icon } from "./icons.js";

/** @param {{approval: any, onAnswer?: (approved: boolean) => void, hasProgram?: boolean}} props  hasProgram: the page shows it already */
export function ApprovalCard({ approval: a, onAnswer, hasProgram }) {
  useTick();
  const action = useAction();
  const record = useGet(hasProgram || !a.run_id ? null : path`/v1/runs/${a.run_id}/record`, { query: scope() }).data;
  const since = useRef(Date.now());
  const [accepts, setAccepts] = useState(false);
  const [answer, setAnswer] = useState(/** @type {boolean | null} */ (null));
  const left = (a.expires_in_s ?? 0) - (Date.now() - since.current) / 1000;
  const hidden = a.hidden_bytes > 0 || a.has_invisible;
  const give = (/** @type {boolean} */ approve) => action.run(async () => {
    /** @type {Record<string, any>} */
    const body = { approve, approval_id: a.approval_id };
    if (approve && a.sha256) body.sha256 = a.sha256;
    if (approve && a.hidden_bytes > 0) body.accept_hidden = a.hidden_bytes;
    await post(path`/v1/runs/${a.run_id}/approve`, body);
    setAnswer(approve);
    onAnswer?.(approve);
  });
  const text = typeof a.arguments === "string" ? a.arguments : JSON.stringify(a.arguments, null, 2);
  return html`<article class="approval card" aria-label="a call waits: ${String(a.call).slice(0, 80)}"><header class="approval-head"><${Icon} name="approvals" /><h2 class="break"><code><${Line} text=${a.call} max=${300} /></code></h2>
      <span class="grow"></span><span class="tabular ${left < 30 ? "tone-bad" : "muted"}" role="timer"><${Icon} name="clock" /> ${left > 0 ? `${span(left)} left` : "time is up"}</span></header>
    <div class="card-body stack">
      <pre class="terminal wraps approval-arguments" tabindex="0" aria-label="arguments"><${Text} text=${text ?? "no arguments"} /></pre>
      <${Facts} rows=${[["asked by", a.owner ? html`<${Line} text=${a.owner} />` : null], ["run", a.run_id ? html`<${Id} id=${a.run_id} href=${placeHash(["runs", a.run_id])} short />` : null], ["session", a.session_id ? html`<${Id} id=${a.session_id} href=${placeHash(["sessions", a.session_id])} short />` : null], ["SHA-256", a.sha256 ? html`<${Id} id=${a.sha256} short />` : null]]} />
      ${record?.code?.text && html`<div class="output"><${Code} code=${record.code.text} language=${record.start?.language ?? "python"} label="program that asks" /></div>`}
      ${hidden && html`<label class="notice check"><input type="checkbox" checked=${accepts} onChange=${(/** @type {any} */ e) => setAccepts(e.target.checked)} /><span>${a.hidden_bytes > 0 ? `${count(a.hidden_bytes)} bytes of these arguments are masked: you do not see all of what will be sent.` : "These arguments contain characters that cannot be seen; they are marked."} I have read this.</span></label>`}
      <${Problem} error=${action.error} />
      ${answer === null ? html`<div class="approval-answers"><button type="button" class="big" disabled=${action.busy} onClick=${() => give(false)}><${Icon} name="cross" />No</button>
        <button type="button" class="big primary" disabled=${action.busy || (hidden && !accepts)} onClick=${() => give(true)}><${Icon} name="check" />Yes, do it</button></div>` : html`<p class="status tone-${answer ? "good" : "calm"}" role="status"><${Icon} name=${answer ? "check" : "cross"} />${answer ? "approved" : "refused"}</p>`}</div></article>`;
}
