import { InvalidError } from "./errors.js";

const PORT = 8222;
const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * The place of a server.
 * @typedef {object} Address
 * @property {string} origin what paths of routes are put after
 * @property {string | null} socket the path of a Unix socket
 * @property {boolean} isPrivate whether a token may be sent there
 * @property {string} name for messages
 */

/**
 * A variable of the environment, where there is one that may be read.
 * @param {string} name
 * @returns {string | undefined}
 */
export function variable(name) {
  try {
    return /** @type {any} */ (globalThis).process?.env?.[name] || undefined;
  } catch {
    return undefined; // Deno without --allow-env
  }
}

/** The usual server: of the environment, of the page, or the Unix socket of this user. */
export function usualServer() {
  const named = variable("BELLJAR_SERVER");
  if (named) return named;
  const { process, document, location } = /** @type {any} */ (globalThis);
  if ((document || !process) && /^https?:/.test(location?.origin ?? "")) return location.origin; // of a page, or of its worker
  let uid = 0;
  try {
    uid = process?.geteuid?.() ?? 0;
  } catch {
    uid = 0; // Deno without --allow-sys
  }
  const base = variable("XDG_RUNTIME_DIR") ?? (uid === 0 ? "/run" : `/run/user/${uid}`);
  return `unix:${base}/belljar/http.sock`;
}

/**
 * @param {string} server
 * @returns {Address}
 */
export function parseAddress(server) {
  const socket = server.startsWith("unix:") ? server.slice(5) : server.startsWith("/") ? server : null;
  if (socket) return { origin: "http://localhost", socket, isPrivate: true, name: socket };
  let url;
  try {
    url = new URL(server);
  } catch {
    url = null;
  }
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  if (!url || !isHttp || !url.hostname || url.pathname !== "/" || /[?#@]/.test(server)) {
    throw new InvalidError(`\`${server}\` is not the address of a server`, { hint: "http://HOST:PORT, https://HOST:PORT or unix:/PATH" });
  }
  // URL drops the usual port of its scheme, which is not ours.
  const port = url.port || /:(80|443)\/?$/.exec(server)?.[1] || String(PORT);
  const name = `${url.hostname}:${port}`;
  return { origin: `${url.protocol}//${name}`, socket: null, isPrivate: url.protocol === "https:" || LOCAL.has(url.hostname), name };
}
