/** A server that says what a very busy one would: hundreds of runs a second, ten thousand records. It serves the built files, and nothing runs. */
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

const TYPES = /** @type {Record<string, string>} */ ({ ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".txt": "text/plain; charset=utf-8" });
const FLUSH_MS = 100; // as the server writes its events

/** @param {number} n */
function run(n) {
  const states = ["success", "success", "success", "error", "timeout"];
  return {
    id: `run_${String(n).padStart(26, "0")}`, state: states[n % states.length], language: "python", profile: "open", owner: `agent-${n % 7}`, session_id: n % 3 ? null : `ses_${String(n % 40).padStart(26, "0")}`,
    code: `print(${n})  # ${"x".repeat(n % 60)}`, exit_code: 0, wall_ms: n % 400, cpu_ms: n % 300, memory_peak_bytes: (n % 90) * 100_000, queue_ms: 0, masked: 0, violations: 0, error: null, is_kept: false, seq: n, detached: false, age_s: 1,
  };
}

/** @param {string} directory  the built files @param {string} policy */
export async function startStandIn(directory, policy) {
  /** @type {Set<import("node:http").ServerResponse>} */
  const streams = new Set();
  /** @type {{rate: number, total: number, n: number, sent: number, nodes: any[] | null}} */
  const state = { nodes: null, rate: 0, total: 10_000, n: 1_000_000, sent: 0 };
  const began = new Date().toISOString();
  /** @param {import("node:http").ServerResponse} response @param {any} value */
  const json = (response, value) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(value));
  };
  /** @param {URL} url @param {number} limit */
  const pageOf = (url, limit) => {
    const before = Number(url.searchParams.get("before") ?? state.total + 1);
    const list = Array.from({ length: Math.min(limit, before - 1) }, (_, k) => before - 1 - k);
    return { list, next: list.length && list[list.length - 1] > 1 ? String(list[list.length - 1]) : null };
  };
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://x");
    const limit = Number(url.searchParams.get("limit") ?? 100);
    if (url.pathname === "/console" || url.pathname.startsWith("/console/")) {
      const name = url.pathname.slice("/console/".length) || "index.html";
      const file = path.join(directory, path.basename(name));
      if (!fs.existsSync(file)) return void response.writeHead(404).end();
      response.writeHead(200, { "Content-Type": TYPES[path.extname(file)], "Content-Security-Policy": policy });
      return void response.end(fs.readFileSync(file));
    }
    if (url.pathname === "/v1/me") return json(response, { name: "root", operator: true, grants: true, profiles: [], limits: {}, used: {}, running: 0, waiting: 0, done: 0, refused: 0, expires_in_s: null });
    if (url.pathname === "/v1/events") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(`id: 0\nevent: hello\ndata: ${JSON.stringify({ time: new Date().toISOString(), server_started_at: began, version: "0", live: { running: 0, waiting: 0, sessions: 0, approvals: 0 }, ...(state.nodes ? { nodes: state.nodes.map((n) => n.node), nodes_missing: [] } : {}) })}\n\n`);
      streams.add(response);
      request.on("close", () => streams.delete(response));
      return undefined;
    }
    if (url.pathname === "/v1/cluster/nodes" && state.nodes) return json(response, { gateway: "a1", version: "0.1.0", nodes: state.nodes });
    if (url.pathname === "/v1/runs") {
      const { list, next } = pageOf(url, limit);
      return json(response, { runs: list.map((n) => ({ ...run(n), ended_at: new Date(Date.now() - (state.total - n) * 1000).toISOString() })), next, newest: String(state.total) });
    }
    if (url.pathname === "/v1/audit/records") {
      const { list, next } = pageOf(url, limit);
      return json(response, { records: list.map((n) => ({ seq: n, time: new Date(Date.now() - (state.total - n) * 1000).toISOString(), kind: "run", event: null, id: run(n).id, owner: "root", session_id: null, status: run(n).state, profile: "open", summary: run(n).code, wall_ms: n % 400 })), next, newest: String(state.total) });
    }
    if (url.pathname === "/v1/audit/head") return json(response, { v: 1, seq: state.total, hash: "0".repeat(64), time: began, key: "0".repeat(64), signature: "" });
    if (url.pathname === "/v1/doctor") return json(response, { grade: "A", meaning: "all layers are in place", layers: [] });
    if (url.pathname === "/metrics") return void response.writeHead(200, { "Content-Type": "text/plain" }).end('belljar_runs_total{status="success"} 1\n');
    response.writeHead(404, { "Content-Type": "application/json" });
    return void response.end('{"error":{"code":"not_found","message":"there is nothing at this path","hint":null}}');
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", () => done(undefined)));
  let owed = 0;
  let id = 0;
  const timer = setInterval(() => {
    owed += (state.rate * FLUSH_MS) / 1000;
    let text = "";
    for (; owed >= 1; owed--) {
      const n = ++state.n;
      const time = new Date().toISOString();
      const { id: run_id, language, profile, session_id, code, owner } = run(n);
      text += `id: ${++id}\nevent: run_started\ndata: ${JSON.stringify({ time, owner, id: run_id, language, profile, session_id, code, correlation_id: "c" })}\n\n`;
      text += `id: ${++id}\nevent: run_ended\ndata: ${JSON.stringify({ time, ...run(n) })}\n\n`;
      state.sent++;
    }
    if (text) for (const stream of streams) stream.write(text);
  }, FLUSH_MS);
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${address.port}`,
    state,
    stop: () => {
      clearInterval(timer);
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    },
  };
}
