import { InvalidError } from "./errors.js";

/**
 * The target of a request. A part stays one part, and a path stays below its route.
 * @param {string} path of a route, such as `/v1/runs/{run}`
 * @param {{ [name: string]: string }} parts
 * @param {{ [name: string]: string | number | boolean | null | undefined }} query
 * @returns {string}
 */
export function target(path, parts, query) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => (name === "path" ? quotePath(parts[name]) : quotePart(name, parts[name])));
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) asked.set(name, String(value));
  }
  const text = String(asked);
  return text ? `${filled}?${text}` : filled;
}

/**
 * @param {string} name
 * @param {unknown} part
 */
function quotePart(name, part) {
  if (typeof part !== "string" || part === "" || part === "." || part === "..") {
    throw new InvalidError(`\`${String(part)}\` is not a ${name}`, { hint: "it must not be empty, `.` or `..`" });
  }
  return quote(part);
}

/**
 * URLs resolve `..` on the way, and the request would reach another route.
 * @param {unknown} path
 */
function quotePath(path) {
  if (typeof path !== "string" || path === "" || path.split("/").some((part) => part === "." || part === "..")) {
    throw new InvalidError(`\`${String(path)}\` is not the path of a file`, { hint: "name it without `.` and `..`" });
  }
  return path.split("/").map(quote).join("/");
}

/** @param {string} text */
function quote(text) {
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw new InvalidError("a name has half of a character", { cause });
  }
}
