/**
 * Strands Agents: `new Agent({ …, sandbox: new (strandsSandbox(strands))(session) })`.
 * @import { Session } from "./session.js"
 */
import { InvalidError, NotFoundError } from "./errors.js";
import { Sandbox, exitCode } from "./sandbox.js";

/** @typedef {{ timeout?: number | undefined, cwd?: string | undefined, signal?: AbortSignal | undefined, env?: Record<string, string> | undefined }} ExecuteOptions */
/** @typedef {{ type: "streamChunk", data: string, streamType: "stdout" | "stderr" }} StreamChunk */
/** @typedef {{ type: "executionResult", exitCode: number, stdout: string, stderr: string, outputFiles: never[] }} ExecutionResult */

/**
 * What is needed of `@strands-agents/sdk`.
 * @template {abstract new (...args: any[]) => any} B
 * @typedef {object} Strands
 * @property {B} Sandbox
 * @property {new (seconds: number, stdout?: string, stderr?: string) => Error} SandboxTimeoutError
 * @property {new () => Error} SandboxAbortError
 * @property {new (path: string) => Error} SandboxPathNotFoundError
 */

const LANGUAGE = /^[a-zA-Z0-9._-]+$/;

/**
 * The class of sandboxes for this copy of the framework, which is handed over: all that `@strands-agents/sdk` exports.
 * @template {abstract new (...args: any[]) => any} B
 * @param {Strands<B>} strands
 * @returns {new (session: Session, options?: { tools?: any[] }) => InstanceType<B>}
 */
export function strandsSandbox({ Sandbox: Base, SandboxTimeoutError, SandboxAbortError, SandboxPathNotFoundError }) {
  // The framework's own class is in no type of this package.
  const Parent = /** @type {new () => object} */ (/** @type {unknown} */ (Base));

  /** A session as the sandbox of an agent. The session stays open: end it with `session.close()`. */
  class BelljarSandbox extends Parent {
    /** @type {Sandbox} */
    #box;
    /** @type {any[]} */
    #tools;

    /**
     * @param {Session} session
     * @param {{ tools?: any[] }} [options] tools: those that agents with this sandbox get
     */
    constructor(session, { tools = [] } = {}) {
      super();
      this.#box = new Sandbox(session);
      this.#tools = tools;
    }

    getTools() {
      return [...this.#tools];
    }

    /**
     * @param {string | readonly string[]} words
     * @param {ExecuteOptions} options
     * @returns {AsyncGenerator<StreamChunk | ExecutionResult, void, undefined>}
     */
    async *#stream(words, { timeout, cwd, signal, env }) {
      if (signal?.aborted) throw new SandboxAbortError();
      const process = await this.#box.start(words, { timeout, cwd, env, signal });
      let isOver = false;
      try {
        for await (const { name, text } of process.output()) yield { type: "streamChunk", data: text, streamType: name };
        isOver = true;
      } finally {
        if (!isOver) await process.kill(); // the reader left
      }
      if (signal?.aborted) throw new SandboxAbortError();
      const result = await process.wait();
      if (result.status === "timeout") throw new SandboxTimeoutError(timeout ?? 0, result.stdout, result.stderr);
      yield { type: "executionResult", exitCode: exitCode(result), stdout: result.stdout, stderr: result.stderr, outputFiles: [] };
    }

    /**
     * @param {string} command
     * @param {ExecuteOptions} [options]
     * @returns {AsyncGenerator<StreamChunk | ExecutionResult, void, undefined>}
     */
    async *executeStreaming(command, options = {}) {
      yield* this.#stream(command, options);
    }

    /**
     * @param {string} code
     * @param {string} language the interpreter: python3, node, bash
     * @param {ExecuteOptions} [options]
     * @returns {AsyncGenerator<StreamChunk | ExecutionResult, void, undefined>}
     */
    async *executeCodeStreaming(code, language, options = {}) {
      if (!LANGUAGE.test(language)) throw new InvalidError(`\`${language}\` is not the name of an interpreter`);
      const file = await this.#box.stage(code);
      try {
        yield* this.#stream([language, file], options);
      } finally {
        await this.#box.unstage(file);
      }
    }

    /** @param {string} path */
    readFile(path) {
      return this.#box.read(path);
    }

    /**
     * @param {string} path
     * @param {Uint8Array} content
     */
    writeFile(path, content) {
      return this.#box.write(path, content);
    }

    /** @param {string} path */
    removeFile(path) {
      return this.#box.delete(path);
    }

    /** @param {string} path */
    async listFiles(path) {
      try {
        return (await this.#box.list(path)).map(({ name, kind, size }) => ({ name, isDir: kind === "directory", size }));
      } catch (error) {
        throw error instanceof NotFoundError ? new SandboxPathNotFoundError(path) : error;
      }
    }
  }

  return /** @type {any} */ (BelljarSandbox);
}
