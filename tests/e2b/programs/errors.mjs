// Everything that goes wrong has the class that the packages' documentation names, and says why.
import { strict as assert } from "node:assert";
import * as e2b from "@e2b/code-interpreter";

const { Sandbox } = e2b;
const NOBODY = "abcdefghijklmnopqrstuvwxyz";
const sandbox = await Sandbox.create({ metadata: { who: "errors" } });

/** @param {string} name @param {RegExp} words @param {() => Promise<any>} body */
async function fails(name, words, body) {
  try {
    await body();
  } catch (error) {
    assert.ok(e2b[name] && error instanceof e2b[name], `${error.constructor.name}, not ${name}: ${error.message}`);
    assert.match(error.message, words);
    return error;
  }
  return assert.fail(`${name} was expected: ${body}`);
}

await fails("NotFoundError", /nothing.*no such file/, () => sandbox.files.read("nothing.txt"));
await fails("NotFoundError", /no such file/, () => sandbox.files.list("nothing"));
await fails("NotFoundError", /not found/, () => sandbox.commands.sendStdin(99999, "x"));
await fails("NotFoundError", /nope/, () => sandbox.runCode("1", { context: { id: "nope" } }));
await fails("SandboxNotFoundError", /not found/, () => Sandbox.connect(NOBODY));
await fails("SandboxNotFoundError", /not found/, () => Sandbox.getInfo(NOBODY));
await fails("InvalidArgumentError", /directory/, () => sandbox.files.read("/home/user"));
await fails("InvalidArgumentError", /does not exist/, () => sandbox.commands.run("pwd", { cwd: "/home/user/nothing" }));
await fails("AuthenticationError", /bob/, () => sandbox.commands.run("id", { user: "bob" }));
await fails("AuthenticationError", /e2b_/, () => Sandbox.list({ apiKey: `e2b_${"0".repeat(64)}` }).nextItems());
await fails("TimeoutError", /timeoutMs/, () => sandbox.commands.run("sleep 60", { timeoutMs: 500 }));
await fails("TimeoutError", /timeoutMs/, () => sandbox.runCode("import time\ntime.sleep(60)", { timeoutMs: 500 }));
assert.equal((await sandbox.runCode("6 * 7")).text, "42");
const ended = await fails("CommandExitError", /7/, () => sandbox.commands.run("echo out; echo err >&2; exit 7"));
assert.deepEqual([ended.exitCode, ended.stdout, ended.stderr], [7, "out\n", "err\n"]);
await fails("SandboxError", /limit.*100/, () => Sandbox.list({ limit: 1000 }).nextItems());
await fails("SandboxError", /no-such-template/, () => Sandbox.create("no-such-template"));
assert.deepEqual([await Sandbox.kill(NOBODY), await sandbox.commands.kill(99999), await sandbox.files.exists("nothing")], [false, false, false]);

// What a program meets that counts on a network says what is missing.
const alone = await sandbox.runCode("import urllib.request\nurllib.request.urlopen('http://example.org', timeout=5)");
assert.equal(alone.error.name, "URLError");
assert.match(alone.logs.stderr.join(""), /^hint: no host is granted/m);
const exit = await sandbox.runCode("import sys\nsys.exit(3)");
assert.deepEqual([exit.error.name, exit.error.value], ["SystemExit", "3"]);

await sandbox.kill();
assert.equal(await sandbox.isRunning(), false);
await fails("SandboxNotFoundError", /running/, () => sandbox.commands.run("true"));
await fails("TimeoutError", /timeout/, () => sandbox.runCode("1"));
console.log("done");
process.exit(); // the package's own timers of failed calls would keep it for a minute
