/// <reference lib="esnext.disposable" />
// Made from src/client.js by tests/sdk/run.py --write. Do not edit.
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
    /** @param {ClientOptions} [options] */
    constructor(options?: ClientOptions);
    skills: Skills;
    states: States;
    jobs: Jobs;
    /** Closes idle connections of a Unix socket. Sessions and jobs stay. */
    close(): void;
    /**
     * Any route of the server, with the types that it says: `client.call("GET /v1/stats")`.
     * @template {keyof Api.Routes} R
     * @param {R} route
     * @param {Asked<R>} [asked]
     * @returns {Promise<Api.Routes[R]["answer"]>}
     */
    call<R extends keyof Api.Routes>(route: R, asked?: Asked<R>): Promise<Api.Routes[R]["answer"]>;
    /**
     * Runs a program in a fresh sandbox, to its end. The signal ends it, unless it has a `key`.
     * @param {string} code
     * @param {RunFields} [fields]
     */
    run(code: string, { key, signal, ...fields }?: RunFields): Promise<Result>;
    /**
     * Checks a program against its profile, without running it. `violations` says what is refused.
     * @param {string} code
     * @param {RunFields} [fields]
     */
    check(code: string, { key, signal, ...fields }?: RunFields): Promise<Result>;
    /**
     * Runs a program and gives its events as they happen: iterate, or call `wait()` with callbacks.
     * @param {string} code
     * @param {RunFields} [fields]
     */
    stream(code: string, { key, signal, ...fields }?: RunFields): Events;
    /**
     * Starts a program that goes on without a connection. Its result is kept for a while. It ends with the server; `jobs` do not.
     * @param {string} code
     * @param {RunFields} [fields]
     */
    start(code: string, { key, signal, ...fields }?: RunFields): Promise<Job>;
    /**
     * A run that was started before, by its id.
     * @param {string} runId
     */
    job(runId: string): Job;
    /**
     * Your runs, the newest first. `state: "live"`: only those that wait or run. `session`: only cells of that one.
     * @param {Api.Routes["GET /v1/runs"]["query"] & Asking} [options]
     * @returns {Promise<Api.Runs["runs"]>}
     */
    runs({ signal, ...query }?: Api.Routes["GET /v1/runs"]["query"] & Asking): Promise<Api.Runs["runs"]>;
    /**
     * The result of an earlier run, which is kept for a while; null: it still runs.
     * @param {string} runId
     * @param {Asking} [asking]
     */
    result(runId: string, asking?: Asking): Promise<Result | null>;
    /**
     * Ends a run. False: it had ended.
     * @param {string} runId
     * @param {Asking} [asking]
     */
    cancel(runId: string, asking?: Asking): Promise<boolean>;
    /**
     * A part of an output that is longer than `output_bytes`, of a result with an `output_handle`: from a byte (`offset`), from a line
     * (`line`), or the lines that match (`search`).
     * @param {string} runId
     * @param {OutputFields} [fields]
     */
    output(runId: string, fields?: OutputFields): Promise<Api.Output>;
    /**
     * Runs up to 1000 programs and gives each as it ends, with its verdict. Leaving the loop cancels the rest, unless there is a `key`:
     * then a broken connection is taken up again.
     * @param {Iterable<BatchRun>} runs
     * @param {BatchFields} [common] what they have in common, such as `code`
     * @returns {AsyncGenerator<Case, void, undefined>}
     */
    batch(runs: Iterable<BatchRun>, { key, signal, ...common }?: BatchFields): AsyncGenerator<Case, void, undefined>;
    /**
     * What the audit trail has of a run: its program, its beginning and end, calls, connections, and the runs before and after it.
     * @param {string} runId
     * @param {Api.Routes["GET /v1/runs/{run}/record"]["query"] & Asking} [options]
     */
    runRecord(runId: string, { signal, ...query }?: Api.Routes["GET /v1/runs/{run}/record"]["query"] & Asking): Promise<Api.RunRecord>;
    /**
     * Everything that happens to your runs and sessions, from now on, without an end. `kinds`: some of run, command, session,
     * approval and change, with commas. `all`: of all tokens, for operators.
     * @param {Api.Routes["GET /v1/events"]["query"] & Asking} [options]
     */
    watch({ signal, ...query }?: Api.Routes["GET /v1/events"]["query"] & Asking): Events;
    /**
     * Calls of your programs that wait for approval; with `all`, of everybody's, for operators.
     * @param {Api.Routes["GET /v1/approvals"]["query"] & Asking} [options]
     * @returns {Promise<Api.Approval[]>}
     */
    approvals({ signal, ...query }?: Api.Routes["GET /v1/approvals"]["query"] & Asking): Promise<Api.Approval[]>;
    /**
     * Approves a call, or refuses it with false: this call with these arguments only.
     * @param {Api.Approval} approval
     * @param {boolean} [approve]
     * @param {{ accept_hidden?: number } & Asking} [options]
     *   accept_hidden: `hidden_bytes` of the question, to approve it although so much of it was not shown
     */
    approve(approval: Api.Approval, approve?: boolean, { accept_hidden, signal }?: {
        accept_hidden?: number;
    } & Asking): Promise<boolean>;
    /**
     * A line that a cell with `stdin_open` has asked for with the event `input`. Without a text: there are no more.
     * @param {string} runId
     * @param {string} [text]
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    sendLine(runId: string, text?: string, { signal }?: Asking): Promise<void>;
    /**
     * Runs whose changes in granted directories can be undone, the latest first.
     * @param {Asking} [asking]
     * @returns {Promise<Api.Undoable["runs"]>}
     */
    undoable({ signal }?: Asking): Promise<Api.Undoable["runs"]>;
    /**
     * Shows what an undo of this run would do.
     * @param {string} runId
     * @param {Asking} [asking]
     */
    runChanges(runId: string, { signal }?: Asking): Promise<Api.Undo>;
    /**
     * Undoes what a run changed in granted directories.
     * @param {string} runId
     * @param {{ dry_run?: boolean } & Asking} [options]
     */
    undo(runId: string, { dry_run, signal }?: {
        dry_run?: boolean;
    } & Asking): Promise<Api.Undo>;
    /**
     * Opens a session. `await using session = await client.session()` ends it with the block.
     * @param {SessionFields} [fields]
     */
    session({ key, signal, ...json }?: SessionFields): Promise<Session>;
    /**
     * An open session, by its name or id.
     * @param {string} name
     * @param {Asking} [asking]
     */
    getSession(name: string, { signal }?: Asking): Promise<Session>;
    /**
     * Your open sessions; with `all`, everybody's, for operators.
     * @param {Api.Routes["GET /v1/sessions"]["query"] & Asking} [options]
     * @returns {Promise<Session[]>}
     */
    sessions({ signal, ...query }?: Api.Routes["GET /v1/sessions"]["query"] & Asking): Promise<Session[]>;
    /**
     * Your snapshots, newest first. They are gone when the server ends.
     * @param {Asking} [asking]
     * @returns {Promise<Api.Snapshots["snapshots"]>}
     */
    snapshots({ signal }?: Asking): Promise<Api.Snapshots["snapshots"]>;
    /**
     * Forgets a snapshot. Sessions that were opened from it go on.
     * @param {string} name
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    deleteSnapshot(name: string, { signal }?: Asking): Promise<void>;
    /**
     * Languages of programs, and which of them the server's host can run. The first is the default.
     * @param {Asking} [asking]
     * @returns {Promise<Api.HostLanguages["languages"]>}
     */
    languages({ signal }?: Asking): Promise<Api.HostLanguages["languages"]>;
    /**
     * Name, rights and use of your token.
     * @param {Asking} [asking]
     */
    me({ signal }?: Asking): Promise<Api.Me>;
    /**
     * The public key of the audit trail: `key`, its name, and `pem`.
     * @param {Api.Routes["GET /v1/audit/key"]["query"] & Asking} [asking]
     */
    auditKey({ signal, ...query }?: Api.Routes["GET /v1/audit/key"]["query"] & Asking): Promise<Api.AuditKey>;
    /**
     * Whether a receipt, or a result with one, is genuine.
     * @param {any} receipt
     * @param {Asking} [asking]
     */
    checkReceipt(receipt: any, { signal }?: Asking): Promise<Api.ReceiptChecked>;
    /**
     * Adds a token and returns it, which nobody can do again. Only from the server's own machine.
     * @param {string} name
     * @param {Omit<Api.Routes["POST /v1/tokens"]["json"], "name"> & Asking} [options]
     * @returns {Promise<string>}
     */
    addToken(name: string, { signal, ...rights }?: Omit<Api.Routes["POST /v1/tokens"]["json"], "name"> & Asking): Promise<string>;
    /**
     * Removes a token with everything that it opened. Only from the server's own machine.
     * @param {string} name
     * @param {Asking} [asking]
     * @returns {Promise<void>}
     */
    removeToken(name: string, { signal }?: Asking): Promise<void>;
    /**
     * How well the server's host can isolate programs, as `belljar doctor --json` says.
     * @param {Asking} [asking]
     */
    doctor({ signal }?: Asking): Promise<Api.Doctor>;
    /**
     * Records of the audit trail, newest first.
     * @param {Api.Routes["GET /v1/audit/records"]["query"] & Asking} [filters]
     */
    audit({ signal, ...filters }?: Api.Routes["GET /v1/audit/records"]["query"] & Asking): Promise<any[]>;
    /**
     * The whole records of a run, a session or a correlation id, or the one with this number, of one machine (`node`) at a gateway.
     * @param {string} id
     * @param {Api.Routes["GET /v1/audit/records/{id}"]["query"] & Asking} [asking]
     */
    auditRecords(id: string, { signal, ...query }?: Api.Routes["GET /v1/audit/records/{id}"]["query"] & Asking): Promise<Api.AuditRecords>;
    /**
     * Records as they were written, oldest first, to be verified elsewhere: `lines`, and `pem`, the public key of the trail.
     * @param {Api.Routes["GET /v1/audit/lines"]["query"] & Asking} [asking]
     */
    auditLines({ signal, ...query }?: Api.Routes["GET /v1/audit/lines"]["query"] & Asking): Promise<Api.AuditLines>;
    /**
     * The machines of a cluster, as a gateway knows them: state, room, load, versions.
     * @param {Asking} [asking]
     */
    clusterNodes({ signal }?: Asking): Promise<Api.ClusterNodes>;
    /**
     * The signed head of the audit trail.
     * @param {Api.Routes["GET /v1/audit/head"]["query"] & Asking} [asking]
     */
    auditHead({ signal, ...query }?: Api.Routes["GET /v1/audit/head"]["query"] & Asking): Promise<Api.AuditHead>;
    /**
     * Reads the whole audit trail and says what is wrong with it.
     * @param {Api.Routes["POST /v1/audit/verify"]["query"] & Asking} [asking]
     */
    verifyAudit({ signal, ...query }?: Api.Routes["POST /v1/audit/verify"]["query"] & Asking): Promise<Api.AuditVerified>;
    /**
     * The settings in force and where each comes from.
     * @param {Asking} [asking]
     */
    settings({ signal }?: Asking): Promise<Api.Settings>;
    /**
     * Names, rights and use of the tokens, never the tokens themselves.
     * @param {Asking} [asking]
     */
    tokens({ signal }?: Asking): Promise<any[]>;
    /**
     * Figures about your token; for operators, about the server as well.
     * @param {Asking} [asking]
     */
    stats({ signal }?: Asking): Promise<Api.Stats>;
    /**
     * Figures for Prometheus. For operators.
     * @param {Asking} [asking]
     */
    metrics({ signal }?: Asking): Promise<string>;
    /**
     * The server's own description of its API.
     * @param {Asking} [asking]
     */
    openapi({ signal }?: Asking): Promise<Api.OpenApi>;
    [Symbol.asyncDispose](): Promise<void>;
    #private;
}
export type ClientOptions = {
    /**
     * http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH. Default: `BELLJAR_SERVER`, else the server of
     * the page, else this user's Unix socket
     */
    server?: string;
    /**
     * default: the content of `tokenFile`, else `BELLJAR_TOKEN`. The Unix socket needs none
     */
    token?: string;
    /**
     * a file with the token, where there are files
     */
    tokenFile?: string;
    /**
     * milliseconds without a byte from the server after which a request fails; 0: no limit of ours
     */
    timeoutMs?: number;
    /**
     * how often a request is sent again: if the server is busy (429), or if the connection broke and the
     * request is a GET or has a `key`
     */
    retries?: number;
    /**
     * the longest answer, line or event that is accepted
     */
    maxAnswerBytes?: number;
    /**
     * used instead of the global one
     */
    fetch?: Fetch;
};
import { Skills } from "./store.js";
import { States } from "./store.js";
import { Jobs } from "./durable.js";
import type * as Api from "../types/api.js";
import type { Asked } from "./transport.js";
import type { RunFields } from "./fields.js";
import { Result } from "./result.js";
import { Events } from "./events.js";
import { Job } from "./job.js";
import type { Asking } from "./fields.js";
import type { OutputFields } from "./job.js";
import type { BatchRun } from "./fields.js";
import type { BatchFields } from "./fields.js";
import { Case } from "./result.js";
import type { SessionFields } from "./fields.js";
import { Session } from "./session.js";
import type { Fetch } from "./socket.js";
