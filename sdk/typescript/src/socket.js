/** `fetch` over a Unix socket, where there is `node:http`: Node, Bun and Deno. */

/** @typedef {(url: string, init: RequestInit & { duplex?: "half" }) => Promise<Response>} Fetch */

/**
 * A module of Node's. The name is not written into the import, so that bundlers for browsers pass over it.
 * @param {string} name
 * @returns {Promise<any>}
 */
export function nodeModule(name) {
  const specifier = `node:${name}`;
  return import(/* @vite-ignore */ /* webpackIgnore: true */ specifier);
}

/**
 * @param {string} path of the socket
 * @returns {Fetch & { close: () => void }}
 */
export function socketFetch(path) {
  /** @type {any} */
  let agent = null;
  /** @type {Fetch} */
  const fetch = async (url, init) => {
    const http = await nodeModule("http");
    // Deno 2.9 does not close a socket that was used before when its request is destroyed, and the run would go on.
    agent ??= new http.Agent({ keepAlive: !("Deno" in globalThis), maxFreeSockets: 8, timeout: 4000 });
    const { pathname, search } = new URL(url);
    const request = http.request({
      socketPath: path,
      method: init.method,
      path: pathname + search,
      headers: { Host: "localhost", .../** @type {{ [name: string]: string }} */ (init.headers), ...lengthOf(init) },
      agent,
    });
    /** @type {Promise<any>} */
    const answered = new Promise((resolve, reject) => {
      request.on("response", resolve);
      request.on("error", reject); // after the answer it changes nothing: the server may answer early
      // Given to http.request(), the signal would stay with the socket, which is used again; after the answer the socket is not ours.
      const abort = () => {
        reject(init.signal?.reason);
        (request.res ?? request).destroy();
      };
      init.signal?.addEventListener("abort", abort);
      request.on("close", () => init.signal?.removeEventListener("abort", abort));
    });
    send(request, init.body ?? null).catch((error) => request.destroy(error));
    return response(await answered, init.signal ?? null);
  };
  return Object.assign(fetch, { close: () => agent?.destroy() });
}

/** @param {RequestInit} init */
function lengthOf({ body, method }) {
  if (typeof body === "string") return { "Content-Length": new TextEncoder().encode(body).length };
  if (body instanceof Uint8Array) return { "Content-Length": body.length };
  if (body instanceof Blob) return { "Content-Length": body.size };
  return body || method === "GET" ? {} : { "Content-Length": 0 };
}

/**
 * @param {any} request
 * @param {BodyInit | null} body
 */
async function send(request, body) {
  if (body instanceof Blob || body instanceof ReadableStream) {
    const reader = (body instanceof Blob ? body.stream() : body).getReader();
    let wake = () => {};
    for (const event of ["drain", "close"]) request.on(event, () => wake());
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      /** @type {Promise<void>} */
      const drained = new Promise((resolve) => (wake = resolve));
      if (!request.write(piece.value) && !request.destroyed) await drained;
      if (request.destroyed || request.res) break;
    }
    reader.cancel().catch(() => {});
    request.end();
  } else {
    request.end(body ?? undefined);
  }
}

/**
 * @param {any} message
 * @param {AbortSignal | null} signal
 * @returns {Response}
 */
function response(message, signal) {
  const chunks = message[Symbol.asyncIterator]();
  message.on("error", () => {}); // the iterator throws it
  const body = new ReadableStream(
    {
      async pull(control) {
        const { done, value } = await chunks.next();
        signal?.throwIfAborted();
        if (done) control.close();
        else control.enqueue(new Uint8Array(value));
      },
      cancel() {
        message.destroy();
      },
    },
    { highWaterMark: 0 },
  );
  const isEmpty = [204, 205, 304].includes(message.statusCode);
  if (isEmpty) message.resume();
  return new Response(isEmpty ? null : body, { status: message.statusCode, headers: flat(message.rawHeaders) });
}

/**
 * @param {string[]} raw names and values in turn
 * @returns {[string, string][]}
 */
function flat(raw) {
  /** @type {[string, string][]} */
  const pairs = [];
  for (let i = 0; i + 1 < raw.length; i += 2) pairs.push([String(raw[i]), String(raw[i + 1])]);
  return pairs;
}
