// Drives E2B's own packages against a server. The environment says where it is, and by which of the three ways (E2B_WAY).
// Prints a line for each check, and ends with "N passed, N failed, N left out".
import { readFileSync } from "node:fs";
import { CommandExitError, FileType, Sandbox as Plain } from "e2b";
import { Sandbox } from "@e2b/code-interpreter";

let passed = 0, failed = 0, left = 0;
const way = process.env.E2B_WAY;
const [, minor] = JSON.parse(readFileSync(new URL("node_modules/e2b/package.json", import.meta.url))).version.split(".").map(Number);
const only = process.argv[2]?.split("|"); // checks whose names have one of these

function same(got, wanted) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`got ${a}, expected ${b}`);
}

async function fails(promise, name) {
  try {
    await promise;
  } catch (error) {
    if (name && error.constructor.name !== name) throw new Error(`got ${error.constructor.name} (${error.message}), expected ${name}`);
    return error;
  }
  throw new Error("expected a failure");
}

// `since`: the minor version that can do it. `control`: it needs the control plane, which clients do not ask in debug mode.
async function check(name, body, { since = 0, control = false } = {}) {
  if (only && !only.some((part) => name.includes(part))) return;
  const reason = minor < since ? `since 2.${since}` : control && way === "debug" ? "not in debug mode" : undefined;
  if (reason) {
    left++;
    console.log(`left out ${name}: ${reason}`);
    return;
  }
  try {
    await body();
    passed++;
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${name}: ${error.stack}`);
  }
}

const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { who: "driver", odd: "a b&c=d%" }, envs: { GREETING: "hello" } });

// --- control plane ---

await check("create gives an id, and the sandbox runs", async () => {
  if (!/^[a-z0-9]{20,57}$/.test(sandbox.sandboxId)) throw new Error(sandbox.sandboxId);
  same(await sandbox.isRunning(), true);
}, { control: true });
await check("getInfo tells metadata, template, state and times", async () => {
  const info = await sandbox.getInfo();
  same([info.sandboxId, info.metadata, info.state], [sandbox.sandboxId, { who: "driver", odd: "a b&c=d%" }, "running"]);
  const seconds = (info.endAt - info.startedAt) / 1000;
  if (!(seconds > 100 && seconds < 130)) throw new Error(`${seconds} s`);
}, { control: true });
await check("list filters by metadata and pages", async () => {
  const other = await Plain.create({ metadata: { who: "other &" } });
  const ids = async (query, limit) => {
    const found = [], pages = Plain.list({ query, limit });
    while (pages.hasNext) found.push(...(await pages.nextItems()).map((s) => s.sandboxId));
    return found;
  };
  same(await ids({ metadata: { who: "other &" } }), [other.sandboxId]);
  same(await ids({ metadata: { who: "driver", odd: "a b&c=d%" } }), [sandbox.sandboxId]);
  same(await ids({ metadata: { who: "nobody" } }), []);
  const all = await ids(undefined, 1);
  if (!all.includes(other.sandboxId) || !all.includes(sandbox.sandboxId)) throw new Error(`${all}`);
  same((await other.kill()) ?? true, true); // older ones say nothing
  same(await Plain.kill(other.sandboxId), false);
  same(await other.isRunning(), false);
}, { control: true });
await check("setTimeout moves the end, connect only later", async () => {
  await sandbox.setTimeout(300_000);
  const end = (await sandbox.getInfo()).endAt;
  const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 1000 });
  same((await again.getInfo()).endAt, end);
  same((await again.commands.run("echo again")).stdout, "again\n");
}, { control: true });
await check("a sandbox that is not there", async () => {
  await fails(Sandbox.connect("doesnotexist"), "SandboxNotFoundError");
  await fails(Plain.getInfo("doesnotexist"), "SandboxNotFoundError");
  await fails(Plain.create("no-such-template"));
  await fails(Plain.create({ apiKey: "e2b_" + "0".repeat(64) }), "AuthenticationError");
}, { control: true });

await check("a snapshot is a template", async () => {
  await sandbox.runCode("state = 'kept'");
  const { snapshotId } = await sandbox.createSnapshot();
  const copy = await Sandbox.create(snapshotId);
  same((await copy.runCode("state")).text, "kept");
  await copy.kill();
  same(await Sandbox.deleteSnapshot(snapshotId), true);
}, { control: true });
await check("fork has the memory", async () => {
  await sandbox.runCode("forked = [1]");
  const [fork] = await sandbox.fork();
  const copy = fork.sandbox ?? fork;
  await copy.runCode("forked.append(2)");
  same([(await copy.runCode("forked")).text, (await sandbox.runCode("forked")).text], ["[1, 2]", "[1]"]);
  await copy.kill();
}, { control: true, since: 39 });
await check("pause and connect", async () => {
  const other = await Sandbox.create();
  await other.runCode("before = 1");
  await (other.pause ?? other.betaPause).call(other);
  same((await other.getInfo()).state, "paused");
  const again = await Sandbox.connect(other.sandboxId);
  same((await again.runCode("before")).text, "1");
  await again.kill();
}, { control: true });

// --- commands ---

await check("run gives output and exit code", async () => {
  const got = await sandbox.commands.run("echo out; echo err >&2");
  same([got.stdout, got.stderr, got.exitCode], ["out\n", "err\n", 0]);
});
await check("a failing command throws with its output", async () => {
  const error = await fails(sandbox.commands.run("echo before; exit 3"), "CommandExitError");
  same([error instanceof CommandExitError, error.exitCode, error.stdout], [true, 3, "before\n"]);
});
await check("variables, directory, callbacks", async () => {
  const seen = [];
  await sandbox.files.makeDir("some/where");
  const got = await sandbox.commands.run("echo $GREETING $MINE; basename $PWD; echo $HOME", {
    envs: { MINE: "own" }, cwd: "/home/user/some/where", onStdout: (text) => seen.push(text),
  });
  same(got.stdout.split("\n").slice(0, 2), [way === "debug" ? "own" : "hello own", "where"]);
  same(seen.join(""), got.stdout);
  await fails(sandbox.commands.run("true", { cwd: "/home/user/nowhere" }), "InvalidArgumentError");
});
await check("background, list, input, kill", async () => {
  const cat = await sandbox.commands.run("cat; echo done", { background: true, stdin: true });
  same((await sandbox.commands.list()).map((p) => p.pid).includes(cat.pid), true);
  await sandbox.commands.sendStdin(cat.pid, "typed\n");
  await sandbox.commands.closeStdin(cat.pid);
  same((await cat.wait()).stdout, "typed\ndone\n");
  const sleep = await sandbox.commands.run("sleep 100", { background: true });
  same(await sleep.kill(), true);
  const error = await fails(sleep.wait(), "CommandExitError");
  same([error.exitCode, error.error], [-1, "signal: killed"]);
  same(await sandbox.commands.kill(99999), false);
});
await check("connect to a command, and after its end", async () => {
  const first = await sandbox.commands.run("read line; echo got $line", { background: true, stdin: true });
  const second = await sandbox.commands.connect(first.pid);
  await sandbox.commands.sendStdin(first.pid, "x\n");
  same((await second.wait()).stdout, "got x\n");
  await first.wait();
  same((await (await sandbox.commands.connect(first.pid)).wait()).exitCode, 0);
  await fails(sandbox.commands.connect(99999), "NotFoundError");
});
await check("a time limit ends the command", async () => {
  await fails(sandbox.commands.run("sleep 60", { timeoutMs: 1000 }), "TimeoutError");
});
await check("large output arrives whole", async () => {
  const got = await sandbox.commands.run("head -c 3000000 /dev/zero | tr '\\0' x");
  same(got.stdout.length, 3000000);
});

await check("terminals", async () => {
  let text = "", wake = () => {};
  const decoder = new TextDecoder();
  const until = async (part) => {
    while (!text.includes(part)) await new Promise((resolve) => (wake = resolve));
  };
  const terminal = await sandbox.pty.create({ cols: 91, rows: 23, cwd: "/home/user", envs: { MINE: "own" }, timeoutMs: 60_000, onData: (data) => ((text += decoder.decode(data, { stream: true })), wake()) });
  const type = (line) => sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode(line));
  await type("stty -echo; stty size; echo $MINE:$TERM:$PWD; test -t 0 && echo is''terminal\n");
  await until("isterminal");
  if (!text.includes("23 91") || !text.includes("own:xterm-256color:/home/user")) throw new Error(text);
  await sandbox.pty.resize(terminal.pid, { cols: 120, rows: 40 });
  await type("stty size\n");
  await until("40 120");
  // Ctrl-C goes to whom the terminal belongs: to the shell until the program has begun.
  await type("sh -c 'echo be''gun; exec sleep 100'\n");
  await until("begun");
  await type("\x03"); // Ctrl-C
  await type("echo after$((40 + 2))\n");
  await until("after42");
  await type("exit 5\n");
  const error = await fails(terminal.wait(), "CommandExitError");
  same(error.exitCode, 5);
  const other = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {} });
  same(await sandbox.pty.kill(other.pid), true);
  same(await sandbox.pty.kill(99999), false);
});

await check("git", async () => {
  const { git, files } = sandbox;
  await git.configureUser("Driver", "driver@example.org");
  await git.init("/home/user/store.git", { bare: true, initialBranch: "main" });
  await git.clone("/home/user/store.git", { path: "/home/user/work" });
  await files.write("work/a.txt", "one\n");
  same((await git.status("/home/user/work")).untrackedCount, 1);
  await git.add("/home/user/work");
  await git.commit("/home/user/work", "Add a file");
  await git.createBranch("/home/user/work", "topic");
  const { branches, currentBranch } = await git.branches("/home/user/work");
  same([branches.sort(), currentBranch], [["main", "topic"], "topic"]);
  await files.write("work/a.txt", "two\n");
  same((await git.status("/home/user/work")).unstagedCount, 1);
  await git.restore("/home/user/work", { paths: ["a.txt"] });
  same([(await git.status("/home/user/work")).isClean, await files.read("work/a.txt")], [true, "one\n"]);
  await git.checkoutBranch("/home/user/work", "main");
  await git.deleteBranch("/home/user/work", "topic");
  await git.push("/home/user/work", { remote: "origin", branch: "main" });
  same((await sandbox.commands.run("git -C store.git log --format=%s main")).stdout, "Add a file\n");
  await fails(git.checkoutBranch("/home/user/work", "nowhere"));
});

// --- files ---

await check("write, read, in several forms", async () => {
  const info = await sandbox.files.write("a/b.txt", "text ü");
  same([info.name, info.path], ["b.txt", "/home/user/a/b.txt"]);
  same(await sandbox.files.read("/home/user/a/b.txt"), "text ü");
  same([...(await sandbox.files.read("a/b.txt", { format: "bytes" }))].length, 7);
  await sandbox.files.write("empty", "");
  same(await sandbox.files.read("empty"), "");
  await sandbox.files.write("bytes", new Uint8Array([0, 255, 10]).buffer);
  same([...(await sandbox.files.read("bytes", { format: "bytes" }))], [0, 255, 10]);
  await sandbox.files.write("stream", new Blob(["x".repeat(200000)]).stream());
  same((await sandbox.files.read("stream")).length, 200000);
});
await check("files in /tmp", async () => {
  same((await sandbox.files.write("/tmp/made/by.txt", "outside")).path, "/tmp/made/by.txt");
  same((await sandbox.commands.run("cat /tmp/made/by.txt && echo inside > /tmp/made/too.txt && ln -s by.txt /tmp/made/link")).stdout, "outside");
  same(await sandbox.files.read("/tmp/made/too.txt"), "inside\n");
  same((await sandbox.files.list("/tmp/made")).map((entry) => entry.name).filter((name) => name !== "link"), ["by.txt", "too.txt"]);
  same((await sandbox.files.rename("/tmp/made/by.txt", "from-tmp")).path, "/home/user/from-tmp");
  same([await sandbox.files.exists("/tmp/made/by.txt"), await sandbox.files.read("from-tmp")], [false, "outside"]);
  same((await sandbox.files.getInfo("/tmp/made/link")).symlinkTarget, "by.txt");
  await sandbox.files.remove("/tmp/made");
  same(await sandbox.files.exists("/tmp/made"), false);
});
await check("several files at once", async () => {
  const infos = await sandbox.files.write([{ path: "many/one", data: "1" }, { path: "/home/user/many/two", data: "22" }]);
  same(infos.map((i) => i.path), ["/home/user/many/one", "/home/user/many/two"]);
  same(await sandbox.files.read("many/two"), "22");
});
await check("list, exists, info, rename, remove, makeDir", async () => {
  same(await sandbox.files.makeDir("dir/sub"), true);
  same(await sandbox.files.makeDir("dir/sub"), false);
  await sandbox.files.write("dir/f", "12345");
  const list = await sandbox.files.list("dir");
  same(list.map((e) => [e.name, e.type, e.path]), [["f", FileType.FILE, "/home/user/dir/f"], ["sub", FileType.DIR, "/home/user/dir/sub"]]);
  const info = await sandbox.files.getInfo("dir/f");
  same([info.size, info.permissions, info.owner], [5, "-rw-r--r--", "user"]);
  same((await sandbox.files.rename("dir/f", "other/g")).path, "/home/user/other/g");
  same([await sandbox.files.exists("dir/f"), await sandbox.files.exists("other/g")], [false, true]);
  await sandbox.files.remove("dir");
  await sandbox.files.remove("dir");
  same(await sandbox.files.exists("dir"), false);
  await fails(sandbox.files.read("dir/f"), "FileNotFoundError");
  await fails(sandbox.files.list("none"), "FileNotFoundError");
  await fails(sandbox.files.rename("none", "x"), "FileNotFoundError");
  await fails(sandbox.files.read("../../etc/passwd"), "InvalidArgumentError");
});
await check("signed addresses", async () => {
  await sandbox.files.write("signed", "by address");
  const answer = await fetch(await sandbox.downloadUrl("signed"));
  same([answer.status, await answer.text()], [200, "by address"]);
  const form = new FormData();
  form.append("file", new Blob(["uploaded"]), "any");
  same((await fetch(await sandbox.uploadUrl("up"), { method: "POST", body: form })).status, 200);
  same(await sandbox.files.read("up"), "uploaded");
  const url = new URL(await sandbox.downloadUrl("signed", { useSignatureExpiration: 60 }));
  same((await fetch(url)).status, 200);
  url.searchParams.set("path", "a/b.txt");
  same((await fetch(url)).status, 401);
}, { control: true });
await check("files with gzip", async () => {
  const text = "again ".repeat(50000);
  await sandbox.files.write("packed", text, { gzip: true });
  same(await sandbox.files.read("packed", { gzip: true }) === text, true);
});
await check("files with metadata", async () => {
  await sandbox.files.write("about", "x", { metadata: { author: "me" } });
  same((await sandbox.files.getInfo("about")).metadata, { author: "me" });
}, { since: 39 });
await check("getHost names a host that leads to a server in the sandbox", async () => {
  await sandbox.files.write("site/index.html", "<b>served</b>");
  let server;
  await new Promise(async (resolve) => {
    server = await sandbox.commands.run("python3 -u -m http.server 8000 --directory site", { background: true, onStdout: (text) => text.includes("Serving") && resolve() });
  });
  const scheme = way === "hosts" ? "https" : "http", host = sandbox.getHost(8000);
  const ask = (headers) => fetch(`${scheme}://${host}/index.html`, { headers });
  const answer = await ask({ "e2b-traffic-access-token": sandbox.trafficAccessToken });
  same([answer.status, await answer.text()], [200, "<b>served</b>"]);
  same((await ask({})).status, 403);
  await server.kill();
}, { control: true });
await check("watching a directory", async () => {
  await sandbox.files.makeDir("seen/below");
  let wake = () => {};
  const events = [];
  const handle = await sandbox.files.watchDir("seen", (event) => (events.push(event), wake()), { recursive: true, ...(minor >= 51 ? { includeEntry: true } : {}) });
  const until = async (type, name) => {
    while (!events.some((event) => event.type === type && event.name === name)) await new Promise((resolve) => (wake = resolve));
  };
  await sandbox.files.write("seen/a.txt", "1");
  await until("write", "a.txt");
  await sandbox.commands.run("echo 2 >> below/b.txt; chmod 600 a.txt; mv a.txt below/c.txt; rm below/b.txt", { cwd: "/home/user/seen" });
  for (const [type, name] of [["create", "below/b.txt"], ["chmod", "a.txt"], ["rename", "a.txt"], ["create", "below/c.txt"], ["remove", "below/b.txt"]]) await until(type, name);
  if (minor >= 51) same(events.find((event) => event.name === "below/c.txt").entry.path, "/home/user/seen/below/c.txt");
  await handle.stop();
  await fails(sandbox.files.watchDir("seen/below/c.txt", () => {}));
  await fails(sandbox.files.watchDir("nowhere", () => {}), minor >= 39 ? "FileNotFoundError" : undefined);
});
await check("commands and files share the home directory", async () => {
  await sandbox.commands.run("echo shared > shared.txt");
  same(await sandbox.files.read("/home/user/shared.txt"), "shared\n");
});

// --- cells ---

await check("runCode gives the value, output and variables", async () => {
  same((await sandbox.runCode("x = 20 + 1\nx * 2")).text, "42");
  const got = await sandbox.runCode("import sys\nprint('ü€😀')\nprint('e', file=sys.stderr)\nx");
  same([got.logs.stdout.join(""), got.logs.stderr.join(""), got.text], ["ü€😀\n", "e\n", "21"]);
  same((await sandbox.runCode("y = 1")).text, undefined);
  same((await sandbox.runCode("'quoted'")).text, "quoted");
  same((await sandbox.runCode("[1, {'a': 2}]")).results[0].json, [1, { a: 2 }]);
});
await check("an error has name, value and traceback", async () => {
  const { error } = await sandbox.runCode("1/0");
  same([error.name, error.value], ["ZeroDivisionError", "division by zero"]);
  if (!error.traceback.includes("1/0") && !error.traceback.includes("ZeroDivisionError")) throw new Error(error.traceback);
  same((await sandbox.runCode("def f(:")).error.name, "SyntaxError");
});
await check("callbacks of a cell", async () => {
  const out = [], results = [], errors = [];
  await sandbox.runCode("print(1)\nfrom IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))\n1/0", {
    onStdout: (m) => out.push(m.line), onResult: (r) => results.push(r.html), onError: (e) => errors.push(e.name),
  });
  same([out.join(""), results, errors], ["1\n", ["<b>x</b>"], ["ZeroDivisionError"]]);
});
await check("bash as a language", async () => {
  same((await sandbox.runCode("echo $((6*7))", { language: "bash" })).logs.stdout.join(""), "42\n");
});
await check("contexts have variables of their own", async () => {
  const context = await sandbox.createCodeContext();
  await sandbox.runCode("z = 1");
  await sandbox.runCode("z = 2", { context });
  same([(await sandbox.runCode("z")).text, (await sandbox.runCode("z", { context })).text], ["1", "2"]);
  same((await sandbox.listCodeContexts()).map((c) => c.id).includes(context.id), true);
  await sandbox.removeCodeContext(context);
  await fails(sandbox.runCode("z", { context }));
});
await check("a client that goes interrupts the cell, and variables stay", async () => {
  await sandbox.runCode("kept = 5");
  await fails(sandbox.runCode("import time\nwhile True: time.sleep(0.05)", { timeoutMs: 1000 }), "TimeoutError");
  same((await sandbox.runCode("kept")).text, "5");
});
await check("notebook lines", async () => {
  same((await sandbox.runCode("!echo from the shell")).logs.stdout.join(""), "from the shell\n");
});

await check("variables of one cell", async () => {
  const code = "import os; os.environ.get('ONCE')", context = await sandbox.createCodeContext({ cwd: "/home/user" });
  for (const where of [{}, { context }]) {
    same((await sandbox.runCode(code, { ...where, envs: { ONCE: "1" } })).text, "1");
    same((await sandbox.runCode(code, where)).text, undefined);
  }
  same((await sandbox.runCode("echo $ONCE", { language: "bash", envs: { ONCE: "2" } })).logs.stdout.join(""), "2\n");
});
await check("contexts restart and have a directory and a language", async () => {
  const context = await sandbox.createCodeContext({ cwd: "/tmp", language: "python" });
  same((await sandbox.runCode("import os; os.getcwd()", { context })).text, "/tmp");
  same(context.language, "python");
  await sandbox.runCode("gone = 1", { context });
  await sandbox.restartCodeContext(context);
  same((await sandbox.runCode("gone", { context })).error.name, "NameError");
  await sandbox.removeCodeContext(context.id);
  const script = await sandbox.createCodeContext({ language: "javascript" });
  same((await sandbox.runCode("[1, 2].map((n) => n * 2)", { context: script })).text, "[ 2, 4 ]");
});
await check("tables and charts", async () => {
  const table = (await sandbox.runCode("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})")).results[0];
  same([table.data, table.isMainResult, table.formats().includes("data")], [{ a: [1, 2], b: ["x", "y"] }, true, true]);
  const draw = async (code) => (await sandbox.runCode(`import matplotlib.pyplot as plt\n${code}\nplt.show()`)).results[0];
  const line = await draw("plt.plot([1, 2], [3, 4], label='up'); plt.title('T'); plt.xlabel('t (s)')");
  same([line.chart.type, line.chart.title, line.chart.x_unit, line.chart.elements], ["line", "T", "s", [{ label: "up", points: [[1, 3], [2, 4]] }]]);
  same([line.chart.x_scale, line.chart.x_ticks.length > 0, line.chart.x_tick_labels.length], ["linear", true, line.chart.x_ticks.length]);
  if (!line.png.startsWith("iVBOR")) throw new Error("not a PNG");
  const types = [];
  for (const code of ["plt.scatter([1], [2])", "plt.bar(['a'], [1])", "plt.pie([1, 1])", "plt.boxplot([1, 2, 3])", "f, a = plt.subplots(2)\na[0].plot([1])\na[1].bar(['b'], [2])"])
    types.push((await draw(code)).chart.type);
  same(types, ["scatter", "bar", "pie", "box_and_whisker", "superchart"]);
});
await check("figures of its use", async () => {
  const [first] = await sandbox.getMetrics();
  same([first.cpuCount >= 1, first.memUsed > 0, first.memTotal > first.memUsed, first.diskTotal > 0, first.timestamp instanceof Date], [true, true, true, true, true]);
}, { control: true });

// --- the end ---

await check("kill ends it", async () => {
  same((await sandbox.kill()) ?? true, true);
  same(await sandbox.isRunning(), false);
  await fails(sandbox.commands.run("true"), "SandboxNotFoundError");
}, { control: true });
if (only) await sandbox.kill().catch(() => {});
console.log(`${passed} passed, ${failed} failed, ${left} left out`);
process.exit(failed ? 1 : 0);
