/** Colours for programs that are only shown: words, strings, numbers, comments. The editor has a real parser. */

const WORDS = {
  python: "and as assert async await break class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield True False None",
  bash: "if then else elif fi for while until do done case esac in function select time return exit local export set unset cd echo",
  javascript: "async await break case catch class const continue default delete do else export extends finally for from function if import in instanceof let new of return static super switch this throw try typeof var void while yield true false null undefined interface type enum",
};
const COMMENT = { python: "#[^\\n]*", bash: "(?<=^|\\s)#[^\\n]*", javascript: "//[^\\n]*|/\\*[\\s\\S]{0,20000}?\\*/" };
const STRING = {
  python: '(?:[rbfuRBFU]{0,2})(?:"""[\\s\\S]{0,20000}?"""|\'\'\'[\\s\\S]{0,20000}?\'\'\'|"(?:\\\\.|[^"\\\\\\n])*"|\'(?:\\\\.|[^\'\\\\\\n])*\')',
  bash: "\"(?:\\\\.|[^\"\\\\])*\"|'[^']*'",
  javascript: "\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|`(?:\\\\.|[^`\\\\])*`",
};
const LENGTH_MAX = 100_000;
const TOKENS_MAX = 20_000;

/** @typedef {{text: string, kind: string}} Token */

/**
 * @param {string} code
 * @param {string} language
 * @returns {Token[]}
 */
export function tokens(code, language) {
  const name = language === "typescript" ? "javascript" : language === "command" ? "bash" : language;
  if (!(name in WORDS) || code.length > LENGTH_MAX) return [{ text: code, kind: "" }];
  const own = /** @type {"python" | "bash" | "javascript"} */ (name);
  const words = new Set(WORDS[own].split(" "));
  const pattern = new RegExp(`(${COMMENT[own]})|(${STRING[own]})|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, "gm");
  /** @type {Token[]} */
  const list = [];
  let from = 0;
  for (const match of code.matchAll(pattern)) {
    if (list.length > TOKENS_MAX) break;
    const kind = match[1] ? "comment" : match[2] ? "string" : match[3] ? "number" : words.has(match[4]) ? "word" : "";
    if (!kind) continue;
    if (match.index > from) list.push({ text: code.slice(from, match.index), kind: "" });
    list.push({ text: match[0], kind });
    from = match.index + match[0].length;
  }
  if (from < code.length) list.push({ text: code.slice(from), kind: "" });
  return list;
}

/**
 * Tokens, line by line.
 * @param {string} code
 * @param {string} language
 * @returns {Token[][]}
 */
export function lines(code, language) {
  /** @type {Token[][]} */
  const list = [[]];
  for (const token of tokens(code, language)) {
    token.text.split("\n").forEach((piece, n) => {
      if (n) list.push([]);
      if (piece) list[list.length - 1].push({ text: piece, kind: token.kind });
    });
  }
  return list;
}
