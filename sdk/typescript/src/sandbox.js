/**
 * A session as frameworks see a sandbox: shell lines, processes with streams, files by any path. Adapters only translate names.
 * @import { Command } from "./commands.js"
 * @import { Events } from "./events.js"
 * @import { Result } from "./result.js"
 * @import { Session } from "./session.js"
 */
import { BelljarError, BusyError, DeniedError, InvalidError, NotFoundError, TooLargeError } from "./errors.js";
import { newKey } from "./job.js";

const WORKSPACE = "/workspace";
const MIB = 1 << 20;
/** The largest file that is read whole. */
const READ_BYTES = 100 * MIB;
const LINE_LENGTH = 32 * 1024; // a longer line goes through a file
const INPUT_PIECE = 256 * 1024;
const BUSY_MS = 20;
const UNWANTED = 1e15; // bytes of a stream that somebody else reads

/**
 * Exit codes of commands that have none, as timeout(1) and shells have them.
 * @type {{ [status: string]: number }}
 */
const EXIT_CODES = { timeout: 124, memory_exceeded: 137, cancelled: 130, refused: 126 };

/** @typedef {{ cwd?: string | undefined, env?: { [name: string]: string } | undefined, timeout?: number | undefined, signal?: AbortSignal | undefined }} RunOptions */
/** @typedef {{ name: string, kind: string, size: number }} Entry */

const SCRIPTS = {
  read: '[ -f "$1" ] || [ ! -e "$1" ] || [ -d "$1" ] || { echo "Not a regular file" >&2; exit 1; }; cp -- "$1" "$0"',
  write:
    'set -e; if [ -d "$1" ]; then echo "Is a directory" >&2; exit 1; fi; mkdir -p -- "$(dirname -- "$1")"; cat < "$0" > "$1"',
};

// A line that is too long for an argument is in a file, which is removed when it was read.
const READ_LINE = ["bash", "-c", 'line=$(cat "$0"; echo .); rm -f -- "$0"; eval "${line%.}"'];

/**
 * Messages of tools, and the errors that they are.
 * @type {[string, (path: string) => BelljarError][]}
 */
const SAID = [
  ["Is a directory", isDirectory],
  ["omitting directory", isDirectory],
  ["No such file or directory", (path) => new NotFoundError(`there is no \`${path}\``, { code: "not_found" })],
  ["Not a regular file", (path) => new InvalidError(`\`${path}\` is not a regular file`)],
  ["Not a directory", (path) => new InvalidError(`a part of \`${path}\` is not a directory`)],
  ["File exists", (path) => new InvalidError(`a part of \`${path}\` is not a directory`)],
  ["Permission denied", (path) => new DeniedError(`\`${path}\` is not accessible in the sandbox`, { code: "denied" })],
  ["Operation not permitted", (path) => new DeniedError(`\`${path}\` is not accessible in the sandbox`, { code: "denied" })],
  ["Read-only file system", (path) => new DeniedError(`\`${path}\` is read-only in the sandbox`, { code: "denied" })],
  ["No space left", (path) => new TooLargeError(`there is no room for \`${path}\``, { code: "too_large" })],
];

/** @type {{ [letter: string]: string }} */
const KINDS = { f: "file", d: "directory", l: "link" };

/** @param {string} path */
function isDirectory(path) {
  return new InvalidError(`\`${path}\` is a directory`, { code: "is_directory" });
}

/**
 * @param {string} said
 * @param {string} path
 */
function pathError(said, path) {
  for (const [words, error] of SAID) if (said.includes(words)) return error(path);
  return new BelljarError(`\`${path}\`: ${said.trim().split("\n").at(-1) || "the command failed"}`, { code: "error" });
}

/**
 * A path without `.` and `..`. A relative one begins in /workspace.
 * @param {string} path
 */
function absolute(path) {
  if (typeof path !== "string" || path === "" || path.includes("\0")) throw new InvalidError(`\`${String(path)}\` is not a path`);
  /** @type {string[]} */
  const parts = [];
  for (const part of (path.startsWith("/") ? path : `${WORKSPACE}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/**
 * The path below /workspace, "" for /workspace itself; null: it is elsewhere.
 * @param {string} path
 */
function inside(path) {
  if (path === WORKSPACE) return "";
  return path.startsWith(`${WORKSPACE}/`) ? path.slice(WORKSPACE.length + 1) : null;
}

/** @param {Result} result */
export function exitCode({ exit_code: code, ok, status }) {
  return code === null || (code === 0 && !ok) ? (EXIT_CODES[status] ?? 1) : code;
}

/** Whether an error is one of these, which the sandbox itself looks into. @param {unknown} error */
function isOfPath(error) {
  return error instanceof DeniedError || error instanceof InvalidError || error instanceof NotFoundError;
}

export class Sandbox {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
  }

  // --- commands ---

  /**
   * Starts a command once, also if the connection breaks. The signal kills it.
   * @param {string | readonly string[]} command
   * @param {RunOptions & { stdin_open?: boolean }} [options]
   */
  async start(command, { cwd, env, timeout, signal, stdin_open } = {}) {
    signal?.throwIfAborted();
    const fields = {
      ...(cwd === undefined ? {} : { workdir: absolute(cwd) }),
      ...(env === undefined ? {} : { env }),
      ...(timeout === undefined ? {} : { timeout_s: Math.max(1, timeout) }),
      ...(stdin_open ? { stdin_open } : {}),
    };
    if (typeof command !== "string" || command.length <= LINE_LENGTH) return new Process(await this.session.commands.start(command, fields), signal);
    const file = await this.stage(command);
    try {
      // One that could not begin has not removed it.
      return new Process(await this.session.commands.start([...READ_LINE, file], fields), signal, () => this.unstage(file));
    } catch (error) {
      await this.unstage(file);
      throw error;
    }
  }

  /**
   * Runs a line of Bash, or a program with its arguments, to its end.
   * @param {string | readonly string[]} command
   * @param {RunOptions} [options]
   */
  async run(command, options = {}) {
    return await (await this.start(command, options)).wait();
  }

  /**
   * Makes a file with this content, to be removed with `unstage()`.
   * @param {string | Uint8Array | ReadableStream<Uint8Array>} content
   */
  async stage(content) {
    const name = `.belljar-${await newKey()}`;
    await this.session.files.write(name, content, { new: true });
    return `${WORKSPACE}/${name}`;
  }

  /** @param {string} file */
  async unstage(file) {
    try {
      await this.session.files.delete(file.slice(WORKSPACE.length + 1));
    } catch (error) {
      if (!(error instanceof BelljarError)) throw error; // the session has ended, or a program took it away
    }
  }

  /**
   * Runs a command on a path; its failure becomes the error of that path.
   * @param {string[]} words
   * @param {string} path
   * @param {AbortSignal} [signal]
   */
  async #checked(words, path, signal) {
    const result = await this.run(words, { signal });
    if (!result.ok) throw pathError(result.stderr, path);
    return result.stdout;
  }

  // --- files ---

  /**
   * Uses a file that can be read as it is. Links are followed, and it may be anywhere in the sandbox.
   * @template T
   * @param {string} path
   * @param {(name: string) => Promise<T>} use
   * @param {AbortSignal} [signal]
   * @returns {Promise<T>}
   */
  async #reading(path, use, signal) {
    const whole = absolute(path);
    const plain = inside(whole);
    if (plain === "") throw isDirectory(whole);
    if (plain !== null) {
      try {
        return await use(plain);
      } catch (error) {
        if (!isOfPath(error)) throw error;
      }
    }
    const file = await this.stage("");
    try {
      await this.#checked(["bash", "-c", SCRIPTS.read, file, whole], whole, signal);
      return await use(file.slice(WORKSPACE.length + 1));
    } finally {
      await this.unstage(file);
    }
  }

  /**
   * @param {string} path
   * @param {{ signal?: AbortSignal | undefined, maxBytes?: number }} [options]
   */
  read(path, { signal, maxBytes = READ_BYTES } = {}) {
    return this.#reading(
      path,
      async (name) => {
        const bytes = await this.session.files.read(name, { end: maxBytes + 1, ...(signal ? { signal } : {}) });
        if (bytes.length > maxBytes) throw new TooLargeError(`\`${path}\` is larger than ${maxBytes} bytes`, { code: "too_large" });
        return bytes;
      },
      signal,
    );
  }

  /**
   * Writes a file and makes missing directories. One that is there keeps its mode, and a link is followed.
   * @param {string} path
   * @param {string | Uint8Array | ReadableStream<Uint8Array>} content
   * @param {{ signal?: AbortSignal | undefined }} [options]
   * @returns {Promise<void>}
   */
  async write(path, content, { signal } = {}) {
    const whole = absolute(path);
    const plain = inside(whole);
    if (plain === "") throw isDirectory(whole);
    signal?.throwIfAborted();
    if (plain !== null && !(content instanceof ReadableStream)) {
      try {
        await this.session.files.write(plain, content, { new: true, ...(signal ? { signal } : {}) });
        return;
      } catch (error) {
        if (!isOfPath(error)) throw error; // else something is there, or on the way
      }
    }
    const file = await this.stage(content);
    try {
      await this.#checked(["bash", "-c", SCRIPTS.write, file, whole], whole, signal);
    } finally {
      await this.unstage(file);
    }
  }

  /**
   * Deletes a file or a link.
   * @param {string} path
   * @param {{ signal?: AbortSignal | undefined }} [options]
   */
  async delete(path, { signal } = {}) {
    const whole = absolute(path);
    await this.#checked(["rm", "--", whole], whole, signal);
  }

  /**
   * The kind and size of what a path leads to.
   * @param {string} path
   * @param {{ signal?: AbortSignal | undefined }} [options]
   */
  async stat(path, { signal } = {}) {
    const whole = absolute(path);
    const said = await this.#checked(["find", "-L", whole, "-maxdepth", "0", "-printf", "%Y %s"], whole, signal);
    const [letter = "", size = "0"] = said.split(" ");
    if (letter === "N") throw pathError("No such file or directory", whole); // a link that leads nowhere
    return { kind: KINDS[letter] ?? "other", size: Number(size) };
  }

  /**
   * The entries of a directory; links among them are not followed.
   * @param {string} path
   * @param {{ signal?: AbortSignal | undefined }} [options]
   * @returns {Promise<Entry[]>}
   */
  async list(path, { signal } = {}) {
    const whole = absolute(path);
    const words = ["find", "-H", `${whole}/.`, "-mindepth", "1", "-maxdepth", "1", "-printf", "%y %s %f\\0"];
    const result = await this.run(words, { signal });
    if (!result.ok) throw pathError(result.stderr, whole);
    if (result.raw.truncated?.stdout) throw new TooLargeError(`\`${whole}\` has too many entries`, { code: "too_large" });
    const rows = result.stdout.split("\0").filter((row) => row && !/^\w \d+ \.belljar-/.test(row));
    return rows.map((row) => {
      const [, letter = "", size = "0", name = ""] = /^(\w) (\d+) (.*)$/s.exec(row) ?? [];
      return { name, kind: KINDS[letter] ?? "other", size: Number(size) };
    });
  }
}

/** A command that runs. */
export class Process {
  #command;
  #signal;
  #abort;
  #clean;

  /**
   * @param {Command} command
   * @param {AbortSignal | undefined} signal
   * @param {() => Promise<void>} [clean] after its end
   */
  constructor(command, signal, clean = async () => {}) {
    this.#command = command;
    this.#clean = clean;
    this.#signal = signal;
    this.#abort = () => void this.kill();
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  /** Its result. Rejects with the signal's reason if that ended it. */
  async wait() {
    try {
      const result = await this.#command.wait();
      this.#signal?.throwIfAborted();
      return result;
    } finally {
      this.#signal?.removeEventListener("abort", this.#abort);
      await this.#clean();
    }
  }

  /** Kills it and what it started, however often. */
  async kill() {
    try {
      await this.#command.kill();
    } catch (error) {
      if (!(error instanceof BelljarError)) throw error; // the session has ended, and so has the command
    }
  }

  /**
   * What it writes, as it comes. A command that has ended has its output only in its result.
   * @param {readonly ("stdout" | "stderr")[]} [names]
   * @param {Events} [events]
   * @returns {AsyncGenerator<{ name: "stdout" | "stderr", text: string }, void, undefined>}
   */
  async *output(names = ["stdout", "stderr"], events = this.#command.events()) {
    const had = { stdout: 0, stderr: 0 };
    let isWhole = true;
    for await (const { kind, data } of events) {
      if (kind === "dropped") isWhole = false;
      if (kind === "stdout" || kind === "stderr") {
        had[kind] += data.text.length;
        yield { name: kind, text: data.text };
      } else if (kind === "result") {
        for (const name of names) {
          const rest = had[name] === 0 || (isWhole && !data.raw.truncated?.[name]) ? data[name].slice(had[name]) : "";
          if (rest) yield { name, text: rest };
        }
      }
    }
  }

  /**
   * The bytes of one of its streams, as fast as they are read.
   * @param {"stdout" | "stderr"} name
   * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
   */
  stream(name) {
    const encoder = new TextEncoder();
    const events = this.#command.events({ [name === "stdout" ? "stderr" : "stdout"]: UNWANTED });
    const pieces = this.output([name], events);
    return new ReadableStream(
      {
        async pull(control) {
          const next = await pieces.next();
          if (next.done) control.close();
          else control.enqueue(encoder.encode(next.value.text));
        },
        cancel: () => events.close(),
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * Its standard input. Closing it is the end of the input, not of the command.
   * @returns {WritableStream<Uint8Array>}
   */
  input() {
    const send = (/** @type {Uint8Array} */ piece, close = false) => this.#send(piece, close);
    return new WritableStream({
      async write(bytes) {
        for (let at = 0; at < bytes.length; at += INPUT_PIECE) await send(bytes.subarray(at, at + INPUT_PIECE));
      },
      close: () => send(new Uint8Array(0), true),
      abort: () => send(new Uint8Array(0), true).catch(() => {}),
    });
  }

  /**
   * Waits until the command has read what came before.
   * @param {Uint8Array} piece
   * @param {boolean} close
   */
  async #send(piece, close) {
    for (;;) {
      try {
        return await this.#command.write(piece, { close });
      } catch (error) {
        if (!(error instanceof BusyError)) throw error;
        this.#signal?.throwIfAborted();
        await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
      }
    }
  }
}
