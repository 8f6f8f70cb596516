/** Reads a unified diff into lines with numbers, alone or in pairs. */

/**
 * @typedef {object} Line
 * @property {"same" | "old" | "new" | "hunk" | "note"} kind
 * @property {number | null} before
 * @property {number | null} after
 * @property {string} text
 * @property {[number, number]} [changed]   the part that differs from its partner
 */

export const LINES_MAX = 5000; // shown of one file

/**
 * @param {string} text
 * @returns {{lines: Line[], left_out: number}}
 */
export function parseDiff(text) {
  /** @type {Line[]} */
  const lines = [];
  let before = 0;
  let after = 0;
  let inHunk = false;
  const all = text.split("\n");
  if (all[all.length - 1] === "") all.pop();
  for (const line of all) {
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (head) {
      before = Number(head[1]);
      after = Number(head[2]);
      inHunk = true;
      lines.push({ kind: "hunk", before: null, after: null, text: line });
    } else if (!inHunk) {
      if (!line.startsWith("--- ") && !line.startsWith("+++ ")) lines.push({ kind: "note", before: null, after: null, text: line });
    } else if (line.startsWith("-")) lines.push({ kind: "old", before: before++, after: null, text: line.slice(1) });
    else if (line.startsWith("+")) lines.push({ kind: "new", before: null, after: after++, text: line.slice(1) });
    else if (line.startsWith("\\")) lines.push({ kind: "note", before: null, after: null, text: line.slice(2) });
    else lines.push({ kind: "same", before: before++, after: after++, text: line.slice(1) });
  }
  const shown = lines.slice(0, LINES_MAX);
  markChanges(shown);
  return { lines: shown, left_out: lines.length - shown.length };
}

/**
 * Within as many new lines after as many old ones, each pair is compared.
 * @param {Line[]} lines
 */
function markChanges(lines) {
  for (let at = 0; at < lines.length; at++) {
    if (lines[at].kind !== "old") continue;
    let olds = 0;
    while (lines[at + olds]?.kind === "old") olds++;
    let news = 0;
    while (lines[at + olds + news]?.kind === "new") news++;
    if (olds === news) for (let n = 0; n < olds; n++) markPair(lines[at + n], lines[at + olds + n]);
    at += olds + news - 1;
  }
}

/**
 * @param {Line} a
 * @param {Line} b
 */
function markPair(a, b) {
  const max = Math.min(a.text.length, b.text.length);
  let head = 0;
  while (head < max && a.text[head] === b.text[head]) head++;
  let tail = 0;
  while (tail < max - head && a.text[a.text.length - 1 - tail] === b.text[b.text.length - 1 - tail]) tail++;
  if (head + tail === 0) return;
  // Never between the halves of a character.
  if (head && /[\ud800-\udbff]/.test(a.text[head - 1])) head--;
  if (tail && /[\udc00-\udfff]/.test(a.text[a.text.length - tail])) tail--;
  a.changed = [head, a.text.length - tail];
  b.changed = [head, b.text.length - tail];
}

/**
 * Rows of two columns: an old line beside the new one that took its place.
 * @param {Line[]} lines
 * @returns {{left: Line | null, right: Line | null}[]}
 */
export function pairs(lines) {
  /** @type {{left: Line | null, right: Line | null}[]} */
  const rows = [];
  for (let at = 0; at < lines.length; ) {
    if (lines[at].kind !== "old" && lines[at].kind !== "new") {
      rows.push({ left: lines[at], right: lines[at] });
      at++;
      continue;
    }
    const olds = [];
    const news = [];
    while (lines[at]?.kind === "old") olds.push(lines[at++]);
    while (lines[at]?.kind === "new") news.push(lines[at++]);
    for (let n = 0; n < Math.max(olds.length, news.length); n++) rows.push({ left: olds[n] ?? null, right: news[n] ?? null });
  }
  return rows;
}
