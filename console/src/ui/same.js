/** "The same with": curl, Python, TypeScript, MCP. */
import { snippets } from "../lib/snippets.js";
import { html, useState } from "../lib/view.js";
import { Copy, Tabs } from "./basic.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icons.js";

const TOKEN = "export BELLJAR_TOKEN=$(cat ~/.local/state/belljar/token)";

/** @param {{call: import("../lib/snippets.js").Call}} props */
export function Same({ call }) {
  const [open, setOpen] = useState(false);
  return html`<button type="button" class="quiet" onClick=${() => setOpen(true)}><${Icon} name="code" />As code</button>
    ${open && html`<${Dialog} title="The same as code" onClose=${() => setOpen(false)}><${SameBody} call=${call} /><//>`}`;
}

/** @param {{call: import("../lib/snippets.js").Call}} props */
export function SameBody({ call }) {
  const list = snippets(location.origin, call);
  const [at, setAt] = useState("curl");
  const shown = list.find((s) => s.name === at) ?? list[0];
  return html`<div class="stack"><${Tabs} label="language" tabs=${list.map((s) => [s.name, s.name])} at=${shown.name} onPick=${setAt} />
    <div class="snippet"><pre tabindex="0" aria-label=${shown.name}>${shown.text}</pre><${Copy} text=${shown.text} what="copy code" /></div>
    ${shown.name === "MCP" ? html`<p class="muted small">A message for <code>/mcp</code>; agents send it when they call the tool. Profile, limits and grants are those of the server's settings.</p>`
      : html`<p class="muted small">The token is read from the environment. On the host of the server:</p><div class="command"><code>${TOKEN}</code><${Copy} text=${TOKEN} what="copy command" /></div>`}</div>`;
}
