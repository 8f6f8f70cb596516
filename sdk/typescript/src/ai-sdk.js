/**
 * Vercel AI SDK: `generateText({ …, experimental_sandbox: aiSdkSandbox(session) })`. Tools get it as `experimental_sandbox`.
 * @import { Session } from "./session.js"
 */
import { InvalidError, NotFoundError } from "./errors.js";
import { Sandbox, exitCode } from "./sandbox.js";

/** @typedef {{ path: string, abortSignal?: AbortSignal }} PathOptions */
/** @typedef {{ command: string, workingDirectory?: string, env?: Record<string, string>, abortSignal?: AbortSignal }} ProcessOptions */
/** @typedef {{ stdout: ReadableStream<Uint8Array>, stderr: ReadableStream<Uint8Array>, wait(): Promise<{ exitCode: number }>, kill(): Promise<void> }} SpawnedProcess */
/** @typedef {SpawnedProcess & { stdin: WritableStream<Uint8Array> }} WritableProcess */
/** @typedef {"file" | "directory" | "symlink" | "other"} EntryType */

/**
 * @typedef {{
 *   (options: ProcessOptions & { stdin: true }): Promise<WritableProcess>;
 *   (options: ProcessOptions & { stdin?: false }): Promise<SpawnedProcess>;
 *   (options: ProcessOptions & { stdin?: boolean }): Promise<SpawnedProcess | WritableProcess>;
 * }} Spawn
 */

/** @type {{ [kind: string]: EntryType }} */
const TYPES = { file: "file", directory: "directory", link: "symlink" };

/**
 * Null for what does not exist.
 * @template T
 * @param {Promise<T>} work
 */
async function orNull(work) {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

/** @param {ProcessOptions} options */
function runOptions({ workingDirectory, env, abortSignal }) {
  return { cwd: workingDirectory, env, signal: abortSignal };
}

/**
 * The encodings that a TextEncoder cannot make.
 * @param {string} text
 * @param {string} [encoding]
 */
function encode(text, encoding = "utf-8") {
  const name = encoding.toLowerCase();
  if (name === "utf-8" || name === "utf8") return new TextEncoder().encode(text);
  if (name !== "latin1" && name !== "ascii") throw new InvalidError(`\`${encoding}\` is not supported`, { hint: "utf-8, latin1 or ascii" });
  const most = name === "ascii" ? 0x7f : 0xff;
  return Uint8Array.from(text, (c) => {
    const code = /** @type {number} */ (c.codePointAt(0));
    if (code > most) throw new InvalidError(`the text has a character that ${name} lacks`);
    return code;
  });
}

/**
 * Of a text, the lines from the first to the last, counted from 1.
 * @param {string} text
 * @param {number} [first]
 * @param {number} [last]
 */
function lines(text, first = 1, last = Infinity) {
  if (!(first >= 1) || last < first) throw new InvalidError("`startLine` must be at least 1, and `endLine` not before it");
  return first === 1 && last === Infinity ? text : text.split(/(?<=\n)/).slice(first - 1, last).join("");
}

/**
 * A session as the sandbox of an agent. The session stays open: end it with `session.close()`.
 * @param {Session} session
 * @param {{ description?: string }} [options] description: what an agent may be told about it
 */
export function aiSdkSandbox(session, { description } = {}) {
  const box = new Sandbox(session);
  const ports = "Nobody outside can connect to it, and it reaches only the hosts that were granted.";

  /** @param {ProcessOptions & { stdin?: boolean }} options */
  const spawn = async (options) => {
    const process = await box.start(options.command, { ...runOptions(options), stdin_open: options.stdin === true });
    const common = {
      stdout: process.stream("stdout"),
      stderr: process.stream("stderr"),
      wait: async () => ({ exitCode: exitCode(await process.wait()) }),
      kill: () => process.kill(),
    };
    return options.stdin === true ? { ...common, stdin: process.input() } : common;
  };

  return {
    description: description ?? `A Linux sandbox with Bash. Relative paths begin in /workspace. ${ports}`,

    /** @param {PathOptions} options */
    readFile: ({ path, abortSignal: signal }) => orNull(box.read(path, { signal }).then((bytes) => new Blob([bytes]).stream())),

    /** @param {PathOptions} options */
    readBinaryFile: ({ path, abortSignal: signal }) => orNull(box.read(path, { signal })),

    /** @param {PathOptions & { encoding?: string, startLine?: number, endLine?: number }} options */
    readTextFile: async ({ path, abortSignal: signal, encoding = "utf-8", startLine, endLine }) => {
      const bytes = await orNull(box.read(path, { signal }));
      return bytes === null ? null : lines(new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes), startLine, endLine);
    },

    /** @param {PathOptions & { content: ReadableStream<Uint8Array> }} options */
    writeFile: ({ path, content, abortSignal: signal }) => box.write(path, content, { signal }),

    /** @param {PathOptions & { content: Uint8Array }} options */
    writeBinaryFile: ({ path, content, abortSignal: signal }) => box.write(path, content, { signal }),

    /** @param {PathOptions & { content: string, encoding?: string }} options */
    writeTextFile: async ({ path, content, encoding, abortSignal: signal }) => await box.write(path, encode(content, encoding), { signal }),

    /** @param {PathOptions} options */
    stat: async ({ path, abortSignal: signal }) => {
      const found = await orNull(box.stat(path, { signal }));
      if (!found) return null;
      const type = /** @type {"file" | "directory" | "other"} */ (found.kind === "file" || found.kind === "directory" ? found.kind : "other");
      return { type, size: found.size };
    },

    /** @param {PathOptions} options */
    listDirectory: async ({ path, abortSignal: signal }) => {
      const found = await orNull(box.list(path, { signal }));
      return found && found.map(({ name, kind }) => ({ name, type: TYPES[kind] ?? "other" }));
    },

    /** @param {PathOptions} options */
    deleteFile: async ({ path, abortSignal: signal }) => (await orNull(box.delete(path, { signal }).then(() => true))) ?? false,

    spawn: /** @type {Spawn} */ (spawn),

    /** @param {ProcessOptions} options */
    run: async (options) => {
      const result = await box.run(options.command, runOptions(options));
      return { exitCode: exitCode(result), stdout: result.stdout, stderr: result.stderr };
    },
  };
}
