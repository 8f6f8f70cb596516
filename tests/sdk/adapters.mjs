// The adapters for frameworks, without the frameworks: node adapters.mjs DIRECTORY-OF-SOURCES
import assert from "node:assert/strict";
import process from "node:process";
import { pathToFileURL } from "node:url";

const from = async (name) => await import(pathToFileURL(`${process.argv[2]}/${name}.js`).href);
const belljar = await from("index");
const { aiSdkSandbox } = await from("ai-sdk");
const { strandsSandbox } = await from("strands");
const client = new belljar.Client({ server: process.env.BELLJAR_URL, tokenFile: process.env.BELLJAR_TOKEN_FILE });
const session = await client.session({ profile: "open", allow: [] });
const every = Uint8Array.from({ length: 256 }, (_, i) => i);

async function text(stream) {
  return await new Response(stream).text();
}

async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

const isEnded = async (words) => (await session.commands.list()).filter((c) => c.code.includes(words)).every((c) => c.state !== "running");

async function until(ask, what) {
  for (let i = 0; i < 500; i++) {
    if (await ask()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`not in time: ${what}`);
}

// What Strands has in these places.
class Base {
  async readText(path) {
    return new TextDecoder().decode(await this.readFile(path));
  }
}
const named = (name) => class extends Error {
  constructor(...given) {
    super(name);
    this.given = given;
  }
};
const strands = { Sandbox: Base, SandboxTimeoutError: named("timeout"), SandboxAbortError: named("abort"), SandboxPathNotFoundError: named("path") };

const checks = {
  async "AI SDK: commands"() {
    const box = aiSdkSandbox(session);
    assert.match(box.description, /\/workspace/);
    assert.deepEqual(await box.run({ command: 'echo "$A"; pwd; echo e >&2; exit 3', env: { A: "é" }, workingDirectory: "/tmp" }), { exitCode: 3, stdout: "é\n/tmp\n", stderr: "e\n" });
    assert.equal((await box.run({ command: `wc -c <<'END'\n${"x".repeat(100_000)}\nEND` })).stdout, "100001\n");
    assert.equal((await box.run({ command: `exit 7 ${"#".repeat(50_000)}` })).exitCode, 7);
    await assert.rejects(box.run({ command: `true ${"#".repeat(50_000)}`, workingDirectory: "/nowhere" }), belljar.InvalidError);
    await assert.rejects(box.run({ command: "true", abortSignal: AbortSignal.abort(new Error("mine")) }), /mine/);
    await assert.rejects(box.run({ command: "sleep 601", abortSignal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
    await until(() => isEnded("sleep 601"), "the signal kills the command");
  },

  async "AI SDK: files"() {
    const box = aiSdkSandbox(session);
    for (const path of ["a/b", "/tmp/c d/e", "/workspace/x/../f", "'; touch evil #"]) {
      await box.writeBinaryFile({ path, content: every });
      assert.deepEqual(await box.readBinaryFile({ path }), every);
      await box.writeFile({ path, content: new Blob(["from a stream"]).stream() });
      assert.equal(await text(await box.readFile({ path })), "from a stream");
      assert.deepEqual(await box.stat({ path }), { type: "file", size: 13 });
    }
    assert.equal(await box.stat({ path: "evil" }), null);
    await box.writeTextFile({ path: "t", content: "1\n2\n3" });
    assert.equal(await box.readTextFile({ path: "t" }), "1\n2\n3");
    assert.equal(await box.readTextFile({ path: "t", startLine: 2, endLine: 9 }), "2\n3");
    assert.equal(await box.readTextFile({ path: "t", startLine: 2, endLine: 2 }), "2\n");
    await assert.rejects(box.readTextFile({ path: "t", startLine: 0 }), belljar.InvalidError);
    await box.writeTextFile({ path: "l", content: "é", encoding: "latin1" });
    assert.deepEqual(await box.readBinaryFile({ path: "l" }), Uint8Array.of(0xe9));
    assert.equal(await box.readTextFile({ path: "l", encoding: "latin1" }), "é");
    await assert.rejects(box.writeTextFile({ path: "l", content: "é", encoding: "ascii" }), belljar.InvalidError);
    await assert.rejects(box.writeTextFile({ path: "l", content: "é", encoding: "utf-16" }), belljar.InvalidError);
    for (const ask of ["readFile", "readBinaryFile", "readTextFile", "stat", "listDirectory"]) assert.equal(await box[ask]({ path: "none" }), null, ask);
    assert.equal(await box.deleteFile({ path: "none" }), false);

    await box.run({ command: "mkdir d; touch d/f; ln -s f d/l; mkdir d/s; ln -s none d/n; mkfifo d/p; ln -s d ld; echo old > x.sh; chmod 755 x.sh" });
    const listed = (await box.listDirectory({ path: "ld" })).map(({ name, type }) => `${name} ${type}`).sort();
    assert.deepEqual(listed, ["f file", "l symlink", "n symlink", "p other", "s directory"]);
    assert.deepEqual(await box.stat({ path: "ld" }), { type: "directory", size: (await box.stat({ path: "d" })).size });
    assert.equal((await box.stat({ path: "d/p" })).type, "other");
    assert.equal(await box.stat({ path: "d/n" }), null);
    await box.writeTextFile({ path: "x.sh", content: "echo new" });
    assert.equal((await box.run({ command: "./x.sh" })).stdout, "new\n");
    assert.equal(await box.deleteFile({ path: "d/l" }), true);
    assert.equal((await box.stat({ path: "d/f" })).type, "file");
    for (const [ask, path] of [["writeTextFile", "d"], ["deleteFile", "d"], ["listDirectory", "t"], ["readFile", "d"], ["readFile", "d/p"]]) {
      await assert.rejects(box[ask]({ path, content: "x" }), belljar.InvalidError, ask);
    }
    await assert.rejects(box.writeTextFile({ path: "/usr/x", content: "x" }), belljar.DeniedError);
    await assert.rejects(box.readFile({ path: "" }), belljar.InvalidError);
    const left = (await box.run({ command: "ls -A" })).stdout;
    assert.ok(!left.includes(".belljar"), left);
  },

  async "AI SDK: processes"() {
    const box = aiSdkSandbox(session);
    const plain = await box.spawn({ command: "echo out; echo err >&2; exit 4" });
    assert.ok(!("stdin" in plain));
    assert.deepEqual([await text(plain.stdout), await text(plain.stderr), await plain.wait()], ["out\n", "err\n", { exitCode: 4 }]);

    const cat = await box.spawn({ command: "wc -c; echo end", stdin: true });
    const writer = cat.stdin.getWriter();
    await writer.write(new Uint8Array(1_500_000));
    await writer.close();
    assert.deepEqual([await text(cat.stdout), (await cat.wait()).exitCode], ["1500000\nend\n", 0]);

    const ready = await box.spawn({ command: "echo ready; sleep 602" });
    const reader = ready.stdout.getReader();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "ready\n");
    await ready.kill();
    await ready.kill();
    assert.equal((await ready.wait()).exitCode, 130);

    const control = new AbortController();
    const aborted = await box.spawn({ command: "sleep 603", abortSignal: control.signal });
    control.abort(new Error("mine"));
    await assert.rejects(aborted.wait(), /mine/);
    assert.ok(await isEnded("sleep 603"));
  },

  async "Strands: commands and code"() {
    const tools = [{ name: "a tool" }];
    const box = new (strandsSandbox(strands))(session, { tools });
    assert.ok(box instanceof Base);
    assert.deepEqual(box.getTools(), tools);
    const chunks = await all(box.executeStreaming('echo "$A"; pwd; exit 3', { env: { A: "é" }, cwd: "/tmp" }));
    assert.deepEqual(chunks.at(-1), { type: "executionResult", exitCode: 3, stdout: "é\n/tmp\n", stderr: "", outputFiles: [] });
    assert.equal(chunks.slice(0, -1).map((c) => c.data).join(""), "é\n/tmp\n");
    assert.ok(chunks.slice(0, -1).every((c) => c.type === "streamChunk" && c.streamType === "stdout"));
    for (const [language, code] of [["python3", "print('it''s')"], ["node", "console.log(`its`)"], ["bash", "echo its"]]) {
      assert.equal((await all(box.executeCodeStreaming(code, language))).at(-1).stdout, "its\n", language);
    }
    await assert.rejects(all(box.executeCodeStreaming("1", "sh -c")), belljar.InvalidError);
    await assert.rejects(all(box.executeStreaming("echo so far; sleep 604", { timeout: 1 })), (e) => e instanceof strands.SandboxTimeoutError && e.given[1] === "so far\n");
    await assert.rejects(all(box.executeStreaming("sleep 605", { signal: AbortSignal.timeout(100) })), strands.SandboxAbortError);
    await assert.rejects(all(box.executeStreaming("true", { signal: AbortSignal.abort() })), strands.SandboxAbortError);
    for await (const _ of box.executeStreaming("echo x; sleep 606")) break;
    await until(() => isEnded("sleep 60"), "leaving the loop and the signal kill the command");
  },

  async "Strands: files"() {
    const box = new (strandsSandbox(strands))(session);
    await box.writeFile("/tmp/s/f", every);
    assert.deepEqual(await box.readFile("/tmp/s/f"), every);
    await box.writeFile("text", new TextEncoder().encode("é"));
    assert.equal(await box.readText("text"), "é");
    assert.deepEqual(await box.listFiles("/tmp/s"), [{ name: "f", isDir: false, size: 256 }]);
    await box.removeFile("/tmp/s/f");
    await assert.rejects(box.removeFile("/tmp/s/f"), belljar.NotFoundError);
    await assert.rejects(box.readFile("/tmp/s/f"), belljar.NotFoundError);
    await assert.rejects(box.listFiles("/tmp/none"), strands.SandboxPathNotFoundError);
  },
};

try {
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
    } catch (error) {
      console.log(`FAILED ${name}`);
      throw error;
    }
    console.log(name);
  }
} finally {
  await session.close();
}
