/** screenshots.mjs BUILD MODULES DIRECTORY: pictures of every page in both themes, and of some on a phone, made small with pngquant. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { enter, newPage, open, start } from "./browser.mjs";
import { Server } from "./server.mjs";

const [, , build, modules, target] = process.argv;
const SIZES = /** @type {Record<string, {width: number, height: number}>} */ ({ "": { width: 1280, height: 800 }, "-phone": { width: 390, height: 844 } });
const ON_PHONE = new Set(["now", "runs", "approvals", "diff", "session"]);
const SALES = "import pandas as pd\n\nsales = pd.DataFrame({\n    \"month\": [\"Jan\", \"Feb\", \"Mar\", \"Apr\"],\n    \"sum\": [12.5, 17.25, 9.0, 21.0],\n})\nsales";
const PLOT = "import matplotlib.pyplot as plt\n\nplt.figure(figsize=(7, 2.6))\nplt.bar(sales.month, sales[\"sum\"])\nplt.title(\"Sales\")\nplt.show()";
const APP = "RATE = 0.19\n\n\ndef total(price):\n    return price * RATE\n\n\ndef label(price):\n    return f\"{price:.2f}\"\n";

const home = fs.mkdtempSync(path.join(os.tmpdir(), "bjshots-"));
const project = path.join(home, "project");
fs.mkdirSync(project);
fs.writeFileSync(path.join(project, "app.py"), APP);
fs.writeFileSync(path.join(project, "old.py"), "unused = 1\n");
const server = new Server(build, ["--allow", `${project}:cow`, "--net", "ask"]);

async function furnish() {
  const cell = (/** @type {string} */ name, /** @type {string} */ code) => server.call("POST", `/v1/sessions/${name}/execute`, { code });
  await server.call("POST", "/v1/sessions", { name: "quarterly-report", allow: [] });
  for (const code of [SALES, PLOT, "open(\"report.md\", \"w\").write(\"# Sales\\n\")\nsales.to_csv(\"sales.csv\", index=False)\nprint(\"saved\")"]) await cell("quarterly-report", code);
  await server.call("POST", "/v1/sessions/quarterly-report/checkpoint", { name: "before-cleanup" });
  await server.call("POST", "/v1/sessions/quarterly-report/fork", { n: 2 });
  await server.call("POST", "/v1/sessions", { name: "fix-rounding", allow: [`${project}:cow`] });
  await cell("fix-rounding", `from pathlib import Path\np = Path(${JSON.stringify(project)})\n(p / "app.py").write_text((p / "app.py").read_text().replace("price * RATE", "round(price * (1 + RATE), 2)"))\n(p / "test_app.py").write_text("from app import total\\n\\n\\ndef test_total():\\n    assert total(100) == 119\\n")\n(p / "old.py").unlink()`);
  for (let n = 0; n < 40; n++) await server.run(`print(sum(range(${n * 1000})))`);
  await server.run("for i in range(3):\n    print(f\"step {i}\")\n");
  await server.run("while True:\n    pass", { timeout_s: 1 });
  await server.run("print(\"key: AKIA\" + \"IOSFODNN7EXAMPLE\")");
  await server.run("import os\nimport subprocess\n\nsubprocess.run([\"id\"])", { profile: "strict" });
  await server.run("x = bytearray(800 * 1024 * 1024)", { memory_mb: 128 });
  return server.run("import json\n\nprices = json.loads('{\"apple\": 1.2, \"pear\": 0.9}')\nfor name in [\"apple\", \"pear\", \"plum\"]:\n    print(name, prices[name])\n", { receipt: true });
}

async function main() {
  await server.start();
  const failed = await furnish();
  const pages = {
    now: "#/now", runs: "#/runs", run: `#/runs/${failed.id}`, sessions: "#/sessions", session: "#/sessions/quarterly-report", variables: "#/sessions/quarterly-report/variables", files: "#/sessions/quarterly-report/files?file=sales.csv",
    terminal: "#/sessions/quarterly-report/terminal", playground: "#/playground", changes: "#/changes", diff: "#/changes/fix-rounding", approvals: "#/approvals", audit: "#/audit", skills: "#/skills", tokens: "#/tokens", doctor: "#/doctor",
  };
  const { paths } = await server.call("GET", "/openapi.json");
  if (!paths["/v1/sessions/{session}/commands/{command}/terminal"]) delete (/** @type {any} */ (pages).terminal);
  const browser = await start(modules);
  /** @type {string[]} */
  const ended = [];
  fs.rmSync(target, { recursive: true, force: true });
  fs.mkdirSync(target, { recursive: true });
  for (const theme of ["light", "dark"]) {
    for (const [suffix, viewport] of Object.entries(SIZES)) {
      const { page, context } = await newPage(browser, server.url, { viewport, colorScheme: theme, reducedMotion: "reduce" });
      await enter(page, server.url, server.token);
      for (const [name, hash] of Object.entries(pages)) {
        if (suffix && !ON_PHONE.has(name)) continue;
        await open(page, hash);
        if (name === "playground") {
          await page.click(".cm-content");
          await page.keyboard.press("Control+a");
          await page.keyboard.insertText(`${SALES.replace(/\nsales$/, "")}\n${PLOT}`);
          await page.keyboard.press("Shift+Enter");
          await page.waitForSelector(".execution .status.tone-good");
        } else if (name === "terminal") {
          await page.click("button:has-text('New terminal')");
          await page.waitForSelector(".terminal-box .tone-good");
          await page.keyboard.type("ls -l --color; python3 -c 'print(6 * 7)'\n");
          await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent?.includes("42"));
        } else if (name === "approvals") {
          const waiting = await server.run("import urllib.request\nurllib.request.urlopen(\"http://api.example.org/prices\", timeout=60)", { net: ["ask"], detach: true, timeout_s: 250 });
          await page.waitForSelector(".approval");
          ended.push(waiting.id);
        } else if (name === "audit") {
          await page.click("button:has-text('Verify now')");
          await page.waitForSelector(".verdict");
        } else if (name === "now") {
          // Some readings, so that the plots have lines.
          for (let n = 0; n < 12; n++) {
            await server.run("print(1)");
            await page.waitForTimeout(1000);
          }
        }
        await page.waitForTimeout(400);
        const file = path.join(target, `${name}${suffix}-${theme}.png`);
        await page.screenshot({ path: file });
        for (const id of ended.splice(0)) await server.call("POST", `/v1/runs/${id}/cancel`, {});
        execFileSync("pngquant", ["--force", "--skip-if-larger", "--quality", "60-90", "--ext", ".png", file], { stdio: "ignore" });
      }
      await context.close();
    }
  }
  await browser.close();
  const bytes = fs.readdirSync(target).reduce((n, name) => n + fs.statSync(path.join(target, name)).size, 0);
  console.log(`${fs.readdirSync(target).length} pictures, ${Math.round(bytes / 1024)} KB, in ${target}`);
}

main().catch((error) => {
  console.log(error.stack);
  process.exitCode = 1;
}).finally(async () => {
  await server.stop();
  server.remove();
  fs.rmSync(home, { recursive: true, force: true });
});
