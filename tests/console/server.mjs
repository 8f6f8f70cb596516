/** `belljar serve` in a home of its own, which can end and come back. */
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const START_MS = 60_000;

export class Server {
  /** @param {string} build @param {string[]} options */
  constructor(build, options) {
    this.build = build;
    this.options = options;
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), "bjconsole-"));
    this.listen = "127.0.0.1:0";
    this.url = "";
    this.token = "";
    /** @type {import("node:child_process").ChildProcess | null} */
    this.process = null;
  }

  env() {
    return {
      HOME: this.home, XDG_RUNTIME_DIR: this.home, PATH: "/usr/bin:/bin", NO_COLOR: "1", BELLJAR_PRELOAD: "", BELLJAR_POOL_SIZE: "2", BELLJAR_POOL_HOT: "0", BELLJAR_PROFILE: "open",
    };
  }

  async start() {
    const child = (this.process = spawn(path.join(this.build, "belljar"), ["serve", "--listen", this.listen, ...this.options], { env: this.env(), stdio: ["ignore", "pipe", "pipe"] }));
    let said = "";
    await new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`the server does not start: ${said}`)), START_MS);
      const take = (/** @type {Buffer} */ data) => {
        said += data;
        if (!said.includes("token is in")) return;
        clearTimeout(timer);
        done(undefined);
      };
      child.stdout.on("data", take);
      child.stderr.on("data", take);
      child.on("exit", () => fail(new Error(`the server does not start: ${said}`)));
    });
    this.url = /http:\/\/[\d.]+:\d+/.exec(said)?.[0] ?? "";
    this.listen = this.url.slice("http://".length);
    this.token = fs.readFileSync(/token is in (\S+)/.exec(said)?.[1] ?? "", "utf8").trim();
  }

  async stop() {
    const child = this.process;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((done) => child.on("exit", done));
    child.kill("SIGTERM");
    await gone;
  }

  /** Seconds of CPU time of the supervisor, of /proc. */
  cpuSeconds() {
    const fields = fs.readFileSync(`/proc/${this.process?.pid}/stat`, "utf8").split(") ")[1].split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  }

  /**
   * @param {string} method
   * @param {string} where
   * @param {any} [json]
   * @param {string} [token]
   */
  async call(method, where, json, token = this.token) {
    const response = await fetch(this.url + where, {
      method, headers: { Authorization: `Bearer ${token}`, ...(json === undefined ? {} : { "Content-Type": "application/json" }) }, body: json === undefined ? undefined : JSON.stringify(json),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${where}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  /** A program, in a fresh sandbox. @param {string} code @param {any} [fields] */
  run(code, fields = {}) {
    return this.call("POST", "/v1/run", { code, ...fields });
  }

  remove() {
    fs.rmSync(this.home, { recursive: true, force: true });
  }
}
