/** Numbers, sizes and times as people read them. */

/** The server's clock less this computer's, in milliseconds. */
let clockOffset = 0;

/** @param {string | undefined | null} time  what the server said its time is */
export function setServerTime(time) {
  const at = Date.parse(time ?? "");
  if (Number.isFinite(at)) clockOffset = at - Date.now();
}

export function serverNow() {
  return Date.now() + clockOffset;
}

/** @param {number | null | undefined} n */
export function count(n) {
  return n === null || n === undefined || !Number.isFinite(n) ? "–" : Math.round(n).toLocaleString("en-US").replaceAll(",", "\u2009");
}

/** @param {number | null | undefined} n */
export function bytes(n) {
  if (n === null || n === undefined || !Number.isFinite(n)) return "–";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  let value = n;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at++;
  }
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

/** @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return span(ms / 1000);
}

/** @param {number | null | undefined} seconds */
export function span(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

/**
 * @param {number} at  milliseconds
 * @param {number} [now]
 */
export function ago(at, now = serverNow()) {
  const s = (now - at) / 1000;
  if (!Number.isFinite(s)) return "–";
  if (s < 0) return s > -5 ? "now" : `in ${span(-s)}`;
  if (s < 1) return "now";
  if (s < 3600) return `${span(s)} ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} d ago`;
}

/** @param {number} at */
export function exact(at) {
  if (!Number.isFinite(at)) return "–";
  const d = new Date(at);
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, "0")}`;
}

/**
 * The beginning and the end of an id: enough to tell two apart.
 * @param {string | null | undefined} id
 */
export function shortId(id) {
  if (!id) return "–";
  return id.length <= 14 ? id : `${id.slice(0, id.indexOf("_") + 1)}…${id.slice(-6)}`;
}

/** @param {Record<string, unknown>} values */
export function query(values) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined && value !== null && value !== "" && value !== false) parts.set(name, String(value));
  const text = parts.toString();
  return text ? `?${text}` : "";
}
