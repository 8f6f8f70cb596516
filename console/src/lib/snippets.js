/** The same as what a page shows or does, with curl, from Python and TypeScript, and as a call of MCP. */

/**
 * @typedef {object} Call
 * @property {"GET" | "POST" | "DELETE" | "PUT"} method
 * @property {string} path
 * @property {any} [json]
 * @property {string} [python]      lines that use `client`
 * @property {string} [typescript]
 * @property {{tool: string, arguments: any}} [mcp]
 */

/** @param {string} text  in single quotes of a shell */
export function shellQuote(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * @param {any} value
 * @returns {string}
 */
export function pythonValue(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${pythonValue(k)}: ${pythonValue(v)}`).join(", ")}}`;
  if (typeof value === "string") return pythonText(value);
  return String(value);
}

/** @param {string} text */
function pythonText(text) {
  // JSON's escapes are Python's, but for halves of pairs; what cannot be seen is escaped, too.
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, (c) => (/[\p{L}\p{N}\p{P}\p{S}]/u.test(c) ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`));
}

/** @param {Record<string, any>} options */
function pythonArguments(options) {
  return Object.entries(options).map(([name, value]) => `, ${name}=${pythonValue(value)}`).join("");
}

/**
 * @param {string} origin
 * @param {Call} call
 * @returns {{name: string, text: string}[]}
 */
export function snippets(origin, call) {
  const body = call.json === undefined ? "" : ` \\\n     --json ${shellQuote(JSON.stringify(call.json))}`;
  const verb = call.method === "GET" || (call.method === "POST" && call.json !== undefined) ? "" : ` -X ${call.method}`;
  const list = [{ name: "curl", text: `curl -s${verb} ${shellQuote(origin + call.path)} \\\n     -H "Authorization: Bearer $BELLJAR_TOKEN"${body}` }];
  if (call.python) list.push({ name: "Python", text: `from belljar_client import Client\n\nclient = Client(${pythonValue(origin)})\n${call.python}` });
  if (call.typescript) list.push({ name: "TypeScript", text: `import { Client } from "belljar";\n\nconst client = new Client({ server: ${JSON.stringify(origin)} });\n${call.typescript}` });
  if (call.mcp)
    list.push({
      name: "MCP",
      text: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: call.mcp.tool, arguments: call.mcp.arguments } }, null, 2),
    });
  return list;
}

/**
 * @param {string} code
 * @param {Record<string, any>} options  fields of the request besides `code`
 * @returns {Call}
 */
export function runCall(code, options) {
  const js = JSON.stringify(options);
  return {
    method: "POST",
    path: "/v1/run",
    json: { code, ...options },
    python: `result = client.run(${pythonValue(code)}${pythonArguments(options)})\nprint(result.status, result.stdout)`,
    typescript: `const result = await client.run(${JSON.stringify(code)}${js === "{}" ? "" : `, ${js}`});\nconsole.log(result.status, result.stdout);`,
    mcp: { tool: "run_code", arguments: { code, language: options.language ?? "python" } },
  };
}

/**
 * @param {string} id  of a session
 * @param {Record<string, any>} body  of the request that applies what is chosen
 * @returns {Call}
 */
export function applyCall(id, body) {
  const { paths = null, ...rest } = body;
  return {
    method: "POST",
    path: `/v1/sessions/${encodeURIComponent(id)}/apply`,
    json: body,
    python: `session = client.get_session(${pythonValue(id)})\nsettled = session.apply(${pythonValue(paths)}${pythonArguments(rest)})\nprint(settled)`,
    typescript: `const session = await client.getSession(${JSON.stringify(id)});\nconsole.log(await session.apply(${JSON.stringify(paths)}, ${JSON.stringify(rest)}));`,
    mcp: { tool: "review_changes", arguments: { session_id: id } },
  };
}
