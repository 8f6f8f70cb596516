/** Reads what /metrics says, and makes rates and quantiles of two readings. */

/**
 * @typedef {Map<string, number>} Reading   "name{labels}" to value
 */

/**
 * @param {string} text
 * @returns {Reading}
 */
export function parseMetrics(text) {
  const reading = new Map();
  for (const line of text.split("\n")) {
    if (!line || line[0] === "#") continue;
    const space = line.lastIndexOf(" ");
    const value = Number(line.slice(space + 1));
    if (space > 0 && !Number.isNaN(value)) reading.set(line.slice(0, space), value);
  }
  return reading;
}

/**
 * @param {Reading} reading
 * @param {string} name
 */
export function sum(reading, name) {
  let total = 0;
  for (const [key, value] of reading) if (key === name || key.startsWith(name + "{")) total += value;
  return total;
}

/**
 * A quantile of what a histogram counted between two readings, by its buckets; null if nothing was.
 * @param {Reading} before
 * @param {Reading} after
 * @param {string} name
 * @param {number} q
 */
export function quantile(before, after, name, q) {
  /** @type {[number, number][]} */
  const buckets = [];
  for (const [key, value] of after) {
    const match = key.startsWith(name + "_bucket{") && /le="([^"]+)"/.exec(key);
    if (match) buckets.push([match[1] === "+Inf" ? Infinity : Number(match[1]), value - (before.get(key) ?? 0)]);
  }
  buckets.sort((a, b) => a[0] - b[0]);
  const total = buckets.length ? buckets[buckets.length - 1][1] : 0;
  if (total <= 0) return null;
  let lower = 0;
  let below = 0;
  for (const [limit, up] of buckets) {
    if (up >= q * total) return limit === Infinity ? lower : lower + ((limit - lower) * (q * total - below)) / Math.max(1, up - below);
    lower = limit;
    below = up;
  }
  return lower;
}
