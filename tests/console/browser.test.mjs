/**
 * browser.test.mjs BUILD MODULES [NAME]: the console in a browser, against a server of its own. Prints "ok NAME" or "not ok NAME" for each case.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { enter, newPage, open, start } from "./browser.mjs";
import * as hostile from "./hostile.mjs";
import { Server } from "./server.mjs";
import { startStandIn } from "./standin.mjs";

const [, , build, modules, only] = process.argv;
const ROOT = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
const FIRST_PAGE_MAX = 60 * 1024;
const INTERACTIVE_MS = 300;
const CASE_MS = 240_000;
const axeSource = fs.readFileSync(path.join(modules, "node_modules/axe-core/axe.min.js"), "utf8");
const place = fs.mkdtempSync(path.join(os.tmpdir(), "bjconsole-dirs-"));
const project = path.join(place, "project");
const output = path.join(place, "out");
for (const directory of [project, output]) fs.mkdirSync(directory);
fs.writeFileSync(path.join(project, "app.py"), "RATE = 0.19\n\ndef total(price):\n    return price * RATE\n");
fs.writeFileSync(path.join(output, "old.txt"), "before\n");
const server = new Server(build, ["--allow", `${project}:cow`, "--allow", `${output}:rw`, "--net", "ask"]);
/** @type {any} */
let browser;
const figures = /** @type {Record<string, any>} */ ({});

/** @type {[string, (t: {page: any, seen: any, context: any}) => Promise<void>, any?][]} */
const cases = [];

class Skipped extends Error {}

/** @param {string} name @param {(t: {page: any, seen: any, context: any}) => Promise<void>} body @param {any} [options] */
const test = (name, body, options) => void cases.push([name, body, options]);

/** @param {any} seen @param {RegExp} [expected]  errors of the log that the case is about */
function assertClean(seen, expected) {
  // What only reads may have to wait for its turn; the page asks again.
  const errors = seen.errors.filter((/** @type {string} */ e) => !/ 429 \(Too Many Requests\)/.test(e) && !expected?.test(e));
  assert.deepEqual(errors, [], "errors in the log");
  assert.deepEqual(seen.foreign, [], "requests to another host");
  assert.deepEqual(seen.dialogs, [], "dialogs");
}

/** Everything that a page needs to have something to show. */
async function furnish() {
  await server.call("POST", "/v1/sessions", { name: "analysis", allow: [] });
  for (const code of ["x = 41\nname = 'belljar'\nprint(x + 1)", "import pandas as pd\ndf = pd.DataFrame({'month': ['Jan', 'Feb'], 'sum': [12.5, 17.25]})\ndf", "open('data.csv', 'w').write('a,b\\n1,2\\n')\nopen('app.py', 'w').write('import os\\nprint(1)\\n')", "df['missing']"])
    await server.call("POST", "/v1/sessions/analysis/execute", { code });
  await server.call("POST", "/v1/sessions/analysis/checkpoint", { name: "first" });
  await server.call("POST", "/v1/sessions", { name: "fix", allow: [`${project}:cow`] });
  const failed = await server.run("import json\njson.loads('{')", { receipt: true });
  await server.run("import os\nos.system('id')", { profile: "strict" });
  return failed;
}

/** @param {any} failed */
function addresses(failed) {
  return {
    now: "#/now", runs: "#/runs", run: `#/runs/${failed.id}`, sessions: "#/sessions", session: "#/sessions/analysis", variables: "#/sessions/analysis/variables", files: "#/sessions/analysis/files?file=app.py", checkpoints: "#/sessions/analysis/checkpoints",
    terminal: "#/sessions/analysis/terminal", about: "#/sessions/analysis/about", playground: "#/playground", changes: "#/changes", diff: "#/changes/fix", approvals: "#/approvals", audit: "#/audit", record: "#/audit/2", skills: "#/skills", skill: "#/skills/csv-profile", tokens: "#/tokens", nodes: "#/nodes", doctor: "#/doctor",
  };
}

/** @type {any} */
let failedRun;

for (const theme of ["light", "dark"]) {
  test(`every page opens, without a serious finding of axe: ${theme}`, async ({ page, seen }) => {
    await enter(page, server.url, server.token);
    for (const [name, hash] of Object.entries(addresses(failedRun))) {
      await open(page, hash);
      assertClean(seen);
      const bad = await axe(page);
      assert.deepEqual(bad, [], name);
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.ok(!isWide, `${name} is wider than the window`);
    }
  }, { colorScheme: theme });
}

test("every page fits a phone", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  for (const [name, hash] of Object.entries(addresses(failedRun))) {
    await open(page, hash);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth || /** @type {any} */ (document.querySelector("main")).scrollWidth > /** @type {any} */ (document.querySelector("main")).clientWidth);
    assert.ok(!wide, `${name} is wider than the screen`);
  }
  assertClean(seen);
}, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

/** axe runs in a world of its own, so that the page's policy stays in force. @param {any} page */
async function axe(page) {
  const session = await page.context().newCDPSession(page);
  try {
    const { frameTree } = await session.send("Page.getFrameTree");
    const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
    const run = (/** @type {string} */ expression, awaitPromise = false) => session.send("Runtime.evaluate", { expression, contextId: executionContextId, awaitPromise, returnByValue: true });
    await run(`${axeSource};0`);
    const { result, exceptionDetails } = await run(`axe.run(document, { iframes: false, resultTypes: ["violations"] }).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.nodes.slice(0, 4).map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? "")).join(" | ")))`, true);
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails).slice(0, 2000));
    return result.value;
  } finally {
    await session.detach();
  }
}

test("the token is out of the address at once, and in this tab only", async ({ page, seen, context }) => {
  await enter(page, server.url, server.token);
  assert.ok(!page.url().includes(server.token));
  assert.equal(await page.evaluate(() => sessionStorage.getItem("belljar.token")), server.token);
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  assert.deepEqual(await context.cookies(), []);
  assert.ok(!seen.requests.some((/** @type {string} */ r) => r.includes(server.token)));
  await page.goBack().catch(() => {});
  assert.ok(!page.url().includes(server.token));
  assertClean(seen);
});

test("a wrong token is refused in the server's words, a right one goes on", async ({ page, seen }) => {
  await page.goto(`${server.url}/console`);
  await page.fill("#token", "bj_wrong");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".problem");
  assert.match(await page.textContent(".problem"), /token[\s\S]*auth/);
  await page.fill("#token", server.token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("nav.nav");
  assertClean(seen, /401/);
});

test("a token that ends sends to the page that asks for one", async ({ page, seen }) => {
  await page.goto(`${server.url}/console#token=bj_nothing`);
  await page.waitForSelector(".login .notice");
  assertClean(seen, /401/);
});

test("a one-time code opens the console, and only once", async ({ page, seen }) => {
  const { path: where } = await server.call("POST", "/v1/console/codes", {});
  await page.goto(server.url + where);
  await page.waitForSelector("nav.nav");
  assert.ok(!page.url().includes("code="));
  await page.goto("about:blank");
  await page.evaluate(() => 0);
  const { page: second, context } = await newPage(browser, server.url);
  await second.goto(server.url + where);
  await second.waitForSelector(".login .problem");
  await context.close();
  assertClean(seen);
});

test("a program runs, and shows what it prints, a picture and a table", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/playground");
  await write(page, "import pandas as pd, matplotlib.pyplot as plt\nprint('\\x1b[32mgreen\\x1b[0m')\nplt.plot([1, 2])\nplt.show()\npd.DataFrame({'a': [1.5, 2]})");
  await page.keyboard.press("Shift+Enter");
  await page.waitForSelector(".execution .status.tone-good");
  assert.equal(await page.textContent(".terminal .s-fg-green"), "green");
  assert.ok(await page.evaluate(() => /** @type {any} */ (document.querySelector("img.picture")).naturalWidth > 100));
  assert.deepEqual(await page.$$eval("table.data tbody td", (/** @type {any[]} */ cells) => cells.map((c) => c.textContent)), ["1.5", "2.0"]);
  await page.click("text=As code");
  for (const name of ["Python", "TypeScript", "MCP", "curl"]) {
    await page.click(`dialog [role=tab]:has-text("${name}")`);
    assert.match(await page.textContent("dialog pre"), /matplotlib/);
  }
  assertClean(seen);
});

/** Replaces the text of the editor. @param {any} page @param {string} code */
async function write(page, code) {
  await page.waitForSelector(".editor:not(.is-loading)");
  await page.click(".cm-content");
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(code);
}

test("a running program streams its output, and stops", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/playground");
  await write(page, "import time\nprint('begun', flush=True)\ntime.sleep(60)");
  await page.keyboard.press("Shift+Enter");
  await page.waitForSelector(".terminal:has-text('begun')");
  await page.click("button:has-text('Stop')");
  await page.waitForSelector(".execution .status:has-text('cancelled')");
  assertClean(seen);
});

test("a run of somebody else is followed while it runs, and stopped", async ({ page, seen }) => {
  const { id } = await server.run("import time\nfor i in range(600):\n    print('line', i, flush=True)\n    time.sleep(0.1)", { detach: true, timeout_s: 60 });
  await enter(page, server.url, server.token);
  await open(page, `#/runs/${id}`);
  await page.waitForSelector(".terminal:has-text('line 3')");
  await page.click("button:has-text('Stop')");
  await page.click("button:has-text('Stop it?')");
  await page.waitForSelector("h1 .status:has-text('cancelled')");
  assertClean(seen);
});

test("a session: cells, variables, files, fork, checkpoint, restore", async ({ page, seen }) => {
  const { session_id } = await server.call("POST", "/v1/sessions", { allow: [] });
  await enter(page, server.url, server.token);
  await open(page, `#/sessions/${session_id}`);
  await write(page, "x = 41\nx + 1");
  await page.keyboard.press("Shift+Enter");
  await page.waitForSelector(".output-value:has-text('42')");
  await open(page, `#/sessions/${session_id}/variables`);
  await page.waitForSelector("td:has-text('41')");
  await open(page, `#/sessions/${session_id}/checkpoints`);
  await page.fill("[aria-label='name of the checkpoint']", "good");
  await page.click("button:has-text('Keep this state')");
  await page.waitForSelector("li:has-text('good')");
  await server.call("POST", `/v1/sessions/${session_id}/execute`, { code: "x = 1" });
  await page.click("button:has-text('Restore')");
  await page.click("button:has-text('Lose what came after?')");
  await page.waitForFunction(() => !document.querySelector(".items button[disabled]"));
  assert.equal((await server.call("POST", `/v1/sessions/${session_id}/execute`, { code: "x" })).result.text, "41");
  await open(page, `#/sessions/${session_id}/files`);
  await page.setInputFiles("input[type=file]", { name: "hello.txt", mimeType: "text/plain", buffer: Buffer.from("hello\u202e file\n") });
  await page.click(".file-name:has-text('hello.txt')");
  await page.waitForSelector(".preview .hidden-char");
  assert.equal(await page.textContent(".preview .hidden-char"), "\\u202e");
  await page.click("button:has-text('Fork')");
  await page.waitForFunction((/** @type {string} */ id) => !location.hash.includes(id), session_id);
  await open(page, "#/sessions");
  await page.waitForSelector(".tree.depth-1");
  assertClean(seen);
});

test("a terminal: what is typed runs, and it goes on after a look at another page", async ({ page, seen }) => {
  const { paths } = await server.call("GET", "/openapi.json");
  if (!paths["/v1/sessions/{session}/commands/{command}/terminal"]) throw new Skipped("this server has no terminals");
  const { session_id } = await server.call("POST", "/v1/sessions", { allow: [] });
  await enter(page, server.url, server.token);
  await open(page, `#/sessions/${session_id}/terminal`);
  await page.click("button:has-text('New terminal')");
  await page.waitForSelector(".terminal-box .tone-good");
  await page.keyboard.type("echo $((6 * 7))-done\n");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("42-done"));
  await open(page, "#/now");
  await open(page, `#/sessions/${session_id}/terminal`);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("42-done"));
  // A second one beside it, and back: each has its letters of one width, and a cursor.
  const isMono = () => page.waitForFunction(() => getComputedStyle(/** @type {Element} */ (document.querySelector(".xterm-rows"))).fontFamily.includes("ono"));
  await isMono();
  await page.click("button:has-text('New terminal')");
  await page.waitForSelector(".terminal-box .tone-good");
  await page.waitForFunction(() => document.querySelectorAll("button:has(code)[aria-pressed]").length === 2);
  await isMono();
  await page.click("button[aria-pressed=false]:has(code)");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("42-done"));
  await isMono();
  await page.click(".terminal-host");
  await page.keyboard.type("exit\n");
  await page.waitForFunction(() => !document.querySelector(".terminal-box .tone-good:has(+ .grow)") || document.querySelector(".terminal-box .status")?.textContent !== "connected");
  assertClean(seen);
});

test("what waits for approval is approved and denied", async ({ page, seen }) => {
  const code = "import urllib.request\ntry:\n    urllib.request.urlopen('http://nobody.example.org/', timeout=5)\nexcept Exception as e:\n    print('ended:', e)";
  await enter(page, server.url, server.token);
  await open(page, "#/approvals");
  for (const answer of ["No", "Yes, do it"]) {
    const run = await server.run(code, { net: ["ask"], detach: true, timeout_s: 30 });
    await page.waitForSelector(".approval:has-text('nobody.example.org')");
    // The list and the title come by different ways: either may be first.
    await page.waitForFunction(() => document.title.startsWith("(1)"));
    await page.click(`.approval button:has-text("${answer}")`);
    await page.waitForSelector(`li:has-text("${answer === "No" ? "refused" : "approved"}")`);
    await waitForEnd(run.id);
  }
  await page.waitForFunction(() => !document.title.startsWith("("));
  assertClean(seen);
});

/** @param {string} id */
async function waitForEnd(id) {
  for (;;) {
    const result = await server.call("GET", `/v1/runs/${id}`);
    if (result.status !== "running" && result.status !== "waiting") return result;
    await new Promise((done) => setTimeout(done, 50));
  }
}

test("changes are looked at, some applied at that version, the others discarded", async ({ page, seen }) => {
  await server.call("POST", "/v1/sessions/fix/execute", { code: `from pathlib import Path\np = Path(${JSON.stringify(project)})\n(p / 'app.py').write_text((p / 'app.py').read_text().replace('price * RATE', 'price * (1 + RATE)'))\n(p / 'new.txt').write_text('a\\u200bb\\n')` });
  await enter(page, server.url, server.token);
  await open(page, "#/changes/fix");
  await page.waitForSelector(".changed-file");
  assert.deepEqual(await page.$$eval(".diff mark", (/** @type {any[]} */ list) => list.map((m) => m.textContent)), ["RATE", "(1 + RATE)"]);
  assert.equal(await page.$$eval(".status.tone-warn", (/** @type {any[]} */ l) => l.length), 1);
  await page.uncheck("[aria-label$='new.txt']");
  // The session goes on writing: what is applied has to be what was looked at.
  await server.call("POST", "/v1/sessions/fix/execute", { code: `(p / 'app.py').write_text('evil = 1\\n')` });
  await page.click("button:has-text('Apply 1 of 2')");
  await page.waitForSelector(".problem");
  assert.match(fs.readFileSync(path.join(project, "app.py"), "utf8"), /price \* RATE/);
  await page.click("button:has-text('read the changes')");
  await page.waitForSelector(".diff:has-text('evil')");
  await page.click("button:has-text('Apply 1 of 2')");
  await page.waitForSelector(".notice:has-text('Applied: 1')");
  assert.equal(fs.readFileSync(path.join(project, "app.py"), "utf8"), "evil = 1\n");
  await page.waitForFunction(() => document.querySelectorAll(".changed-file").length === 1);
  await page.click("button:has-text('Discard all')");
  await page.click("button:has-text('Discard all?')");
  await page.waitForSelector(".notice:has-text('Discarded: 1')");
  assert.ok(!fs.existsSync(path.join(project, "new.txt")));
  assertClean(seen, /409|4\d\d/);
});

test("what a run wrote is undone", async ({ page, seen }) => {
  const result = await server.run(`from pathlib import Path\np = Path(${JSON.stringify(output)})\n(p / 'old.txt').write_text('after\\n')`, { allow: [`${output}:rw`] });
  assert.equal(result.status, "success", result.stderr);
  await enter(page, server.url, server.token);
  await open(page, `#/runs/${result.id}`);
  await page.click("button:has-text('What an undo would do')");
  await page.click("button:has-text('Undo'):not(:has-text('What'))");
  await page.click("button:has-text('Undo these changes?')");
  await page.waitForSelector(".status:has-text('Undone')");
  assert.equal(fs.readFileSync(path.join(output, "old.txt"), "utf8"), "before\n");
  assertClean(seen);
});

test("a receipt is checked, a changed one is not genuine", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/audit");
  const drop = (/** @type {any} */ value) => page.setInputFiles("input[aria-label=receipt]", { name: "receipt.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(value)) });
  await drop(failedRun);
  await page.waitForSelector(".verdict:has-text('Genuine')");
  await drop({ ...failedRun, stdout: "other" });
  await page.waitForSelector(".verdict:has-text('Not genuine')");
  assertClean(seen);
});

test("hostile output runs nothing, reaches nobody and covers nothing", async ({ page, seen }) => {
  const { session_id } = await server.call("POST", "/v1/sessions", { allow: [] });
  await server.call("POST", `/v1/sessions/${session_id}/execute`, { code: hostile.program() });
  const alone = await server.run(hostile.program());
  assert.ok(alone.displays.length >= 20, `only ${alone.displays.length} displays`);
  await enter(page, server.url, server.token);
  for (const hash of [`#/runs/${alone.id}`, `#/sessions/${session_id}`, `#/sessions/${session_id}/files`, ...hostile.NAMES.map((n) => `#/sessions/${session_id}/files?file=${encodeURIComponent(n)}`)]) {
    await open(page, hash);
    await page.waitForTimeout(300);
  }
  await open(page, `#/runs/${alone.id}`);
  await page.waitForSelector("iframe.frame");
  // Every frame is clicked, and every form of every display opened.
  for (const frame of page.frames().slice(1)) await frame.click("a, button, summary, body", { timeout: 500, force: true }).catch(() => {});
  for (const tab of await page.$$("figure [role=tab]")) await tab.click();
  await page.waitForTimeout(500);
  assert.equal(await page.evaluate(() => /** @type {any} */ (window).evil), undefined);
  for (const frame of page.frames().slice(1)) assert.match(frame.url(), /^about:srcdoc$/);
  assert.ok(page.url().startsWith(`${server.url}/console#/runs/`));
  assert.equal(page.context().pages().length, 1);
  assert.ok((await page.$$("iframe.frame")).length >= hostile.HTML.length);
  assert.deepEqual(await page.$$eval("iframe", (/** @type {any[]} */ list) => [...new Set(list.map((f) => f.getAttribute("sandbox")))]), [""]);
  const own = seen.requests.filter((/** @type {string} */ r) => /\/v1\/(sessions|runs)$/.test(r.split("?")[0]) && !r.includes("?"));
  assert.deepEqual(own, [], "a frame asked the server");
  assert.deepEqual(seen.foreign, []);
  assert.deepEqual(seen.dialogs, []);
  assert.deepEqual(seen.errors.filter((/** @type {string} */ e) => e.startsWith("violation")), [], "the page itself broke its policy");
  const shown = await page.textContent("pre[aria-label=stdout]");
  for (const word of ["\\x07", "\\u202e", "\\u200b", "\\u{e0041}"]) assert.ok(shown.includes(word), word);
  assert.ok(!/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/.test(shown));
  assert.equal(await page.$$eval("pre img, pre script, .trouble img", (/** @type {any[]} */ l) => l.length), 0);
});

test("a display that is not what it says takes nothing else with it", async ({ page, seen }) => {
  const code = `import json\nfor forms in json.loads(${JSON.stringify(JSON.stringify(hostile.TABLES))}):\n    display({name: json.loads(data) if name.endswith("json") else data for name, data in forms.items()}, raw=True)\nprint("all the same")\n`;
  const { id } = await server.run(code);
  await enter(page, server.url, server.token);
  await open(page, `#/runs/${id}`);
  await page.waitForSelector("pre[aria-label=stdout]");
  assert.ok((await page.textContent("main")).includes("it is not what it says"));
  assert.ok((await page.textContent("pre[aria-label=stdout]")).includes("all the same"));
  for (const name of ["constructor", "__proto__", "constructor/x"]) {
    await open(page, `#/${name}`);
    await page.waitForSelector(".empty-title");
    assert.ok((await page.textContent("main")).includes("There is no page of that name"), name);
  }
  assertClean(seen);
});

test("a table of HTML is drawn with our sheet, which its frame may load", async ({ page, seen }) => {
  const { id } = await server.run("display({'text/html': '<table><tr><td>1</td></tr></table>'}, raw=True)");
  await enter(page, server.url, server.token);
  await open(page, `#/runs/${id}`);
  await page.waitForSelector("iframe.frame");
  const frame = page.frames()[1];
  await frame.waitForLoadState();
  assert.equal(await frame.evaluate(() => getComputedStyle(/** @type {any} */ (document.querySelector("td"))).borderBottomWidth), "1px");
  assertClean(seen);
});

test("unknown things are said in the server's words, and the page carries on", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  for (const hash of ["#/runs/run_nothing", "#/sessions/nothing", "#/audit/999999", "#/skills/nothing", "#/changes/nothing", "#/states/nothing", "#/nothing", "#/runs/%00%ff/../x"]) {
    await page.evaluate((/** @type {string} */ h) => void (location.hash = h), hash);
    await page.waitForSelector("main .problem, main .empty-title");
  }
  await open(page, "#/runs");
  await page.waitForSelector(".list-table tbody tr");
  assertClean(seen, /status of 4\d\d/);
});

test("a token without rights sees its own, and is told what it may not see", async ({ page, seen }) => {
  const { token } = await server.call("POST", "/v1/tokens", { name: "plain" });
  await enter(page, server.url, token);
  for (const hash of ["#/now", "#/runs", "#/sessions", "#/approvals", "#/changes", "#/skills", "#/tokens", "#/doctor"]) await open(page, hash);
  assert.match(await page.textContent("main"), /no right/);
  await open(page, "#/audit");
  await page.waitForSelector(".problem");
  await open(page, `#/runs/${failedRun.id}`);
  await page.waitForSelector(".problem");
  await server.call("DELETE", "/v1/tokens/plain");
  assertClean(seen, /status of (401|403|404)/);
});

test("a token is added, shown once, and removed", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/tokens");
  await page.click("button:has-text('Add a token')");
  await page.fill("label:has-text('Name') input", "fresh");
  await page.click("form button:has-text('Add')");
  const made = await page.textContent(".made code");
  await server.call("GET", "/v1/me", undefined, made);
  await page.click("button:has-text('Done')");
  assert.ok(!(await page.content()).includes(made));
  await page.click("tr:has-text('fresh') button:has-text('Remove')");
  await page.click("tr:has-text('fresh') button:has-text('all it opened')");
  await page.waitForSelector("tr:has-text('fresh')", { state: "detached" });
  assertClean(seen);
});

test("a token is added with limits", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/tokens");
  await page.click("button:has-text('Add a token')");
  await page.fill("label:has-text('Name') input", "limited");
  await page.fill("label:has-text('Runs per minute') input", "5");
  await page.click("form button:has-text('Add')");
  await page.waitForSelector(".made code");
  const { tokens } = await server.call("GET", "/v1/tokens");
  assert.equal(tokens.find((/** @type {any} */ t) => t.name === "limited").limits.runs_per_minute, 5);
  await server.call("DELETE", "/v1/tokens/limited");
  assertClean(seen);
});

test("pages that nobody touches ask the server seldom, and run nothing", async () => {
  const all = Object.entries({ ...addresses(failedRun), granted: `#/sessions/fix/files?dir=${encodeURIComponent(project)}` });
  const ran = async (/** @type {string} */ name) => (await server.call("GET", `/v1/sessions/${name === "granted" ? "fix" : "analysis"}`)).cells;
  for (let at = 0; at < all.length; at += 5) {
    await Promise.all(all.slice(at, at + 5).map(async ([name, hash]) => {
      const { page, seen, context } = await newPage(browser, server.url);
      await enter(page, server.url, server.token);
      await open(page, hash);
      await page.waitForTimeout(1500);
      const before = seen.requests.length;
      const cells = await ran(name);
      await page.waitForTimeout(5000);
      // Now reads the metrics every three seconds; a page that is about something reads it again every ten.
      assert.ok(seen.requests.length - before <= 4, `${name}: ${seen.requests.slice(before).join(" ")}`);
      if (name === "variables" || name === "granted") assert.equal(await ran(name), cells, name);
      await context.close();
    }));
  }
});

test("variables are listed again after a cell, and a long name hides no value", async ({ page, seen }) => {
  const { session_id } = await server.call("POST", "/v1/sessions", { allow: [] });
  await server.call("POST", `/v1/sessions/${session_id}/execute`, { code: `${"long_".repeat(60)} = 41` });
  await enter(page, server.url, server.token);
  await open(page, `#/sessions/${session_id}/variables`);
  await page.waitForSelector("td:has-text('41')");
  await page.waitForTimeout(500);
  await server.call("POST", `/v1/sessions/${session_id}/execute`, { code: "fresh = 4321" });
  await page.waitForSelector("td:has-text('4321')");
  assert.ok(await page.$eval(".table-box", (/** @type {any} */ b) => b.scrollWidth <= b.clientWidth));
  await server.call("DELETE", `/v1/sessions/${session_id}`);
  assertClean(seen);
});

test("files: sizes and ages in one line, a table of CSV, and its preview in sight on a phone", async ({ page, seen }) => {
  const { session_id } = await server.call("POST", "/v1/sessions", { allow: [] });
  await server.call("POST", `/v1/sessions/${session_id}/execute`, { code: "for n in range(30):\n    open(f'f{n}.txt', 'w').write('x' * 2500)\nopen('n' * 200, 'w').close()\nopen('t.csv', 'w').write('a,b\\n1,\"x, y\"\\n')" });
  await enter(page, server.url, server.token);
  await open(page, `#/sessions/${session_id}/files?file=t.csv`);
  await page.waitForSelector("table.data");
  assert.deepEqual(await page.$$eval("table.data td", (/** @type {any[]} */ l) => l.map((c) => c.textContent)), ["1", "x, y"]);
  await page.click("button:has-text('As text')");
  await page.waitForSelector(".preview .terminal:has-text('x, y')");
  assert.ok(await page.$$eval(".files tr:has-text('.txt') td", (/** @type {any[]} */ l) => l.every((c) => c.clientHeight < 44)));
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForFunction(() => (document.querySelector(".preview")?.getBoundingClientRect().top ?? 1e9) < innerHeight / 2);
  await server.call("DELETE", `/v1/sessions/${session_id}`);
  assertClean(seen);
});

test("pages with nothing on them say what to type, and it works", async ({ page, seen }) => {
  const nothing = /** @type {Record<string, any>} */ ({ "/v1/sessions": { sessions: [] }, "/v1/runs": { runs: [], next: null, newest: null }, "/v1/undo": { runs: [] }, "/v1/approvals": { approvals: [] } });
  for (const [where, json] of Object.entries(nothing)) await page.route((/** @type {URL} */ url) => url.pathname === where, (/** @type {any} */ r) => r.fulfill({ json }));
  await enter(page, server.url, server.token);
  await server.call("DELETE", "/v1/sessions/fix");
  const commands = [];
  for (const hash of ["#/now", "#/runs", "#/sessions", "#/changes"]) {
    await open(page, hash);
    commands.push(await page.textContent(".empty .command code"));
  }
  for (const command of commands) {
    // As somebody on the host of the server types it, with a directory that is granted here.
    await promisify(execFile)("bash", ["-c", command.replace("~/project", project)], { env: { ...server.env(), PATH: `${build}:/usr/bin:/bin` } });
  }
  // A terminal of another case may still run.
  const { runs } = await server.call("GET", "/v1/runs?history=true&limit=12");
  const ended = runs.filter((/** @type {any} */ r) => r.state !== "running").slice(0, 4);
  assert.deepEqual(ended.map((/** @type {any} */ r) => [r.state, r.code.slice(0, 6)]).reverse(), [["success", "print("], ["success", "print("], ["success", "x = 41"], ["success", "open(\""]]);
  for (const name of ["trial", "fix"]) await server.call("DELETE", `/v1/sessions/${name}`);
  await server.call("POST", "/v1/sessions", { name: "fix", allow: [`${project}:cow`] });
  await open(page, "#/approvals");
  await page.click(".empty button:has-text('Try it in the playground')");
  await page.waitForSelector(".editor:not(.is-loading) .cm-content:has-text('example.org')");
  await page.unroute((/** @type {URL} */ url) => url.pathname === "/v1/approvals").catch(() => {});
  await page.keyboard.press("Shift+Enter");
  await page.waitForSelector(".execution .approval");
  await page.click(".approval button:has-text('No')");
  await page.waitForSelector(".execution .status.tone-bad");
  assertClean(seen);
});

test("what is shown as code runs as it stands", async ({ page, seen }) => {
  await server.call("POST", "/v1/sessions/fix/execute", { code: `from pathlib import Path\n(Path(${JSON.stringify(project)}) / 'snippet.txt').write_text('one\\n')` });
  const ok = await server.run("print('it\\'s \u202e \"q\"')", { timeout_s: 9 });
  await enter(page, server.url, server.token);
  /** @type {[string, string, string][]} */
  const found = [];
  for (const hash of ["#/runs", `#/runs/${ok.id}`, "#/sessions", "#/sessions/analysis", "#/playground", "#/changes", "#/approvals", "#/audit", "#/audit/2", "#/tokens", "#/skills", "#/skills/csv-profile", "#/doctor", "#/changes/fix"]) {
    await open(page, hash);
    await page.click("button:has-text('As code')");
    for (const name of await page.$$eval("dialog [role=tab]", (/** @type {any[]} */ l) => l.map((t) => t.textContent))) {
      await page.click(`dialog [role=tab]:has-text("${name}")`);
      found.push([hash, name, await page.textContent("dialog pre")]);
    }
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { state: "detached" });
  }
  // What applies changes is tried last, in each language, on changes that are there.
  const modules_ = path.join(place, "node_modules");
  fs.mkdirSync(modules_, { recursive: true });
  fs.symlinkSync(path.join(ROOT, "sdk/typescript"), path.join(modules_, "belljar"));
  const env = { ...process.env, BELLJAR_TOKEN: server.token, PYTHONPATH: path.join(ROOT, "python"), PYTHONDONTWRITEBYTECODE: "1", BELLJAR_SERVER: "" };
  const speak = await mcp();
  for (const [hash, name, text] of found) {
    if (hash === "#/changes/fix" && name !== "curl") continue;
    const command = /** @type {Record<string, string[]>} */ ({ curl: ["bash", "-c", text.replace("curl -s", "curl -sf")], Python: ["python3", "-c", text], TypeScript: ["node", path.join(place, "snippet.mjs")] })[name];
    if (name === "TypeScript") fs.writeFileSync(path.join(place, "snippet.mjs"), text);
    if (!command) {
      const answer = await speak(JSON.parse(text));
      assert.ok(answer.result && !answer.result.isError, `${hash}: ${JSON.stringify(answer).slice(0, 600)}`);
      continue;
    }
    try {
      // Not execFileSync: the server's events have to be read meanwhile.
      await promisify(execFile)(command[0], command.slice(1), { env, cwd: place });
    } catch (error) {
      assert.fail(`${hash} ${name}: ${text}\n${/** @type {any} */ (error).stderr}`);
    }
  }
  assert.equal(fs.readFileSync(path.join(project, "snippet.txt"), "utf8"), "one\n");
  fs.rmSync(path.join(project, "snippet.txt"));
  assertClean(seen);
});

/** A connection to /mcp, past its greeting. */
async function mcp() {
  let session = "";
  const post = async (/** @type {any} */ message) => {
    const response = await fetch(`${server.url}/mcp`, {
      method: "POST", body: JSON.stringify(message),
      headers: { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...(session ? { "Mcp-Session-Id": session } : {}) },
    });
    session ||= response.headers.get("mcp-session-id") ?? "";
    const text = await response.text();
    return text ? JSON.parse(/^data: ?(.*)$/m.exec(text)?.[1] ?? text) : null;
  };
  await post({ jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "console-test", version: "1" } } });
  await post({ jsonrpc: "2.0", method: "notifications/initialized" });
  return post;
}

test("everything by keyboard", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/now");
  for (const [key, name] of [["r", "runs"], ["s", "sessions"], ["c", "changes"], ["a", "approvals"], ["u", "audit"], ["k", "skills"], ["t", "tokens"], ["d", "doctor"], ["n", "now"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.waitForFunction((/** @type {string} */ n) => location.hash === `#/${n}`, name);
  }
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog[open]", { state: "detached" });
  await open(page, "#/runs");
  await page.waitForSelector(".list-table tbody tr");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.waitForSelector("tr.picked");
  await page.keyboard.press("o");
  await page.waitForFunction(() => location.hash.startsWith("#/runs/run_"));
  await page.keyboard.press("/");
  assertClean(seen);
});

test("a server that has no room is asked again", async ({ page, seen }) => {
  let asked = 0;
  await page.route((/** @type {URL} */ url) => url.pathname === "/v1/doctor", (/** @type {any} */ r) => (asked++ ? r.continue() : r.fulfill({ status: 429, json: { error: { code: "busy", message: "no room", hint: null } } })));
  await enter(page, server.url, server.token);
  await open(page, "#/now");
  await page.waitForSelector(".tile:has-text('Grade') .tile-value:text-matches('^[A-F]')");
  assert.equal(asked, 2);
  assertClean(seen, /429/);
});

test("the editor and a terminal can be left with keys alone", async ({ page, seen }) => {
  const isInside = (/** @type {string} */ box) => page.evaluate((/** @type {string} */ b) => Boolean(document.activeElement?.closest(b)), box);
  await enter(page, server.url, server.token);
  await open(page, "#/playground");
  await page.click(".cm-content");
  await page.keyboard.press("Tab");
  assert.ok(await isInside(".editor"));
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  assert.ok(!(await isInside(".editor")));
  assert.ok(await page.evaluate(() => document.activeElement !== document.body));
  const { session_id } = await server.call("POST", "/v1/sessions", { allow: [] });
  await open(page, `#/sessions/${session_id}/terminal`);
  await page.click("button:has-text('New terminal')");
  await page.waitForSelector(".terminal-box .tone-good");
  await page.click(".terminal-host");
  assert.ok(await isInside(".terminal-host"));
  await page.keyboard.press("Shift+Escape");
  await page.keyboard.press("Tab");
  assert.ok(!(await isInside(".terminal-host")));
  await open(page, "#/now");
  await server.call("DELETE", `/v1/sessions/${session_id}`);
  assertClean(seen);
});

test("without a server the page stays, says so, and comes back by itself", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/runs");
  await page.waitForSelector(".list-table tbody tr");
  await server.stop();
  await page.waitForSelector(".banner");
  assert.ok(await page.isVisible(".list-table tbody tr"));
  await server.start();
  await page.waitForSelector(".banner", { state: "detached" });
  const { id } = await server.run("print('back')");
  await page.waitForSelector(`a[href$="${id}"]`);
  assertClean(seen, /ERR_|status of (404|503)/);
});

test("a trail that was tampered with is found in front of one's eyes", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/audit");
  await page.click("button:has-text('Verify now')");
  await page.waitForSelector(".verdict:has-text('Whole')");
  const directory = path.join(server.home, ".local/state/belljar/trail");
  const file = path.join(directory, fs.readdirSync(directory).filter((n) => n.endsWith(".jsonl")).sort()[0]);
  const text = fs.readFileSync(file, "utf8");
  assert.ok(text.includes("belljar"));
  const handle = fs.openSync(file, "r+");
  fs.writeSync(handle, "bellJar", Buffer.from(text.slice(0, text.indexOf("name = 'belljar'") + 8)).length);
  fs.closeSync(handle);
  await page.click("button:has-text('Verify now')");
  await page.waitForSelector(".verdict.tone-bad");
  assert.match(await page.textContent(".findings"), /line|record|hash/);
  assertClean(seen);
});

/** @param {any} standIn @param {string} where @param {any} [options] */
async function floodPage(standIn, where, options = {}) {
  const { page, seen, context } = await newPage(browser, standIn.url, options);
  await enter(page, standIn.url, "bj_x");
  await open(page, where);
  return { page, seen, context };
}

/** @param {any} page @param {number} ms */
function longest(page, ms) {
  return page.evaluate((/** @type {number} */ wait) => new Promise((done) => {
    let last = performance.now();
    let worst = 0;
    const end = last + wait;
    const tick = () => {
      const now = performance.now();
      worst = Math.max(worst, now - last);
      last = now;
      if (now < end) requestAnimationFrame(tick);
      else done(Math.round(worst));
    };
    requestAnimationFrame(tick);
  }), ms);
}

test("500 runs a second: the list stays a window, and can be used", async () => {
  const standIn = await startStandIn(path.join(build, "console-packages/files"), await policy());
  const { page, seen, context } = await floodPage(standIn, "#/runs");
  standIn.state.rate = 500;
  await page.waitForFunction(() => Number(/([\d\u2009]+) ended/.exec(document.querySelector(".page-sub")?.textContent ?? "")?.[1].replaceAll("\u2009", "")) > 1500);
  figures.longest_frame_ms_at_500_runs = await longest(page, 4000);
  const count = await page.$$eval(".list-table tbody:not([aria-hidden]) tr", (/** @type {any[]} */ l) => l.length);
  assert.ok(count < 100, `${count} rows in the page`);
  const rows = Number(await page.getAttribute(".list-table", "aria-rowcount"));
  assert.ok(rows <= 1 + 500 + 200 * 2, `${rows} rows`);
  await page.click("button:has-text('Pause')");
  const first = await page.textContent(".list-table tbody:not([aria-hidden]) tr .code-line");
  await page.waitForTimeout(500);
  assert.equal(await page.textContent(".list-table tbody:not([aria-hidden]) tr .code-line"), first);
  await page.click("button:has-text('Follow')");
  await page.waitForFunction((/** @type {string} */ t) => document.querySelector(".list-table tbody:not([aria-hidden]) tr .code-line")?.textContent !== t, first);
  assertClean(seen);
  await context.close();
  await standIn.stop();
});

for (const theme of ["light", "dark"]) {
  test(`the machines of a cluster have a page: ${theme}`, async () => {
    const standIn = await startStandIn(path.join(build, "console-packages/files"), await policy());
    const node = { state: "ready", version: "0.1.0", silent_s: 0.1, clock_off_ms: 3, room: 30, running: 2, waiting: 0, sessions: 5, requests: 2, labels: ["gpu"], profiles: null, environments: null, runs: {}, queue: { running: 2, waiting: 0, max_running: 32, max_waiting: 64 }, pool: {}, cpu_s: 1, resident_bytes: 40e6 };
    standIn.state.nodes = [{ ...node, node: "b2", state: "draining", clock_off_ms: -7200000 }, { ...node, node: "a1" }, { ...node, node: "c3", state: "no_engine", queue: null, resident_bytes: null, version: "0.2.0" }, { node: "d4", state: "lost", version: "0.1.0", silent_s: 312 }];
    const { page, seen, context } = await floodPage(standIn, "#/nodes", { colorScheme: theme });
    await page.waitForSelector("tbody tr:nth-child(4)");
    const rows = await page.$$eval("tbody tr", (/** @type {any[]} */ l) => l.map((r) => r.innerText.replaceAll(/\s+/g, " ")));
    assert.deepEqual(rows.map((/** @type {string} */ r) => r.slice(0, 2)), ["a1", "b2", "c3", "d4"]);
    assert.match(rows[0], /gpu ready/);
    assert.match(rows[0], /2 of 32/);
    assert.match(rows[1], /draining its clock is off by 2 h/);
    assert.match(rows[2], /no engine.*0\.2\.0 not the gateway's/);
    assert.match(rows[3], /lost.*5 min ago/);
    assert.match(await page.textContent(".page-sub"), /1 of 4 ready · 6 running · room for 90 · 15 sessions/);
    await page.waitForSelector("nav a[href='#/nodes'][aria-current=page]");
    await page.keyboard.press("g");
    await page.keyboard.press("n");
    await page.waitForFunction(() => location.hash === "#/now");
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await page.waitForSelector("tbody tr");
    assert.deepEqual(await axe(page), []);
    assertClean(seen);
    await context.close();
    await standIn.stop();
  });
}

test("a single machine has no page of machines", async ({ page, seen }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/now");
  await page.waitForSelector("nav a[href='#/doctor']");
  assert.equal(await page.$("nav a[href='#/nodes']"), null);
  await open(page, "#/nodes");
  assert.match(await page.textContent("main"), /single machine/);
  assertClean(seen);
});

test("10,000 records can be paged through", async () => {
  const standIn = await startStandIn(path.join(build, "console-packages/files"), await policy());
  for (const where of ["#/audit", "#/runs"]) {
    const { page, seen, context } = await floodPage(standIn, where);
    await page.waitForSelector(".list-table tbody tr");
    for (let rows = 0; rows <= 10_000; ) {
      await page.evaluate(() => /** @type {any} */ (document.querySelector(".list")).scrollTo(0, 1e9));
      rows = Number(await page.getAttribute(".list-table", "aria-rowcount"));
    }
    await page.waitForFunction(() => !document.querySelector(".list-more"));
    await page.evaluate(() => /** @type {any} */ (document.querySelector(".list")).scrollTo(0, 5000 * 34));
    await page.waitForFunction(() => [...document.querySelectorAll(".list-table tr[aria-rowindex]")].some((r) => Math.abs(Number(r.getAttribute("aria-rowindex")) - 5000) < 60));
    assert.ok((await page.$$eval(".list-table tbody:not([aria-hidden]) tr", (/** @type {any[]} */ l) => l.length)) < 100);
    assertClean(seen);
    await context.close();
  }
  await standIn.stop();
});

test("the heap stays flat over an hour of events", async () => {
  const standIn = await startStandIn(path.join(build, "console-packages/files"), await policy());
  const { page, context } = await floodPage(standIn, "#/runs");
  const cdp = await page.context().newCDPSession(page);
  const heap = async () => {
    await cdp.send("HeapProfiler.collectGarbage");
    return (await cdp.send("Runtime.getHeapUsage")).usedSize;
  };
  // An hour at ten runs a second, as fast as the page takes them; pages are opened and left meanwhile.
  const wait = (/** @type {number} */ n) => page.waitForFunction((/** @type {number} */ least) => Number(/([\d\u2009]+) ended/.exec(document.querySelector(".page-sub")?.textContent ?? "")?.[1].replaceAll("\u2009", "")) >= least, n);
  standIn.state.rate = 3000;
  // The first round fills what is kept: 500 runs, ten minutes of readings, the code of the pages.
  const sizes = [];
  for (const share of [0.2, 0.4, 0.6, 0.8, 1]) {
    for (const hash of ["#/now", "#/audit", "#/runs"]) await open(page, hash);
    await wait(36_000 * share);
    // What is on its way is not kept: it is let in first.
    standIn.state.rate = 0;
    await wait(standIn.state.sent);
    sizes.push(await heap());
    standIn.state.rate = 3000;
  }
  figures.heap_mb = sizes.map((n) => Math.round(n / 1e5) / 10);
  assert.ok(Math.min(...sizes.slice(-2)) < sizes[0] * 1.1 + 1e6, `${sizes}`);
  await context.close();
  await standIn.stop();
});

async function policy() {
  return (await fetch(`${server.url}/console`)).headers.get("content-security-policy") ?? "";
}

test("the headers are the strict ones, and no cookie is set", async () => {
  const response = await fetch(`${server.url}/console`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("set-cookie"), null);
  assert.equal(response.headers.get("x-content-type-options"), "nosniff");
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
  const words = response.headers.get("content-security-policy") ?? "";
  for (const part of ["default-src 'none'", "script-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types display"]) assert.ok(words.includes(part), `${part} in ${words}`);
  assert.ok(!words.includes("unsafe"));
});

test("the first page is small, and usable soon", async ({ page, seen }) => {
  const files = path.join(build, "console-packages/files");
  await enter(page, server.url, server.token);
  await open(page, "#/now");
  const names = [...new Set(seen.requests.filter((/** @type {string} */ r) => r.includes("/console")).map((/** @type {string} */ r) => new URL(r).pathname.slice("/console/".length) || "index.html"))].filter((n) => !String(n).startsWith("plot-"));
  const bytes = names.reduce((/** @type {number} */ n, /** @type {any} */ name) => n + zlib.gzipSync(fs.readFileSync(path.join(files, name)), { level: 9 }).length, 0);
  figures.first_page_bytes = bytes;
  assert.ok(bytes <= FIRST_PAGE_MAX, `${bytes} bytes: ${names.join(" ")}`);
  await page.goto("about:blank");
  const times = [];
  const worked = [];
  for (let n = 0; n < 5; n++) {
    const { page: fresh, context } = await newPage(browser, server.url);
    const cdp = await context.newCDPSession(fresh);
    await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
    await fresh.goto(`${server.url}/console#token=${server.token}`);
    times.push(await fresh.evaluate(() => new Promise((done) => {
      const look = () => (document.querySelector(".tiles") ? done(Math.round(performance.now())) : requestAnimationFrame(look));
      look();
    })));
    const { metrics } = await cdp.send("Performance.getMetrics");
    worked.push(Math.round(metrics.find((/** @type {any} */ m) => m.name === "TaskDuration").value * 1000));
    await context.close();
  }
  figures.interactive_ms = times.sort((a, b) => a - b);
  figures.interactive_cpu_ms = worked.sort((a, b) => a - b);
  // The clock says little on a busy machine. What the page itself works until then does not depend on others, and is a part of it.
  assert.ok(worked[0] < INTERACTIVE_MS, `${worked} ms of work until the page can be used`);
});

test("an idle open console costs the server little", async ({ page }) => {
  await enter(page, server.url, server.token);
  await open(page, "#/now");
  await page.waitForTimeout(2000);
  const before = server.cpuSeconds();
  await page.waitForTimeout(12_000);
  figures.idle_percent_of_a_core = Math.round(((server.cpuSeconds() - before) / 12) * 10_000) / 100;
  // The kernel counts hundredths of a second: twelve of them are one percent.
  assert.ok(figures.idle_percent_of_a_core < 1, `${figures.idle_percent_of_a_core} %`);
});

async function main() {
  await server.start();
  failedRun = await furnish();
  browser = await start(modules);
  let failed = 0;
  for (const [name, body, options] of cases) {
    if (only && !name.includes(only)) continue;
    const made = await newPage(browser, server.url, options);
    made.page.setDefaultTimeout(15_000);
    const began = Date.now();
    try {
      await Promise.race([body(made), new Promise((_, fail) => setTimeout(() => fail(new Error("took too long")), CASE_MS).unref())]);
      console.log(`ok ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
      if (error instanceof Skipped) {
        console.log(`skipped ${name}: ${error.message}`);
        continue;
      }
      failed++;
      console.log(`not ok ${name}\n    ${String(/** @type {any} */ (error).stack ?? error).slice(0, 3000).replaceAll("\n", "\n    ")}\n    at ${made.page.url()}, log: ${made.seen.errors.slice(-3).join(" | ")}`);
      await made.page.screenshot({ path: path.join(modules, "failed.png") }).catch(() => {});
    } finally {
      await made.context.close().catch(() => {});
    }
  }
  console.log(`# ${JSON.stringify(figures)}`);
  await browser.close();
  await server.stop();
  return failed;
}

main()
  .then((failed) => (process.exitCode = failed ? 1 : 0), (error) => {
    console.log(`not ok the tests themselves\n${error.stack}`);
    process.exitCode = 1;
  })
  .finally(async () => {
    await server.stop().catch(() => {});
    await browser?.close().catch(() => {});
    server.remove();
    fs.rmSync(place, { recursive: true, force: true });
  });
