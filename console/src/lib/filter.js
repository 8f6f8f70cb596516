/** The address of a page and the filters in it: `#/runs/ID?status=error`. */

/**
 * @typedef {object} Place
 * @property {string[]} path
 * @property {Record<string, string>} query
 */

/**
 * @param {string} hash
 * @returns {Place}
 */
export function parsePlace(hash) {
  const text = hash.replace(/^#?\/?/, "");
  const [path, query = ""] = split(text, "?");
  return {
    path: path.split("/").filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/**
 * @param {string[]} path
 * @param {Record<string, unknown>} [query]
 */
export function placeHash(path, query = {}) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null && value !== "" && value !== false) parts.set(name, String(value));
  const text = parts.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/**
 * @param {string} text
 * @param {string} at
 */
function split(text, at) {
  const index = text.indexOf(at);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Whether a run of the event stream belongs to a list with these filters; `text` and times are only the server's to judge.
 * @param {Record<string, any>} run
 * @param {Record<string, string>} filter
 */
export function matchesRun(run, filter) {
  if (filter.status && run.state !== filter.status) return false;
  if (filter.owner && run.owner !== filter.owner) return false;
  if (filter.session && run.session_id !== filter.session) return false;
  if (filter.language && run.language !== filter.language) return false;
  if (filter.text && !String(run.code ?? "").toLowerCase().includes(filter.text.toLowerCase())) return false;
  return true;
}
