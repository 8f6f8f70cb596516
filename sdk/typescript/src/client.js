/**
 * @import * as Api from "../types/api.js"
 * @import { Asking, BatchFields, BatchRun, RunFields, SessionFields } from "./fields.js"
 * @import { OutputFields } from "./job.js"
 * @import { Fetch } from "./socket.js"
 * @import { Asked } from "./transport.js"
 */
import { parseAddress, usualServer, variable } from "./address.js";
import { Jobs } from "./durable.js";
import { InvalidError, Unreachable } from "./errors.js";
import { Events, answerApproval } from "./events.js";
import { withFiles } from "./fields.js";
import { Job, cancelRun, newKey, readOutput, readRun } from "./job.js";
import { Case, Result, list, member } from "./result.js";
import { Session } from "./session.js";
import { nodeModule, socketFetch } from "./socket.js";
import { Skills, States } from "./store.js";
import { Lines, Transport, load } from "./transport.js";

const BATCH_RETRIES = 2;
const MIB = 1 << 20;

const OPTIONS = ["server", "token", "tokenFile", "timeoutMs", "retries", "maxAnswerBytes", "fetch"];

/**
 * `new Client("http://…")` or a misspelled `server` would otherwise reach another server than meant.
 * @param {unknown} given
 * @returns {ClientOptions}
 */
function checkOptions(given) {
  const hint = "for example new Client({ server: \"http://127.0.0.1:8222\" })";
  if (typeof given !== "object" || !given || given instanceof URL) {
    throw new InvalidError("a client takes an object with options", { hint });
  }
  const unknown = Object.keys(given).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new InvalidError(`a client has no option \`${unknown}\``, { hint: `it has ${OPTIONS.join(", ")}` });
  }
  return given;
}

/**
 * @typedef {object} ClientOptions
 * @property {string} [server] http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH. Default: `BELLJAR_SERVER`, else the server of
 *   the page, else this user's Unix socket
 * @property {string} [token] default: the content of `tokenFile`, else `BELLJAR_TOKEN`. The Unix socket needs none
 * @property {string} [tokenFile] a file with the token, where there are files
 * @property {number} [timeoutMs] milliseconds without a byte from the server after which a request fails; 0: no limit of ours
 * @property {number} [retries] how often a request is sent again: if the server is busy (429), or if the connection broke and the
 *   request is a GET or has a `key`
 * @property {number} [maxAnswerBytes] the longest answer, line or event that is accepted
 * @property {Fetch} [fetch] used instead of the global one
 */

/** A server. Making a client sends nothing. */
export class Client {
  #transport;
  /** @type {() => void} */
  #close = () => {};

  /** @param {ClientOptions} [options] */
  constructor(options = {}) {
    const { server, token, tokenFile, timeoutMs = 600_000, retries = 2, maxAnswerBytes = 256 * MIB, fetch } = checkOptions(options);
    const address = parseAddress(server ?? usualServer());
    const known = token ?? (tokenFile === undefined ? variable("BELLJAR_TOKEN") : undefined);
    if ((known !== undefined || tokenFile !== undefined) && !address.isPrivate) {
      throw new InvalidError("the token would be sent unencrypted", { hint: "use https://" });
    }
    /** @type {Fetch} */
    let used = fetch ?? ((url, init) => globalThis.fetch(url, init));
    if (address.socket && !fetch) {
      const over = socketFetch(address.socket);
      used = over;
      this.#close = over.close;
    }
    /** @type {Promise<string> | undefined} */
    let read;
    const readToken = async () => known ?? (tokenFile === undefined ? undefined : await (read ??= readFile(tokenFile)));
    this.#transport = new Transport({ address, fetch: used, token: readToken, timeoutMs, retries, maxAnswerBytes });
    this.skills = new Skills(this.#transport);
    this.states = new States(this.#transport);
    this.jobs = new Jobs(this.#transport);
  }

  /** Closes idle connections of a Unix socket. Sessions and jobs stay. */
  close() {
    this.#close();
  }

  async [Symbol.asyncDispose]() {
    this.close();
  }

  /**
   * Any route of the server, with the types that it says: `client.call("GET /v1/stats")`.
   * @template {keyof Api.Routes} R
   * @param {R} route
   * @param {Asked<R>} [asked]
   * @returns {Promise<Api.Routes[R]["answer"]>}
   */
  call(route, asked) {
    return this.#transport.call(route, asked);
  }

  // --- runs ---

  /**
   * Runs a program in a fresh sandbox, to its end. The signal ends it, unless it has a `key`.
   * @param {string} code
   * @param {RunFields} [fields]
   */
  async run(code, { key, signal, ...fields } = {}) {
    return new Result(await this.#transport.call("POST /v1/run", { json: { ...withFiles(fields), code }, key, signal }));
  }

  /**
   * Checks a program against its profile, without running it. `violations` says what is refused.
   * @param {string} code
   * @param {RunFields} [fields]
   */
  async check(code, { key, signal, ...fields } = {}) {
    return new Result(await this.#transport.call("POST /v1/check", { json: { ...withFiles(fields), code }, key, signal }));
  }

  /**
   * Runs a program and gives its events as they happen: iterate, or call `wait()` with callbacks.
   * @param {string} code
   * @param {RunFields} [fields]
   */
  stream(code, { key, signal, ...fields } = {}) {
    return new Events(this.#transport, "POST /v1/run", { json: { ...withFiles(fields), code }, key, signal });
  }

  /**
   * Starts a program that goes on without a connection. Its result is kept for a while. It ends with the server; `jobs` do not.
   * @param {string} code
   * @param {RunFields} [fields]
   */
  async start(code, { key, signal, ...fields } = {}) {
    const asked = { json: { ...withFiles(fields), code, detach: true }, key: key ?? (await newKey()), signal };
    return new Job(this.#transport, member(await this.#transport.call("POST /v1/run", asked), "id", "string"));
  }

  /**
   * A run that was started before, by its id.
   * @param {string} runId
   */
  job(runId) {
    return new Job(this.#transport, runId);
  }

  /**
   * Your runs, the newest first. `state: "live"`: only those that wait or run. `session`: only cells of that one.
   * @param {Api.Routes["GET /v1/runs"]["query"] & Asking} [options]
   * @returns {Promise<Api.Runs["runs"]>}
   */
  async runs({ signal, ...query } = {}) {
    return list(await this.#transport.call("GET /v1/runs", { query, signal }), "runs");
  }

  /**
   * The result of an earlier run, which is kept for a while; null: it still runs.
   * @param {string} runId
   * @param {Asking} [asking]
   */
  result(runId, asking) {
    return readRun(this.#transport, runId, asking);
  }

  /**
   * Ends a run. False: it had ended.
   * @param {string} runId
   * @param {Asking} [asking]
   */
  cancel(runId, asking) {
    return cancelRun(this.#transport, runId, asking);
  }

  /**
   * A part of an output that is longer than `output_bytes`, of a result with an `output_handle`: from a byte (`offset`), from a line
   * (`line`), or the lines that match (`search`).
   * @param {string} runId
   * @param {OutputFields} [fields]
   */
  output(runId, fields = {}) {
    return readOutput(this.#transport, runId, fields);
  }

  /**
   * Runs up to 1000 programs and gives each as it ends, with its verdict. Leaving the loop cancels the rest, unless there is a `key`:
   * then a broken connection is taken up again.
   * @param {Iterable<BatchRun>} runs
   * @param {BatchFields} [common] what they have in common, such as `code`
   * @returns {AsyncGenerator<Case, void, undefined>}
   */
  async *batch(runs, { key, signal, ...common } = {}) {
    const json = { ...withFiles(common), runs: Array.from(runs, withFiles) };
    /** @type {Set<number>} */
    const seen = new Set();
    for (let left = BATCH_RETRIES; ; left--) {
      const exchange = await this.#transport.start("POST /v1/batch", { json, headers: { Accept: "application/x-ndjson" }, key, signal });
      try {
        const lines = new Lines(exchange, this.#transport.maxAnswerBytes);
        for (let line = await lines.next(); line !== null; line = await lines.next()) {
          const raw = line.trim() ? load(line) : null;
          if (raw?.summary) return;
          if (raw?.index === undefined) continue;
          const one = new Case(raw);
          if (seen.has(one.index)) continue;
          seen.add(one.index);
          yield one;
        }
        throw new Unreachable("the connection broke before the batch was over");
      } catch (error) {
        if (!(error instanceof Unreachable) || key === undefined || left === 0) throw error;
      } finally {
        exchange.close();
      }
    }
  }

  /**
   * What the audit trail has of a run: its program, its beginning and end, calls, connections, and the runs before and after it.
   * @param {string} runId
   * @param {Api.Routes["GET /v1/runs/{run}/record"]["query"] & Asking} [options]
   */
  runRecord(runId, { signal, ...query } = {}) {
    return this.#transport.call("GET /v1/runs/{run}/record", { parts: { run: runId }, query, signal });
  }

  /**
   * Everything that happens to your runs and sessions, from now on, without an end. `kinds`: some of run, command, session,
   * approval and change, with commas. `all`: of all tokens, for operators.
   * @param {Api.Routes["GET /v1/events"]["query"] & Asking} [options]
   */
  watch({ signal, ...query } = {}) {
    return new Events(this.#transport, "GET /v1/events", { query, signal });
  }

  // --- approvals ---

  /**
   * Calls of your programs that wait for approval; with `all`, of everybody's, for operators.
   * @param {Api.Routes["GET /v1/approvals"]["query"] & Asking} [options]
   * @returns {Promise<Api.Approval[]>}
   */
  async approvals({ signal, ...query } = {}) {
    return list(await this.#transport.call("GET /v1/approvals", { query, signal }), "approvals");
  }

  /**
   * Approves a call, or refuses it with false: this call with these arguments only.
   * @param {Api.Approval} approval
   * @param {boolean} [approve]
   * @param {{ accept_hidden?: number } & Asking} [options]
   *   accept_hidden: `hidden_bytes` of the question, to approve it although so much of it was not shown
   */
  approve(approval, approve = true, { accept_hidden, signal } = {}) {
    return answerApproval(this.#transport, approval, approve, accept_hidden, signal);
  }

  /**
   * A line that a cell with `stdin_open` has asked for with the event `input`. Without a text: there are no more.
   * @param {string} runId
   * @param {string} [text]
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async sendLine(runId, text, { signal } = {}) {
    const json = text === undefined ? { close: true } : { text };
    await this.#transport.call("POST /v1/runs/{run}/stdin", { parts: { run: runId }, json, signal });
  }

  // --- undo ---

  /**
   * Runs whose changes in granted directories can be undone, the latest first.
   * @param {Asking} [asking]
   * @returns {Promise<Api.Undoable["runs"]>}
   */
  async undoable({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/undo", { signal }), "runs");
  }

  /**
   * Shows what an undo of this run would do.
   * @param {string} runId
   * @param {Asking} [asking]
   */
  runChanges(runId, { signal } = {}) {
    return this.#transport.call("GET /v1/runs/{run}/changes", { parts: { run: runId }, signal });
  }

  /**
   * Undoes what a run changed in granted directories.
   * @param {string} runId
   * @param {{ dry_run?: boolean } & Asking} [options]
   */
  undo(runId, { dry_run = false, signal } = {}) {
    return this.#transport.call("POST /v1/runs/{run}/undo", { parts: { run: runId }, json: { dry_run }, signal });
  }

  // --- sessions ---

  /**
   * Opens a session. `await using session = await client.session()` ends it with the block.
   * @param {SessionFields} [fields]
   */
  async session({ key, signal, ...json } = {}) {
    return new Session(this.#transport, await this.#transport.call("POST /v1/sessions", { json, key, signal }));
  }

  /**
   * An open session, by its name or id.
   * @param {string} name
   * @param {Asking} [asking]
   */
  async getSession(name, { signal } = {}) {
    return new Session(this.#transport, await this.#transport.call("GET /v1/sessions/{session}", { parts: { session: name }, signal }));
  }

  /**
   * Your open sessions; with `all`, everybody's, for operators.
   * @param {Api.Routes["GET /v1/sessions"]["query"] & Asking} [options]
   * @returns {Promise<Session[]>}
   */
  async sessions({ signal, ...query } = {}) {
    return list(await this.#transport.call("GET /v1/sessions", { query, signal }), "sessions").map((raw) => new Session(this.#transport, raw));
  }

  /**
   * Your snapshots, newest first. They are gone when the server ends.
   * @param {Asking} [asking]
   * @returns {Promise<Api.Snapshots["snapshots"]>}
   */
  async snapshots({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/snapshots", { signal }), "snapshots");
  }

  /**
   * Forgets a snapshot. Sessions that were opened from it go on.
   * @param {string} name
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async deleteSnapshot(name, { signal } = {}) {
    await this.#transport.read("DELETE /v1/snapshots/{name}", { parts: { name }, signal });
  }

  // --- the server ---

  /**
   * Languages of programs, and which of them the server's host can run. The first is the default.
   * @param {Asking} [asking]
   * @returns {Promise<Api.HostLanguages["languages"]>}
   */
  async languages({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/languages", { signal }), "languages");
  }

  // --- about yourself ---

  /**
   * Name, rights and use of your token.
   * @param {Asking} [asking]
   */
  me({ signal } = {}) {
    return this.#transport.call("GET /v1/me", { signal });
  }

  /**
   * The public key of the audit trail: `key`, its name, and `pem`.
   * @param {Api.Routes["GET /v1/audit/key"]["query"] & Asking} [asking]
   */
  auditKey({ signal, ...query } = {}) {
    return this.#transport.call("GET /v1/audit/key", { query, signal });
  }

  /**
   * Whether a receipt, or a result with one, is genuine.
   * @param {any} receipt
   * @param {Asking} [asking]
   */
  checkReceipt(receipt, { signal } = {}) {
    return this.#transport.call("POST /v1/audit/receipt", { json: receipt, signal });
  }

  // --- for operators ---

  /**
   * Adds a token and returns it, which nobody can do again. Only from the server's own machine.
   * @param {string} name
   * @param {Omit<Api.Routes["POST /v1/tokens"]["json"], "name"> & Asking} [options]
   * @returns {Promise<string>}
   */
  async addToken(name, { signal, ...rights } = {}) {
    return member(await this.#transport.call("POST /v1/tokens", { json: { ...rights, name }, signal }), "token", "string");
  }

  /**
   * Removes a token with everything that it opened. Only from the server's own machine.
   * @param {string} name
   * @param {Asking} [asking]
   * @returns {Promise<void>}
   */
  async removeToken(name, { signal } = {}) {
    await this.#transport.read("DELETE /v1/tokens/{name}", { parts: { name }, signal });
  }

  /**
   * How well the server's host can isolate programs, as `belljar doctor --json` says.
   * @param {Asking} [asking]
   */
  doctor({ signal } = {}) {
    return this.#transport.call("GET /v1/doctor", { signal });
  }

  /**
   * Records of the audit trail, newest first.
   * @param {Api.Routes["GET /v1/audit/records"]["query"] & Asking} [filters]
   */
  async audit({ signal, ...filters } = {}) {
    return list(await this.#transport.call("GET /v1/audit/records", { query: filters, signal }), "records");
  }

  /**
   * The whole records of a run, a session or a correlation id, or the one with this number, of one machine (`node`) at a gateway.
   * @param {string} id
   * @param {Api.Routes["GET /v1/audit/records/{id}"]["query"] & Asking} [asking]
   */
  auditRecords(id, { signal, ...query } = {}) {
    return this.#transport.call("GET /v1/audit/records/{id}", { parts: { id }, query, signal });
  }

  /**
   * Records as they were written, oldest first, to be verified elsewhere: `lines`, and `pem`, the public key of the trail.
   * @param {Api.Routes["GET /v1/audit/lines"]["query"] & Asking} [asking]
   */
  auditLines({ signal, ...query } = {}) {
    return this.#transport.call("GET /v1/audit/lines", { query, signal });
  }

  /**
   * The machines of a cluster, as a gateway knows them: state, room, load, versions.
   * @param {Asking} [asking]
   */
  clusterNodes({ signal } = {}) {
    return this.#transport.call("GET /v1/cluster/nodes", { signal });
  }

  /**
   * The signed head of the audit trail.
   * @param {Api.Routes["GET /v1/audit/head"]["query"] & Asking} [asking]
   */
  auditHead({ signal, ...query } = {}) {
    return this.#transport.call("GET /v1/audit/head", { query, signal });
  }

  /**
   * Reads the whole audit trail and says what is wrong with it.
   * @param {Api.Routes["POST /v1/audit/verify"]["query"] & Asking} [asking]
   */
  verifyAudit({ signal, ...query } = {}) {
    return this.#transport.call("POST /v1/audit/verify", { query, json: {}, signal });
  }

  /**
   * The settings in force and where each comes from.
   * @param {Asking} [asking]
   */
  settings({ signal } = {}) {
    return this.#transport.call("GET /v1/config", { signal });
  }

  /**
   * Names, rights and use of the tokens, never the tokens themselves.
   * @param {Asking} [asking]
   */
  async tokens({ signal } = {}) {
    return list(await this.#transport.call("GET /v1/tokens", { signal }), "tokens");
  }

  /**
   * Figures about your token; for operators, about the server as well.
   * @param {Asking} [asking]
   */
  stats({ signal } = {}) {
    return this.#transport.call("GET /v1/stats", { signal });
  }

  /**
   * Figures for Prometheus. For operators.
   * @param {Asking} [asking]
   */
  async metrics({ signal } = {}) {
    return new TextDecoder().decode(await this.#transport.read("GET /metrics", { headers: { Accept: "text/plain" }, signal }));
  }

  /**
   * The server's own description of its API.
   * @param {Asking} [asking]
   */
  openapi({ signal } = {}) {
    return this.#transport.call("GET /openapi.json", { signal });
  }
}

/** @param {string} path */
async function readFile(path) {
  const { readFile } = await nodeModule("fs/promises");
  return String(await readFile(path, "utf8")).trim();
}
