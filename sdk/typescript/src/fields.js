/** @import { Routes } from "../types/api.js" */
import { InvalidError } from "./errors.js";
import { toBase64 } from "./text.js";

/**
 * What a method takes beside the fields of its route.
 * @typedef {object} Asking
 * @property {AbortSignal} [signal] ends the request, and the run that it waits for
 */

/**
 * @typedef {object} Keyed
 * @property {string} [key] an idempotency key: after a broken connection the request is sent again, and takes effect once
 */

/** @typedef {NonNullable<Routes["POST /v1/run"]["json"]["files"]>[number]} GivenFile */
/** @typedef {{ files?: { [path: string]: string | Uint8Array } | GivenFile[] }} Given */

/** @typedef {Omit<Routes["POST /v1/run"]["json"], "code" | "detach" | "files"> & Given} RunBody */
/** @typedef {Omit<Routes["POST /v1/sessions/{session}/execute"]["json"], "code" | "detach" | "files"> & Given} CellBody */
/** @typedef {RunBody & Keyed & Asking} RunFields */
/** @typedef {Omit<Routes["POST /v1/jobs"]["json"], "code" | "files"> & Given & Keyed & Asking} JobFields */
/** @typedef {CellBody & Keyed & Asking} CellFields */
/** @typedef {Omit<Routes["POST /v1/sessions/{session}/commands"]["json"], "command" | "args" | "background"> & Keyed & Asking} CommandFields */
/** @typedef {Routes["POST /v1/sessions"]["json"] & Keyed & Asking} SessionFields */
/** @typedef {Omit<Routes["POST /v1/batch"]["json"]["runs"][number], "files"> & Given} BatchRun */
/** @typedef {Omit<Routes["POST /v1/batch"]["json"], "runs" | "files"> & Given & Keyed & Asking} BatchFields */

/**
 * Files as JSON has them: `{ path: content }` becomes a list.
 * @template {Given} T
 * @param {T} fields
 * @returns {Omit<T, "files"> & { files?: GivenFile[] }}
 */
export function withFiles(fields) {
  const { files, ...rest } = fields;
  if (files === undefined || files === null) return rest;
  return { ...rest, files: Array.isArray(files) ? files : Object.entries(files).map(([path, content]) => givenFile(path, content)) };
}

/**
 * @param {string} path
 * @param {unknown} content
 * @returns {GivenFile}
 */
function givenFile(path, content) {
  if (typeof content === "string") return { path, content };
  if (content instanceof Uint8Array) return { path, content: toBase64(content), encoding: "base64" };
  throw new InvalidError(`the content of \`${path}\` must be a string or a Uint8Array`);
}
