/** Text of strangers: what cannot be seen is made visible, and long texts are cut. */

// Controls, formatting and direction characters, blanks that look like nothing, tags and variation selectors, lone surrogates.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\r/gu;
const PICTOGRAPH = /\p{Extended_Pictographic}|[\u{1f3fb}-\u{1f3ff}]|\ufe0f/u;

export const MARKS_MAX = 2000; // elements for hidden characters in one text; further ones are plain text

/**
 * @typedef {string | {hidden: string}} Part
 */

/** @param {string} c */
export function nameOf(c) {
  const code = c.codePointAt(0) ?? 0;
  return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : code < 65536 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
}

/**
 * @param {string} text
 * @param {{oneLine?: boolean}} [options]  oneLine: line ends and tabs are marked as well
 * @returns {Part[]}
 */
export function visible(text, options = {}) {
  /** @type {Part[]} */
  const parts = [];
  let from = 0;
  let marks = 0;
  let plain = "";
  const pattern = options.oneLine ? new RegExp(HIDDEN.source + "|[\\n\\t]", "gu") : HIDDEN;
  for (const match of text.matchAll(pattern)) {
    const c = match[0];
    const at = match.index ?? 0;
    if (joinsEmoji(text, at, c)) continue;
    plain += text.slice(from, at);
    from = at + c.length;
    const shown = c === "\n" ? "\\n" : c === "\t" ? "\\t" : c === "\r" ? "\\r" : nameOf(c);
    if (++marks > MARKS_MAX) {
      plain += shown;
      continue;
    }
    if (plain) parts.push(plain);
    plain = "";
    parts.push({ hidden: shown });
  }
  plain += text.slice(from);
  if (plain || !parts.length) parts.push(plain);
  return parts;
}

/**
 * Selectors and joiners within an emoji are what they are for.
 * @param {string} text
 * @param {number} at
 * @param {string} c
 */
function joinsEmoji(text, at, c) {
  if (c !== "\u200d" && c !== "\ufe0f") return false;
  const before = at >= 2 && /[\udc00-\udfff]/.test(text[at - 1]) ? text.slice(at - 2, at) : text.slice(Math.max(0, at - 1), at);
  if (!PICTOGRAPH.test(before)) return false;
  return c === "\ufe0f" || PICTOGRAPH.test(String.fromCodePoint(text.codePointAt(at + 1) ?? 0));
}

/**
 * The same as one string, for titles and attributes.
 * @param {unknown} text
 * @param {number} [max]
 */
export function flat(text, max = 300) {
  const whole = String(text ?? "");
  const cut = whole.length > max ? whole.slice(0, max) + "…" : whole;
  return visible(cut, { oneLine: true })
    .map((p) => (typeof p === "string" ? p : p.hidden))
    .join("");
}

/**
 * Beginning and end of a text that is too long to show.
 * @param {string} text
 * @param {number} max
 * @returns {{head: string, left_out: number, tail: string}}
 */
export function ends(text, max) {
  if (text.length <= max) return { head: text, left_out: 0, tail: "" };
  let head = text.slice(0, max >> 1);
  let tail = text.slice(text.length - (max >> 1));
  head = head.slice(0, head.lastIndexOf("\n") + 1 || head.length);
  tail = tail.slice(tail.indexOf("\n") + 1);
  return { head, left_out: text.length - head.length - tail.length, tail };
}
