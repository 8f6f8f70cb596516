// What the client for TypeScript has beside the cases that all clients share: signals, disposal, callbacks, streams, a `fetch` of one's own.
// own.mjs MODULE: with BELLJAR_URL and BELLJAR_TOKEN_FILE of a server, whose Unix socket is the usual one. Prints the name of each check.
import assert from "node:assert/strict";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

const belljar = await import(pathToFileURL(process.argv[2]).href);
const { Client } = belljar;
const client = new Client({ server: process.env.BELLJAR_URL, tokenFile: process.env.BELLJAR_TOKEN_FILE });
const SLEEP = "import time\nprint('x', flush=True)\ntime.sleep(600)";

async function until(ask, what) {
  for (let i = 0; i < 500; i++) {
    if (await ask()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`not in time: ${what}`);
}

const isIdle = async () => (await client.runs({ state: "live" })).length === 0;

// A `fetch` that answers with these bodies, one after the other, and counts.
function answers(...bodies) {
  const seen = [];
  const fetch = async (url, init) => {
    seen.push({ url, ...init });
    const body = bodies[Math.min(seen.length, bodies.length) - 1];
    return body instanceof Response ? body : new Response(body, { status: 200 });
  };
  return Object.assign(fetch, { seen });
}

const faked = (fetch, more = {}) => new Client({ server: "http://127.0.0.1:1", token: "secret", fetch, ...more });

const checks = {
  async "the usual server is the user's own socket"() {
    const own = new Client();
    assert.equal((await own.run("6 * 7")).value, 42);
    await using(await own.session(), async (session) => {
      assert.equal(await session.files.write("f", pieces(20)), 2_000_000);
      let size = 0;
      for await (const chunk of session.files.chunks("f")) size += chunk.length;
      assert.equal(size, 2_000_000);
    });
    for await (const event of own.stream(SLEEP)) if (event.kind === "stdout") break;
    await until(isIdle, "leaving the loop ends the run");
    await assert.rejects(own.run(SLEEP, { signal: AbortSignal.timeout(200) }), { name: "TimeoutError" });
    await until(isIdle, "the signal ends the run");
    await assert.rejects(own.run("1", { stdin: "x".repeat(9_000_000) }), belljar.TooLargeError);
    own.close();
  },

  async "a signal ends the run"() {
    await assert.rejects(client.run(SLEEP, { signal: AbortSignal.timeout(200) }), { name: "TimeoutError" });
    await until(isIdle, "the run ends");
  },

  async "a signal ends the run of a stream, also between two events"() {
    const control = new AbortController();
    const events = client.stream(SLEEP, { signal: control.signal });
    assert.equal((await events.next()).value.kind, "start");
    control.abort(new Error("mine"));
    await until(async () => (await client.result(events.runId))?.status === "cancelled", "the run is cancelled");
    await assert.rejects(events.next(), /mine/);
  },

  async "an aborted signal sends nothing"() {
    const fetch = answers("{}");
    await assert.rejects(faked(fetch).run("1", { signal: AbortSignal.abort() }), { name: "AbortError" });
    assert.equal(fetch.seen.length, 0);
  },

  async "a session ends with its block"() {
    const session = await client.session();
    await session[Symbol.asyncDispose]();
    await assert.rejects(client.getSession(session.id), belljar.NotFoundError);
  },

  async "callbacks get what they ask for"() {
    const said = { out: "", progress: [], kinds: [] };
    const result = await client.stream("from belljar import progress\nprint('é', flush=True)\nprogress(1, 2)").wait({
      onStdout: (text) => (said.out += text),
      onProgress: async (progress) => said.progress.push(progress.done),
      onEvent: (event) => said.kinds.push(event.kind),
    });
    assert.ok(result.ok);
    assert.deepEqual([said.out, said.progress, said.kinds.at(-1)], ["é\n", [1], "result"]);
    await assert.rejects(client.stream(SLEEP).wait({ onStdout: () => assert.fail("mine") }), /mine/);
    await until(isIdle, "an error of a callback ends the run");
  },

  async "a callback answers a question"() {
    const name = `s${Date.now()}`;
    await client.skills.save(name, "x = 1\n", { description: "old" });
    const code = `from execution_runtime import save_skill\nsave_skill('${name}', 'x = 2', 'new')\nprint('went on')`;
    const asked = [];
    const refused = await client.stream(code).wait({ onApproval: (a) => (asked.push(a.call), false) });
    assert.match(refused.stderr, /not approved/);
    assert.deepEqual(asked, ["skills.save"]);
    assert.equal((await client.stream(code).wait({ onApproval: async () => true })).stdout, "went on\n");
    await client.skills.delete(name);
  },

  async "streams are sent and read in pieces"() {
    await using(await client.session(), async (session) => {
      assert.equal(await session.files.write("f", pieces(20)), 2_000_000);
      assert.equal(await session.files.write("g", new Blob(["é"])), 2);
      assert.equal(await session.files.text("g"), "é");
      for await (const _ of session.files.chunks("f")) break;
      assert.equal((await session.run("import os\nos.path.getsize('f')")).value, 2_000_000);
    });
  },

  async "many at once"() {
    const results = await Promise.all(Array.from({ length: 8 }, (_, i) => client.run(`print(${i})`)));
    assert.deepEqual(results.map((r) => r.stdout), Array.from({ length: 8 }, (_, i) => `${i}\n`));
  },

  async "events are read whole, wherever they are cut"() {
    const text = `: hello\r\nid: 1\nevent: start\ndata: {"id":"run_1"}\n\nid: 2\nevent: stdout\ndata: {"text":\ndata: "é💡","offset":0}\n\nevent: result\ndata: {"id":"run_1","status":"success"}\n\n`;
    const bytes = new TextEncoder().encode(text);
    for (let size = 1; size < bytes.length; size += 7) {
      const body = new ReadableStream({
        start(control) {
          for (let at = 0; at < bytes.length; at += size) control.enqueue(bytes.slice(at, at + size));
          control.close();
        },
      });
      const seen = [];
      for await (const event of faked(answers(body)).stream("1")) seen.push([event.kind, event.id, event.data.text]);
      assert.deepEqual(seen, [["start", 1, undefined], ["stdout", 2, "é💡"], ["result", null, null]]);
    }
  },

  async "a stream that ends early is asked for again, after its last event, and not for ever"() {
    const first = 'id: 1\nevent: start\ndata: {"id":"run_1"}\n\nid: 7\nevent: stdout\ndata: {"text":"a"}\n\nid: 8\nev';
    const fetch = answers(first, "", "", "");
    const events = faked(fetch).stream("1");
    await assert.rejects(events.wait(), belljar.Unreachable);
    const asked = fetch.seen.map((one) => `${one.method} ${new URL(one.url).pathname} ${one.headers["Last-Event-ID"] ?? ""}`);
    assert.deepEqual(asked, ["POST /v1/run ", "GET /v1/runs/run_1/events 7", "GET /v1/runs/run_1/events 7", "POST /v1/runs/run_1/cancel "]);
  },

  async "an event has a limit, also one of empty lines"() {
    let left = 200;
    const body = () =>
      new ReadableStream({
        pull(control) {
          if (left-- > 0) control.enqueue(new TextEncoder().encode("data:\n".repeat(1000)));
          else control.close();
        },
      });
    const one = faked(async () => new Response(body()), { maxAnswerBytes: 10_000, retries: 0 });
    await assert.rejects(one.stream("1").wait(), { name: "ProtocolError", message: /longer/ });
    assert.ok(left > 100);
  },

  async "silence has a limit"() {
    const fetch = (_, init) => new Promise((_, reject) => init.signal.addEventListener("abort", () => reject(init.signal.reason)));
    await assert.rejects(faked(fetch, { timeoutMs: 50 }).run("1"), { name: "Unreachable", code: "timeout" });
  },

  async "what cannot be JSON is refused"() {
    const fetch = answers("{}");
    await assert.rejects(faked(fetch).run("1", { timeout_s: NaN }), belljar.InvalidError);
    await assert.rejects(faked(fetch).run("1", { timeout_s: 1n }), belljar.InvalidError);
    await assert.rejects(faked(fetch).run("1", { files: { a: 5 } }), belljar.InvalidError);
    assert.equal(fetch.seen.length, 0);
  },

  async "an answer changes nothing but its result"() {
    const result = await faked(answers('{"id":"a","status":"success","__proto__":{"ok":false},"constructor":1,"orThrow":2}')).run("1");
    assert.ok(result instanceof belljar.Result && result.ok && result.orThrow() === result);
    assert.equal({}.ok, undefined);
    for (const body of ["null", '"x"', '{"id":1,"status":"success"}', '{"id":"a","status":"success","stdout":5}', '{"id":"a","status":"success","displays":{}}']) {
      await assert.rejects(faked(answers(body)).run("1"), belljar.ProtocolError, body);
    }
  },

  async "a token is in no text"() {
    const fetch = answers(Response.error());
    const one = faked(fetch);
    assert.ok(!inspect(one, { depth: 9, showHidden: true }).includes("secret") && !JSON.stringify(one).includes("secret"));
    const error = await one.run("1").catch((e) => e);
    assert.ok(error instanceof belljar.BelljarError && !inspect(error, { depth: 9 }).includes("secret"));
    assert.throws(() => new Client({ server: "http://example.org", token: "secret" }), /unencrypted/);
    assert.throws(() => new Client({ server: "http://example.org", tokenFile: "/nonexistent" }), /unencrypted/);
    await assert.rejects(faked(answers("{}"), { token: "a\r\nX: y" }).run("1"), belljar.InvalidError);
  },

  async "options that a client does not have are refused"() {
    for (const given of ["http://127.0.0.1:1", new URL("http://127.0.0.1:1"), null, 5, { url: "http://127.0.0.1:1" }]) {
      assert.throws(() => new Client(given), { name: "InvalidError", message: /an object with options|no option `url`/ });
    }
  },

  async "a failed program can be thrown"() {
    const failed = await client.run("1 / 0");
    assert.throws(() => failed.orThrow(), (e) => e instanceof belljar.ProgramFailed && e.result === failed && /ZeroDivisionError/.test(e.message));
  },

  async "any route can be called"() {
    assert.equal((await client.call("GET /v1/languages")).default, "python");
  },
};

// `await using`, for a Node that does not have it.
async function using(resource, use) {
  try {
    await use(resource);
  } finally {
    await resource[Symbol.asyncDispose]();
  }
}

async function* pieces(n) {
  for (let i = 0; i < n; i++) yield new Uint8Array(100_000).fill(i);
}

for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
  } catch (error) {
    console.log(`FAILED ${name}`);
    throw error;
  }
  console.log(name);
}
