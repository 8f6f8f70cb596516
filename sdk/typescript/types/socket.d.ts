// Made from src/socket.js by tests/sdk/run.py --write. Do not edit.
/** `fetch` over a Unix socket, where there is `node:http`: Node, Bun and Deno. */
/** @typedef {(url: string, init: RequestInit & { duplex?: "half" }) => Promise<Response>} Fetch */
/**
 * A module of Node's. The name is not written into the import, so that bundlers for browsers pass over it.
 * @param {string} name
 * @returns {Promise<any>}
 */
export function nodeModule(name: string): Promise<any>;
/**
 * @param {string} path of the socket
 * @returns {Fetch & { close: () => void }}
 */
export function socketFetch(path: string): Fetch & {
    close: () => void;
};
export type Fetch = (url: string, init: RequestInit & {
    duplex?: "half";
}) => Promise<Response>;
