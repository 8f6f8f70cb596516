// Drives E2B's own packages against a server. The environment says where it is (E2B_API_URL, E2B_SANDBOX_URL, E2B_API_KEY).
// Prints a line for each check, and ends with "N passed, N failed".
import { CommandExitError, FileType, Sandbox as Plain } from "e2b";
import { Sandbox } from "@e2b/code-interpreter";

let passed = 0, failed = 0;
const only = process.argv[2];

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

async function check(name, body) {
  if (only && !name.includes(only)) return;
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
});
await check("getInfo tells metadata, template, state and times", async () => {
  const info = await sandbox.getInfo();
  same([info.sandboxId, info.metadata, info.state], [sandbox.sandboxId, { who: "driver", odd: "a b&c=d%" }, "running"]);
  const seconds = (info.endAt - info.startedAt) / 1000;
  if (!(seconds > 100 && seconds < 130)) throw new Error(`${seconds} s`);
});
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
});
await check("setTimeout moves the end, connect only later", async () => {
  await sandbox.setTimeout(300_000);
  const end = (await sandbox.getInfo()).endAt;
  const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 1000 });
  same((await again.getInfo()).endAt, end);
  same((await again.commands.run("echo again")).stdout, "again\n");
});
await check("a sandbox that is not there", async () => {
  await fails(Sandbox.connect("doesnotexist"), "SandboxNotFoundError");
  await fails(Plain.getInfo("doesnotexist"), "SandboxNotFoundError");
  await fails(Plain.create("no-such-template"));
  await fails(Plain.create({ apiKey: "e2b_" + "0".repeat(64) }), "AuthenticationError");
});

await check("a snapshot is a template", async () => {
  if (!sandbox.createSnapshot) return;
  await sandbox.runCode("state = 'kept'");
  const { snapshotId } = await sandbox.createSnapshot();
  const copy = await Sandbox.create(snapshotId);
  same((await copy.runCode("state")).text, "kept");
  await copy.kill();
  same(await Sandbox.deleteSnapshot(snapshotId), true);
});
await check("fork has the memory", async () => {
  if (!sandbox.fork) return;
  await sandbox.runCode("forked = [1]");
  const [fork] = await sandbox.fork();
  const copy = fork.sandbox ?? fork;
  await copy.runCode("forked.append(2)");
  same([(await copy.runCode("forked")).text, (await sandbox.runCode("forked")).text], ["[1, 2]", "[1]"]);
  await copy.kill();
});
await check("pause and connect", async () => {
  const other = await Sandbox.create();
  await other.runCode("before = 1");
  await (other.pause ?? other.betaPause).call(other);
  same((await other.getInfo()).state, "paused");
  const again = await Sandbox.connect(other.sandboxId);
  same((await again.runCode("before")).text, "1");
  await again.kill();
});

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
  same(got.stdout.split("\n").slice(0, 2), ["hello own", "where"]);
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

// --- the end ---

await check("kill ends it", async () => {
  same((await sandbox.kill()) ?? true, true);
  same(await sandbox.isRunning(), false);
  await fails(sandbox.commands.run("true"), "SandboxNotFoundError");
});
if (only) await sandbox.kill();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
