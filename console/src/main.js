/** The console starts here: whose token, then the pages. */
import { post, loadToken, onRefused, setToken, Failure } from "./lib/api.js";
import * as live from "./lib/live.js";
import { readPlace } from "./lib/place.js";
import { html, render } from "./lib/view.js";
import { App } from "./app.js";
import { applyTheme } from "./ui/theme.js";

/** A token or a one-time code comes behind the `#`, which no server sees. It is out of the address before anything else happens. */
function takeSecret() {
  const match = /^#(token|code)=(.+)$/.exec(location.hash);
  if (!match) return null;
  history.replaceState(null, "", `${location.pathname}#/`);
  let value = match[2];
  try {
    value = decodeURIComponent(value);
  } catch {
    // as it is
  }
  return { kind: match[1], value };
}

async function main() {
  const secret = takeSecret();
  readPlace();
  applyTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  loadToken();
  /** @type {Failure | null} */
  let failure = null;
  if (secret?.kind === "token") setToken(secret.value);
  else if (secret) {
    try {
      const answer = await post("/v1/console/token", { code: secret.value }, { anonymous: true });
      setToken(answer.token);
    } catch (error) {
      failure = error instanceof Failure ? error : new Failure(0, "internal", String(error), null);
    }
  }
  onRefused(() => live.stop());
  const root = document.createElement("div");
  root.id = "app";
  document.body.append(root);
  render(html`<${App} failure=${failure} />`, root);
}

main();
