/** No token yet, or one that is no longer taken. */
import { Failure, request } from "../lib/api.js";
import { html, useEffect, useRef, useState } from "../lib/view.js";
import { Copy, Problem } from "../ui/basic.js";
import { Sign } from "../ui/icons.js";

/** @param {{failure: Failure | null, refused: boolean, onToken: (token: string) => void}} props */
export function Login({ failure, refused, onToken }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(failure);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => {
    document.title = "Belljar";
    input.current?.focus();
  }, []);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const token = text.trim();
    if (!token) return;
    setBusy(true);
    setError(null);
    try {
      if (/[^\x21-\x7e]/.test(token)) throw new Failure(0, "invalid", "a token has only visible characters of ASCII", "copy it again, as a whole");
      await request("GET", "/v1/me", { headers: { Authorization: `Bearer ${token}` }, anonymous: true });
      onToken(token);
    } catch (cause) {
      setError(cause instanceof Failure ? cause : new Failure(0, "internal", String(cause), null));
      setBusy(false);
    }
  };
  return html`<main class="login"><div class="login-box"><h1><${Sign} />Belljar</h1>
    ${refused && html`<p class="notice" role="status">The server no longer takes this token. A token of <code>belljar console</code> ends with the server, and after twelve hours.</p>`}
    <p>Open the console from a terminal:</p>
    <div class="command"><code>belljar console</code><${Copy} text="belljar console" what="copy command" /></div>
    <form onSubmit=${submit}><label for="token">or paste a token</label>
      <div class="row"><input id="token" ref=${input} class="grow" type="password" autocomplete="off" spellcheck=${false} placeholder="bj_…" value=${text} onInput=${(/** @type {any} */ e) => setText(e.target.value)} />
      <button type="submit" class="primary" disabled=${busy || !text.trim()}>Continue</button></div></form>
    <${Problem} error=${error} />
    <p class="muted small">The token stays in this tab and is forgotten when you close it. The page talks to ${location.host} and to nobody else.</p></div></main>`;
}
