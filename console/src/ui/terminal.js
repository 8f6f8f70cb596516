/** Terminals in a session: programs on a pty, which go on when the page is closed. */
import { get, path, post, remove, tokenText } from "../lib/api.js";
import { html, useAction, useEffect, useGet, useRef, useState } from "../lib/view.js";
import { Empty, Line, Load, Problem, Status, Sure } from "./basic.js";
import { After } from "./editor.js";
import { Icon } from "./icons.js";

const WAIT_MS = 1500; // before another try
const PIECE = 60_000; // bytes in one message
const BEHIND_MAX = 256 * 1024; // bytes the emulator has not drawn yet

/** @param {{id: string}} props */
export function Terminals({ id }) {
  const list = useGet(path`/v1/sessions/${id}/commands`);
  const [at, setAt] = useState("");
  const action = useAction();
  const open = () => action.run(async () => {
    const answer = await post(path`/v1/sessions/${id}/commands`, { args: ["bash", "-i"], pty: { cols: 80, rows: 24 }, background: true });
    setAt(answer.id);
    list.reload();
  });
  return html`<div class="stack"><${Problem} error=${action.error} /><${Load} of=${list} lines=${2}>${(/** @type {any} */ data) => {
    const live = data.commands.filter((/** @type {any} */ c) => c.terminal && (c.state === "running" || c.state === "waiting"));
    const shown = at || live[0]?.id;
    return html`<div class="row wrap">${live.map((/** @type {any} */ c) => html`<button type="button" class="quiet" aria-pressed=${String(c.id === shown)} onClick=${() => setAt(c.id)}><${Icon} name="terminal" /><${Line} text=${c.code || "terminal"} max=${24} /> <code>…${c.id.slice(-4)}</code></button>`)}<span class="grow"></span><button type="button" class=${shown ? "" : "primary"} disabled=${action.busy} onClick=${open}><${Icon} name="terminal" />New terminal</button></div>
      ${shown ? html`<${Screen} key=${shown} session=${id} command=${shown} onEnd=${list.reload} />` : html`<${Empty} title="No terminal is open" icon="terminal"><p class="muted">A shell in this session's sandbox, with its files and limits. It goes on when you leave this page.</p><//>`}`;
  }}<//></div>`;
}

/** @param {{session: string, command: string, onEnd: () => void}} props */
function Screen({ session, command, onEnd }) {
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  const behindRef = useRef(/** @type {HTMLElement | null} */ (null));
  const [state, setState] = useState("connecting");
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const action = useAction();
  useEffect(() => {
    let gone = false;
    let offset = -1;
    let timer = 0;
    /** @type {WebSocket | null} */
    let socket = null;
    /** @type {any} */
    let screen = null;
    const send = (/** @type {any} */ message) => socket?.readyState === 1 && socket.send(message);
    const connect = () => {
      const url = new URL(path`/v1/sessions/${session}/commands/${command}/terminal`, location.href);
      url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
      if (offset >= 0) url.searchParams.set("after", String(offset));
      const own = (socket = new WebSocket(url, ["belljar.terminal", `belljar.token.${tokenText()}`]));
      own.binaryType = "arraybuffer";
      let behind = 0;
      own.onopen = () => {
        setState("open");
        setProblem(null);
        send(JSON.stringify({ type: "resize", ...screen.size() }));
      };
      own.onmessage = ({ data }) => {
        if (typeof data === "string") return control(JSON.parse(data));
        offset += data.byteLength;
        behind += data.byteLength;
        // The connection is given up, and taken again from there, rather than filling the memory of the tab.
        if (behind > BEHIND_MAX * 16) own.close();
        return screen.write(new Uint8Array(data), () => (behind -= data.byteLength));
      };
      own.onclose = () => {
        if (gone || ended) return;
        setState("lost");
        timer = window.setTimeout(() => get(path`/v1/sessions/${session}/commands/${command}`, { query: { wait: "false" } }).then((r) => (r.status === "running" || r.status === "waiting" ? connect() : end(r.status)), (e) => (e.status === 404 ? end("ended") : (timer = window.setTimeout(connect, WAIT_MS)))), WAIT_MS);
      };
    };
    let ended = false;
    const end = (/** @type {string} */ status) => {
      ended = true;
      setState(status);
      onEnd();
    };
    const control = (/** @type {any} */ message) => {
      if (message.type === "start") offset = message.offset;
      else if (message.type === "dropped") {
        offset += message.bytes;
        screen.write(`\r\n[${message.bytes} bytes are no longer kept]\r\n`, () => {});
      } else if (message.type === "exit") end(message.status ?? "ended");
      else if (message.type === "error") setProblem(message.error);
    };
    import("../terminal.js").then(({ makeTerminal }) => {
      if (gone || !host.current) return;
      const style = getComputedStyle(host.current);
      const colour = (/** @type {string} */ name) => {
        const probe = document.createElement("i");
        probe.style.color = `var(--${name})`;
        host.current?.append(probe);
        const value = getComputedStyle(probe).color;
        probe.remove();
        return value;
      };
      screen = makeTerminal(host.current, {
        font: style.getPropertyValue("--mono"), colour,
        onKeys: (bytes) => {
          for (let from = 0; from < bytes.length; from += PIECE) send(bytes.slice(from, from + PIECE));
        },
        onLeave: () => behindRef.current?.focus(),
        onSize: (cols, rows) => send(JSON.stringify({ type: "resize", cols, rows })),
      });
      screen.focus();
      connect();
    });
    return () => {
      gone = true;
      clearTimeout(timer);
      socket?.close();
      screen?.destroy();
    };
  }, []);
  const words = { connecting: "connecting", open: "connected", lost: "not connected; trying again" };
  const isLive = state in words;
  return html`<div class="output terminal-box"><div class="output-head">${isLive ? html`<span class="status tone-${state === "open" ? "good" : "calm"}"><${Icon} name=${state === "open" ? "check" : "clock"} />${words[/** @type {"open"} */ (state)]}</span>` : html`<${Status} state=${state} />`}<span class="grow"></span><span class="muted small desktop-only"><kbd>Shift</kbd> <kbd>Esc</kbd> leaves</span>
      ${isLive && html`<${Sure} label="Kill" icon="stop" sure="Kill it?" class="quiet" disabled=${action.busy} onDo=${() => action.run(() => remove(path`/v1/sessions/${session}/commands/${command}`))} />`}</div>
    ${problem && html`<p class="trouble"><${Icon} name="warn" /><span><${Line} text=${problem.message} max=${600} />${problem.hint && html` <span class="muted">hint: <${Line} text=${problem.hint} max=${600} /></span>`}</span></p>`}<${Problem} error=${action.error} />
    <div class="terminal-host" ref=${host} tabindex="-1"></div><${After} box=${behindRef} /></div>`;
}
