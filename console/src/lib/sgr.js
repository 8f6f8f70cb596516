/** Colours and weights of terminal output (SGR). Every other control sequence is dropped, as it is where Belljar writes to a terminal. */

/**
 * @typedef {{text: string, style: string}} Span   style: names of classes, "" for plain
 */

export const SPANS_MAX = 4000; // of one text; the rest is plain

// CSI; OSC, DCS, SOS, PM and APC with their text; other escapes of two or three characters; C1 forms of the same.
const SEQUENCE =
  /(?:\x1b\[|\x9b)([0-?]*)[ -/]*([@-~])|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,65536}(?:\x07|\x1b\\|\x9c|$)|\x1b[ -/]{1,2}[0-~]|\x1b[0-OQ-WYZ\\`-~]|\x1b$/g;

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** @typedef {{fg: string, bg: string, bold: boolean, dim: boolean, italic: boolean, underline: boolean, inverse: boolean, strike: boolean}} Pen */

/** @returns {Pen} */
function newPen() {
  return { fg: "", bg: "", bold: false, dim: false, italic: false, underline: false, inverse: false, strike: false };
}

/** @param {Pen} pen */
function classes(pen) {
  const list = [];
  if (pen.bold) list.push("s-bold");
  if (pen.dim) list.push("s-dim");
  if (pen.italic) list.push("s-italic");
  if (pen.underline) list.push("s-underline");
  if (pen.strike) list.push("s-strike");
  const [fg, bg] = pen.inverse ? [pen.bg || "paper", pen.fg || "ink"] : [pen.fg, pen.bg];
  if (fg) list.push(`s-fg-${fg}`);
  if (bg) list.push(`s-bg-${bg}`);
  return list.join(" ");
}

/**
 * The nearest of the eight names: the page decides how these look, so that they can be read in both themes.
 * @param {number} r
 * @param {number} g
 * @param {number} b
 */
export function nearest(r, g, b) {
  const max = Math.max(r, g, b);
  const min = Math.min(r, g, b);
  if (max - min < 48) return max < 64 ? "black" : max > 192 ? "white" : "grey";
  const on = (/** @type {number} */ v) => (v - min > (max - min) / 2 ? 1 : 0);
  return NAMES[on(r) + 2 * on(g) + 4 * on(b)];
}

/** @param {number} n */
function indexed(n) {
  if (n < 8) return NAMES[n];
  if (n === 8) return "grey";
  if (n < 16) return NAMES[n - 8];
  if (n >= 232) return nearest((n - 232) * 10 + 8, (n - 232) * 10 + 8, (n - 232) * 10 + 8);
  const level = (/** @type {number} */ v) => (v ? v * 40 + 55 : 0);
  const c = n - 16;
  return nearest(level(Math.floor(c / 36)), level(Math.floor(c / 6) % 6), level(c % 6));
}

/**
 * 38 and 48: a colour by number or by its parts. Returns how many parameters belong to it.
 * @param {Pen} pen
 * @param {"fg" | "bg"} which
 * @param {number[]} codes
 * @param {number} at
 */
function extended(pen, which, codes, at) {
  if (codes[at + 1] === 5 && codes[at + 2] >= 0 && codes[at + 2] < 256) pen[which] = indexed(codes[at + 2]);
  else if (codes[at + 1] === 2 && codes.length > at + 4) pen[which] = nearest(codes[at + 2], codes[at + 3], codes[at + 4]);
  return codes[at + 1] === 5 ? 2 : codes[at + 1] === 2 ? 4 : 1;
}

/**
 * @param {Pen} pen
 * @param {string} parameters
 */
function apply(pen, parameters) {
  const codes = parameters.split(/[;:]/).slice(0, 32).map((word) => (word === "" ? 0 : Number(word)));
  for (let at = 0; at < codes.length; at++) {
    const n = codes[at];
    if (n === 0) Object.assign(pen, newPen());
    else if (n === 1) pen.bold = true;
    else if (n === 2) pen.dim = true;
    else if (n === 3) pen.italic = true;
    else if (n === 4) pen.underline = true;
    else if (n === 7) pen.inverse = true;
    else if (n === 9) pen.strike = true;
    else if (n === 22) pen.bold = pen.dim = false;
    else if (n === 23) pen.italic = false;
    else if (n === 24) pen.underline = false;
    else if (n === 27) pen.inverse = false;
    else if (n === 29) pen.strike = false;
    else if (n >= 30 && n <= 37) pen.fg = NAMES[n - 30];
    else if (n === 39) pen.fg = "";
    else if (n >= 40 && n <= 47) pen.bg = NAMES[n - 40];
    else if (n === 49) pen.bg = "";
    else if (n >= 90 && n <= 97) pen.fg = n === 90 ? "grey" : NAMES[n - 90];
    else if (n >= 100 && n <= 107) pen.bg = n === 100 ? "grey" : NAMES[n - 100];
    else if (n === 38) at += extended(pen, "fg", codes, at);
    else if (n === 48) at += extended(pen, "bg", codes, at);
  }
}

/**
 * What a terminal would show of lines that are written over: the text after the last carriage return.
 * @param {string} text
 */
export function overwrite(text) {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => {
      const end = line.endsWith("\r") ? line.length - 1 : line.length;
      return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
    })
    .join("\n");
}

/**
 * @param {string} text
 * @returns {Span[]}
 */
export function spans(text) {
  /** @type {Span[]} */
  const list = [];
  const pen = newPen();
  let style = "";
  let from = 0;
  const add = (/** @type {string} */ piece) => {
    if (!piece) return;
    const last = list[list.length - 1];
    if (last && (last.style === style || list.length >= SPANS_MAX)) last.text += piece;
    else list.push({ text: piece, style });
  };
  for (const match of overwrite(text).matchAll(SEQUENCE)) {
    add(match.input.slice(from, match.index));
    from = (match.index ?? 0) + match[0].length;
    if (match[2] === "m" && /^[0-9;:]*$/.test(match[1])) {
      apply(pen, match[1]);
      style = classes(pen);
    }
  }
  add(overwrite(text).slice(from));
  return list;
}
