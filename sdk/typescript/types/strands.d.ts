// Made from src/strands.js by tests/sdk/run.py --write. Do not edit.
/**
 * The class of sandboxes for this copy of the framework, which is handed over: all that `@strands-agents/sdk` exports.
 * @template {abstract new (...args: any[]) => any} B
 * @param {Strands<B>} strands
 * @returns {new (session: Session, options?: { tools?: any[] }) => InstanceType<B>}
 */
export function strandsSandbox<B extends abstract new (...args: any[]) => any>({ Sandbox: Base, SandboxTimeoutError, SandboxAbortError, SandboxPathNotFoundError }: Strands<B>): new (session: Session, options?: {
    tools?: any[];
}) => InstanceType<B>;
export type ExecuteOptions = {
    timeout?: number | undefined;
    cwd?: string | undefined;
    signal?: AbortSignal | undefined;
    env?: Record<string, string> | undefined;
};
export type StreamChunk = {
    type: "streamChunk";
    data: string;
    streamType: "stdout" | "stderr";
};
export type ExecutionResult = {
    type: "executionResult";
    exitCode: number;
    stdout: string;
    stderr: string;
    outputFiles: never[];
};
/**
 * What is needed of `@strands-agents/sdk`.
 */
export type Strands<B extends abstract new (...args: any[]) => any> = {
    Sandbox: B;
    SandboxTimeoutError: new (seconds: number, stdout?: string, stderr?: string) => Error;
    SandboxAbortError: new () => Error;
    SandboxPathNotFoundError: new (path: string) => Error;
};
import type { Session } from "./session.js";
