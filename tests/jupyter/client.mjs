// JupyterLab's own client library against a server: what its users do. Prints a line for each step; fails with the first that does not hold.
// Usage: node client.mjs LIBRARY URL TOKEN
import { createRequire } from "node:module";
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [library, url, token] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${library}/`));
const services = require("@jupyterlab/services");

function settingsOf(more) {
  return services.ServerConnection.makeSettings({
    baseUrl: `${url}/jupyter/`,
    wsUrl: `${url.replace("http", "ws")}/jupyter/`,
    token,
    appendToken: true,
    WebSocket: require("ws"),
    ...more,
  });
}

async function run(kernel, code, options = {}) {
  const said = [];
  const future = kernel.requestExecute({ code, ...options });
  future.onIOPub = (m) => said.push([m.header.msg_type, m.content]);
  future.onStdin = (m) => m.header.msg_type === "input_request" && kernel.sendInputReply({ status: "ok", value: "typed" }, m.header);
  const reply = await future.done;
  const text = (name) => said.filter(([t, c]) => t === "stream" && c.name === name).map(([, c]) => c.text).join("");
  const of = (type) => said.filter(([t]) => t === type).map(([, c]) => c);
  return { reply: reply.content, text, of, said };
}

const steps = {
  async "specifications of kernels"(s) {
    const specs = await services.KernelSpecAPI.getSpecs(s.settings);
    assert.equal(specs.default, "python3");
    assert.ok(specs.kernelspecs.bash);
  },
  async "a kernel starts and tells what it is"(s) {
    s.manager = new services.KernelManager({ serverSettings: s.settings });
    await s.manager.ready;
    s.kernel = await s.manager.startNew({ name: "python3" });
    const info = await s.kernel.info;
    assert.equal(info.language_info.name, "python");
  },
  async "a cell prints and has a value"(s) {
    const cell = await run(s.kernel, "print('hello')\n6 * 7");
    assert.equal(cell.reply.status, "ok");
    assert.equal(cell.text("stdout"), "hello\n");
    assert.equal(cell.of("execute_result")[0].data["text/plain"], "42");
  },
  async "an exception is an error message"(s) {
    const cell = await run(s.kernel, "1 / 0");
    assert.equal(cell.reply.ename, "ZeroDivisionError");
    assert.equal(cell.text("stderr"), "");
  },
  async "a display has its forms"(s) {
    const cell = await run(s.kernel, "from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))");
    assert.match(cell.of("display_data")[0].data["text/html"], /^<iframe sandbox=.*base64,[A-Za-z0-9+/=]+><\/iframe>"><\/iframe>$/);
  },
  async "input() asks the client"(s) {
    const cell = await run(s.kernel, "print('got', input('? '))", { allow_stdin: true });
    assert.match(cell.text("stdout"), /got typed/);
  },
  async "completion and inspection"(s) {
    const words = await s.kernel.requestComplete({ code: "prin", cursor_pos: 4 });
    assert.deepEqual(words.content.matches, ["print"]);
    const found = await s.kernel.requestInspect({ code: "print", cursor_pos: 5, detail_level: 0 });
    assert.ok(found.content.found);
  },
  async "comms, history and where a cell ends"(s) {
    assert.deepEqual((await s.kernel.requestCommInfo({})).content.comms, {});
    assert.equal((await s.kernel.requestHistory({ hist_access_type: "tail", output: false, raw: true, n: 1 })).content.status, "ok");
    assert.ok((await s.kernel.requestIsComplete({ code: "x" })).content.status);
  },
  async "an interrupt ends a cell"(s) {
    const future = s.kernel.requestExecute({ code: "print('begun', flush=True)\nwhile True: pass" });
    await new Promise((resolve) => (future.onIOPub = (m) => m.header.msg_type === "stream" && resolve()));
    await s.kernel.interrupt();
    assert.equal((await future.done).content.ename, "KeyboardInterrupt");
  },
  async "a restart forgets variables"(s) {
    await run(s.kernel, "x = 1");
    await s.kernel.restart();
    assert.equal((await run(s.kernel, "x")).reply.ename, "NameError");
  },
  async "a second client sees the kernel"(s) {
    const other = s.manager.connectTo({ model: s.kernel.model });
    await other.info;
    assert.equal((await run(other, "2 + 2")).of("execute_result")[0].data["text/plain"], "4");
    other.dispose();
  },
  async "a notebook has a session"(s) {
    const sessions = new services.SessionManager({ serverSettings: s.settings, kernelManager: s.manager });
    await sessions.ready;
    const session = await sessions.startNew({ path: "a.ipynb", name: "a", type: "notebook", kernel: { name: "python3" } });
    assert.equal((await run(session.kernel, "print(1)")).text("stdout"), "1\n");
    await session.setPath("b.ipynb");
    await session.shutdown();
    sessions.dispose();
  },
  async "a kernel shuts down"(s) {
    await s.kernel.shutdown();
    assert.ok(!(await services.KernelAPI.listRunning(s.settings)).some((k) => k.id === s.kernel.id));
    s.manager.dispose();
  },
  async "a wrong token is refused"(s) {
    await assert.rejects(services.KernelAPI.listRunning(settingsOf({ token: "wrong" })), /401|token/i);
  },
};

const state = { settings: settingsOf() };
for (const [name, step] of Object.entries(steps)) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("no answer")), 60000)));
  try {
    await Promise.race([step(state), late]);
  } catch (reason) {
    console.log(`FAILED ${name}: ${reason.stack}`);
    process.exit(1);
  } finally {
    clearTimeout(timer);
  }
  console.log(`ok ${name}`);
}
process.exit(0);
