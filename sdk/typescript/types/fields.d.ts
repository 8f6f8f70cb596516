// Made from src/fields.js by tests/sdk/run.py --write. Do not edit.
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
export function withFiles<T extends Given>(fields: T): Omit<T, "files"> & {
    files?: GivenFile[];
};
/**
 * What a method takes beside the fields of its route.
 */
export type Asking = {
    /**
     * ends the request, and the run that it waits for
     */
    signal?: AbortSignal;
};
export type Keyed = {
    /**
     * an idempotency key: after a broken connection the request is sent again, and takes effect once
     */
    key?: string;
};
export type GivenFile = NonNullable<Routes["POST /v1/run"]["json"]["files"]>[number];
export type Given = {
    files?: {
        [path: string]: string | Uint8Array;
    } | GivenFile[];
};
export type RunBody = Omit<Routes["POST /v1/run"]["json"], "code" | "detach" | "files"> & Given;
export type CellBody = Omit<Routes["POST /v1/sessions/{session}/execute"]["json"], "code" | "detach" | "files"> & Given;
export type RunFields = RunBody & Keyed & Asking;
export type JobFields = Omit<Routes["POST /v1/jobs"]["json"], "code" | "files"> & Given & Keyed & Asking;
export type CellFields = CellBody & Keyed & Asking;
export type CommandFields = Omit<Routes["POST /v1/sessions/{session}/commands"]["json"], "command" | "args" | "background"> & Keyed & Asking;
export type SessionFields = Routes["POST /v1/sessions"]["json"] & Keyed & Asking;
export type BatchRun = Omit<Routes["POST /v1/batch"]["json"]["runs"][number], "files"> & Given;
export type BatchFields = Omit<Routes["POST /v1/batch"]["json"], "runs" | "files"> & Given & Keyed & Asking;
import type { Routes } from "../types/api.js";
