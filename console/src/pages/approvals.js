/** Calls that wait for a person. */
import { scope, listen } from "../lib/live.js";
import { html, useEffect, useGet, useState } from "../lib/view.js";
import { ApprovalCard } from "../ui/approval.js";
import { go } from "../lib/place.js";
import { Empty, Head, Load } from "../ui/basic.js";
import { Icon } from "../ui/icons.js";
import { Same } from "../ui/same.js";
import { keepDraft } from "./playground.js";

const TRY = "import urllib.request\n\nprint(urllib.request.urlopen(\"http://example.org\", timeout=60).status)\n";

export function Approvals() {
  const list = useGet("/v1/approvals", { query: scope(), every_ms: 15_000 });
  const [answered, setAnswered] = useState(/** @type {any[]} */ ([]));
  useEffect(() => listen((events) => events.some((e) => e.event.startsWith("approval_")) && list.reload()), []);
  return html`<div class="page narrow"><${Head} title="Approvals" sub="Programs wait here until somebody answers, or their time is up.">
      <${Same} call=${{ method: "GET", path: "/v1/approvals", python: "for a in client.approvals():\n    print(a.call, a.arguments)\n    client.approve(a, True)", typescript: "for (const a of await client.approvals()) {\n  console.log(a.call, a.arguments);\n  await client.approve(a, true);\n}" }} /></${Head}>
    <${Load} of=${list}>${(/** @type {any} */ data) => {
      const done = new Set(answered.map((a) => a.approval_id));
      const waiting = data.approvals.filter((/** @type {any} */ a) => !done.has(a.approval_id));
      return html`<div class="stack">${waiting.map((/** @type {any} */ a) => html`<${ApprovalCard} key=${a.approval_id} approval=${a} onAnswer=${(/** @type {boolean} */ yes) => setAnswered((old) => [{ ...a, yes }, ...old].slice(0, 20))} />`)}
        ${!waiting.length && html`<${Empty} title="Nothing waits" icon="approvals"><p class="muted">When a profile asks before a call (<code>ask</code>), or a program asks for a host, the question appears here, and its number in the title of this tab.</p><button type="button" onClick=${() => (keepDraft({ code: TRY, language: "python", profile: "", net: "ask" }), go(["playground"]))}><${Icon} name="play" />Try it in the playground</button><//>`}
        ${answered.length > 0 && html`<section aria-label="answered"><h2 class="section">Answered by you</h2><ul class="items">${answered.map((a) => html`<li><span class="status tone-${a.yes ? "good" : "calm"}">${a.yes ? "approved" : "refused"}</span> <code class="grow break">${a.call}</code></li>`)}</ul></section>`}</div>`;
    }}<//></div>`;
}
