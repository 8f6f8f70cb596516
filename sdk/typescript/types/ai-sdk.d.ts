// Made from src/ai-sdk.js by tests/sdk/run.py --write. Do not edit.
/**
 * A session as the sandbox of an agent. The session stays open: end it with `session.close()`.
 * @param {Session} session
 * @param {{ description?: string }} [options] description: what an agent may be told about it
 */
export function aiSdkSandbox(session: Session, { description }?: {
    description?: string;
}): {
    description: string;
    /** @param {PathOptions} options */
    readFile: ({ path, abortSignal: signal }: PathOptions) => Promise<ReadableStream<Uint8Array<ArrayBuffer>> | null>;
    /** @param {PathOptions} options */
    readBinaryFile: ({ path, abortSignal: signal }: PathOptions) => Promise<Uint8Array<ArrayBuffer> | null>;
    /** @param {PathOptions & { encoding?: string, startLine?: number, endLine?: number }} options */
    readTextFile: ({ path, abortSignal: signal, encoding, startLine, endLine }: PathOptions & {
        encoding?: string;
        startLine?: number;
        endLine?: number;
    }) => Promise<string | null>;
    /** @param {PathOptions & { content: ReadableStream<Uint8Array> }} options */
    writeFile: ({ path, content, abortSignal: signal }: PathOptions & {
        content: ReadableStream<Uint8Array>;
    }) => Promise<void>;
    /** @param {PathOptions & { content: Uint8Array }} options */
    writeBinaryFile: ({ path, content, abortSignal: signal }: PathOptions & {
        content: Uint8Array;
    }) => Promise<void>;
    /** @param {PathOptions & { content: string, encoding?: string }} options */
    writeTextFile: ({ path, content, encoding, abortSignal: signal }: PathOptions & {
        content: string;
        encoding?: string;
    }) => Promise<void>;
    /** @param {PathOptions} options */
    stat: ({ path, abortSignal: signal }: PathOptions) => Promise<{
        type: "file" | "other" | "directory";
        size: number;
    } | null>;
    /** @param {PathOptions} options */
    listDirectory: ({ path, abortSignal: signal }: PathOptions) => Promise<{
        name: string;
        type: EntryType;
    }[] | null>;
    /** @param {PathOptions} options */
    deleteFile: ({ path, abortSignal: signal }: PathOptions) => Promise<boolean>;
    spawn: Spawn;
    /** @param {ProcessOptions} options */
    run: (options: ProcessOptions) => Promise<{
        exitCode: number;
        stdout: string;
        stderr: string;
    }>;
};
export type PathOptions = {
    path: string;
    abortSignal?: AbortSignal;
};
export type ProcessOptions = {
    command: string;
    workingDirectory?: string;
    env?: Record<string, string>;
    abortSignal?: AbortSignal;
};
export type SpawnedProcess = {
    stdout: ReadableStream<Uint8Array>;
    stderr: ReadableStream<Uint8Array>;
    wait(): Promise<{
        exitCode: number;
    }>;
    kill(): Promise<void>;
};
export type WritableProcess = SpawnedProcess & {
    stdin: WritableStream<Uint8Array>;
};
export type EntryType = "file" | "directory" | "symlink" | "other";
export type Spawn = {
    (options: ProcessOptions & {
        stdin: true;
    }): Promise<WritableProcess>;
    (options: ProcessOptions & {
        stdin?: false;
    }): Promise<SpawnedProcess>;
    (options: ProcessOptions & {
        stdin?: boolean;
    }): Promise<SpawnedProcess | WritableProcess>;
};
import type { Session } from "./session.js";
