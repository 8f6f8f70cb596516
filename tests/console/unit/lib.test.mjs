/** Pure functions of the console: no browser, no server. */
import assert from "node:assert/strict";
import test from "node:test";
import { parseCsv } from "../../../console/src/lib/csv.js";
import { pairs, parseDiff } from "../../../console/src/lib/diff.js";
import { matchesRun, parsePlace, placeHash } from "../../../console/src/lib/filter.js";
import { ago, bytes, count, duration, query, shortId, span } from "../../../console/src/lib/format.js";
import { lines, tokens } from "../../../console/src/lib/highlight.js";
import { parseMetrics, quantile, sum } from "../../../console/src/lib/metrics.js";
import { SPANS_MAX, nearest, overwrite, spans } from "../../../console/src/lib/sgr.js";
import { pythonValue, runCall, shellQuote, snippets } from "../../../console/src/lib/snippets.js";
import { EventReader } from "../../../console/src/lib/sse.js";
import { MARKS_MAX, ends, flat, visible } from "../../../console/src/lib/text.js";
import { treeOf } from "../../../console/src/lib/tree.js";

/** @param {string[]} pieces */
function events(...pieces) {
  /** @type {any[]} */
  const list = [];
  const reader = new EventReader((e) => list.push(e));
  for (const piece of pieces) reader.feed(piece);
  return list;
}

test("events are the same however the stream is cut", () => {
  const text = '\ufeffid: 1\nevent: run_started\ndata: {"a":1}\n\n: comment\n\r\nid: 2\r\ndata: x\rdata: y\r\n\r\nevent: nothing\n\ndata\n\n';
  const whole = events(text);
  assert.deepEqual(whole, [{ id: "1", event: "run_started", data: '{"a":1}' }, { id: "2", event: "message", data: "x\ny" }, { id: "2", event: "message", data: "" }]);
  for (let at = 1; at < text.length; at++) assert.deepEqual(events(text.slice(0, at), text.slice(at)), whole, `cut at ${at}`);
  assert.deepEqual(events(...text), whole);
});

test("an event without its empty line is not given out", () => {
  assert.deepEqual(events("data: half\n"), []);
  assert.deepEqual(events("id: a\0b\ndata: 1\n\n"), [{ id: "", event: "message", data: "1" }]);
});

test("an endless line is refused", () => {
  const reader = new EventReader(() => {});
  const piece = "x".repeat(8 << 20);
  assert.throws(() => {
    for (let n = 0; n < 6; n++) reader.feed(piece);
  }, /too long/);
});

test("colours become names, and everything else a terminal obeys is dropped", () => {
  assert.deepEqual(spans("\x1b[32mgreen\x1b[0m plain"), [{ text: "green", style: "s-fg-green" }, { text: " plain", style: "" }]);
  assert.deepEqual(spans("\x1b[1;38;5;196mx\x1b[22;39my"), [{ text: "x", style: "s-bold s-fg-red" }, { text: "y", style: "" }]);
  assert.deepEqual(spans("\x1b[7mi"), [{ text: "i", style: "s-fg-paper s-bg-ink" }]);
  assert.deepEqual(spans("\x1b[48;2;0;0;255mb"), [{ text: "b", style: "s-bg-blue" }]);
  for (const hostile of ["\x1b]0;title\x07", "\x1b]52;c;aGk=\x1b\\", "\x1b[2J\x1b[H", "\x1bPq#0\x1b\\", "\x1b[?1049h", "\x9b31m", "\x9d8;;http://evil.test\x9c", "\x1bc", "\x1b(0"]) {
    assert.equal(spans(`a${hostile}b`).map((s) => s.text).join(""), "ab", JSON.stringify(hostile));
  }
});

test("an escape at the end of a text is dropped, an unfinished sequence is marked", () => {
  assert.deepEqual(spans("a\x1b"), [{ text: "a", style: "" }]);
  assert.deepEqual(visible(spans("a\x1b[31")[0].text), ["a", { hidden: "\\x1b" }, "[31"]);
});

test("text with a colour for every letter stays within its bound", () => {
  const list = spans("\x1b[31ma\x1b[32mb".repeat(SPANS_MAX));
  assert.ok(list.length <= SPANS_MAX);
  assert.equal(list.map((s) => s.text).join(""), "ab".repeat(SPANS_MAX));
});

test("lines that are written over show their last state", () => {
  assert.equal(overwrite("10%\r20%\r30%\ndone\r\nend"), "30%\ndone\nend");
  assert.equal(overwrite("50%\r"), "50%");
});

test("colours go to the nearest name", () => {
  assert.equal(nearest(255, 0, 0), "red");
  assert.equal(nearest(0, 200, 210), "cyan");
  assert.equal(nearest(10, 10, 12), "black");
  assert.equal(nearest(128, 128, 128), "grey");
});

test("characters that cannot be seen are marked", () => {
  assert.deepEqual(visible("a\u202eb"), ["a", { hidden: "\\u202e" }, "b"]);
  assert.deepEqual(visible("\x00\x07\x7f"), [{ hidden: "\\x00" }, { hidden: "\\x07" }, { hidden: "\\x7f" }]);
  assert.deepEqual(visible("a\nb\tc"), ["a\nb\tc"]);
  assert.deepEqual(visible("a\nb\tc", { oneLine: true }), ["a", { hidden: "\\n" }, "b", { hidden: "\\t" }, "c"]);
  assert.deepEqual(visible("\u{e0041}\ud800x"), [{ hidden: "\\u{e0041}" }, { hidden: "\\ud800" }, "x"]);
  for (let code = 0; code < 0xa0; code++) {
    const c = String.fromCharCode(code);
    const isPlain = (code >= 32 && code < 127) || c === "\n" || c === "\t";
    assert.equal(visible(c).every((p) => typeof p === "string"), isPlain, `U+${code.toString(16)}`);
  }
});

test("emoji keep their joiners; elsewhere these are marked", () => {
  assert.deepEqual(visible("👩‍👧 ❤️"), ["👩‍👧 ❤️"]);
  assert.deepEqual(visible("a\u200db\ufe0f"), ["a", { hidden: "\\u200d" }, "b", { hidden: "\\ufe0f" }]);
});

test("marks are bounded, the text is not lost", () => {
  const parts = visible("\x01".repeat(MARKS_MAX * 3));
  assert.ok(parts.length <= MARKS_MAX + 1);
  assert.equal(parts.map((p) => (typeof p === "string" ? p : p.hidden)).join(""), "\\x01".repeat(MARKS_MAX * 3));
  assert.equal(flat("a\u202e\nb", 3), "a\\u202e\\n…");
});

test("of a long text the ends are shown, in whole lines", () => {
  const text = Array.from({ length: 1000 }, (_, n) => `line ${n}\n`).join("");
  const { head, left_out, tail } = ends(text, 200);
  assert.ok(head.endsWith("\n") && tail.startsWith("line "));
  assert.equal(head.length + left_out + tail.length, text.length);
  assert.deepEqual(ends("short", 200), { head: "short", left_out: 0, tail: "" });
  assert.ok(ends("x".repeat(1000), 200).left_out >= 800);
});

test("sizes, times and numbers", () => {
  assert.equal(bytes(1023), "1023 B");
  assert.equal(bytes(1536), "1.5 KB");
  assert.equal(bytes(1 << 30), "1.0 GB");
  assert.equal(bytes(null), "–");
  assert.equal(duration(3.14), "3.1 ms");
  assert.equal(duration(1500), "1.5 s");
  assert.equal(span(3700), "1 h 1 min");
  assert.equal(count(1234567), "1\u2009234\u2009567");
  assert.equal(ago(0, 61_000), "1 min ago");
  assert.equal(ago(10_000, 0), "in 10 s");
  assert.equal(shortId("run_01M7R6MQ6H53XS0KX2Q2E3JDY4"), "run_…E3JDY4");
  assert.equal(query({ a: 1, b: "", c: undefined, d: "x y&z" }), "?a=1&d=x+y%26z");
});

test("addresses of pages survive any id", () => {
  for (const id of ["run_1", "a/b?c#d", "ü %", "…"]) {
    const place = parsePlace(placeHash(["runs", id], { status: "error", none: "" }));
    assert.deepEqual(place, { path: ["runs", id], query: { status: "error" } });
  }
  assert.deepEqual(parsePlace("#/%E0%A4%A"), { path: ["%E0%A4%A"], query: {} });
  assert.deepEqual(parsePlace(""), { path: [], query: {} });
});

test("a filter takes what it names", () => {
  const run = { state: "error", owner: "ci", session_id: "ses_1", language: "python", code: "Import x" };
  assert.ok(matchesRun(run, {}));
  assert.ok(matchesRun(run, { status: "error", owner: "ci", text: "import" }));
  for (const filter of [{ status: "success" }, { owner: "c" }, { session: "ses_2" }, { language: "bash" }, { text: "y" }]) assert.ok(!matchesRun(run, /** @type {any} */ (filter)));
});

test("a diff has numbers on both sides", () => {
  const { lines: list, left_out } = parseDiff("--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n-two\n+two!\n+more\n three\n\\ No newline at end of file\n");
  assert.equal(left_out, 0);
  assert.deepEqual(list.map((l) => [l.kind, l.before, l.after, l.text]), [
    ["hunk", null, null, "@@ -1,3 +1,4 @@"], ["same", 1, 1, "one"], ["old", 2, null, "two"], ["new", null, 2, "two!"], ["new", null, 3, "more"], ["same", 3, 4, "three"],
    ["note", null, null, "No newline at end of file"],
  ]);
  assert.deepEqual(pairs(list).map((p) => [p.left?.text, p.right?.text]).slice(2, 4), [["two", "two!"], [undefined, "more"]]);
});

test("a line that begins with --- within a hunk is a line", () => {
  const { lines: list } = parseDiff("--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n--- old\n+++ new\n");
  assert.deepEqual(list.slice(1).map((l) => [l.kind, l.text]), [["old", "-- old"], ["new", "++ new"]]);
});

test("what changed within a line is marked, never half a character", () => {
  const [, a, b] = parseDiff("@@ -1 +1 @@\n-price * RATE\n+price * (1 + RATE)\n").lines;
  assert.equal(a.text.slice(...(a.changed ?? [0, 0])), "RATE");
  assert.equal(b.text.slice(...(b.changed ?? [0, 0])), "(1 + RATE)");
  const [, c, d] = parseDiff("@@ -1 +1 @@\n-x😀\n+x😁\n").lines;
  assert.equal(c.text.slice(...(c.changed ?? [0, 0])), "😀");
  assert.equal(d.text.slice(...(d.changed ?? [0, 0])), "😁");
});

test("metrics: sums, rates and quantiles of what came between two readings", () => {
  const before = parseMetrics('# HELP x\nruns{status="a"} 1\nruns{status="b"} 2\nt_bucket{le="0.1"} 0\nt_bucket{le="1"} 0\nt_bucket{le="+Inf"} 0\n');
  const after = parseMetrics('runs{status="a"} 4\nt_bucket{le="0.1"} 5\nt_bucket{le="1"} 10\nt_bucket{le="+Inf"} 10\nbad line\n');
  assert.equal(sum(before, "runs"), 3);
  assert.equal(quantile(before, after, "t", 0.5), 0.1);
  assert.ok(Math.abs((quantile(before, after, "t", 0.95) ?? 0) - 0.91) < 1e-9);
  assert.equal(quantile(after, after, "t", 0.5), null);
});

test("programs are coloured without losing a character", () => {
  const code = 'def f(x):  # why\n    return f"a{x}" + \'b\' * 0x10\n';
  assert.equal(tokens(code, "python").map((t) => t.text).join(""), code);
  assert.deepEqual(tokens(code, "python").filter((t) => t.kind).map((t) => [t.kind, t.text]), [["word", "def"], ["comment", "# why"], ["word", "return"], ["string", 'f"a{x}"'], ["string", "'b'"], ["number", "0x10"]]);
  assert.equal(lines(code, "python").length, 3);
  assert.deepEqual(tokens("x", "cobol"), [{ text: "x", kind: "" }]);
  const hostile = '"""'.repeat(20_000);
  assert.equal(tokens(hostile, "python").map((t) => t.text).join(""), hostile);
});

test("snippets quote what they carry", () => {
  assert.equal(shellQuote("it's"), `'it'\\''s'`);
  assert.equal(pythonValue({ a: [true, null, 'x"\u202e'] }), '{"a": [True, None, "x\\"\\u202e"]}');
  const list = snippets("http://127.0.0.1:1", runCall("print('a')\n", { profile: "strict" }));
  assert.deepEqual(list.map((s) => s.name), ["curl", "Python", "TypeScript", "MCP"]);
  assert.ok(list[0].text.includes(`--json '{"code":"print('\\''a'\\'')\\n","profile":"strict"}'`));
  assert.ok(list.every((s) => !s.text.includes("bj_")));
});

test("forks stand below what they were copied from", () => {
  const s = (/** @type {string} */ id, /** @type {string | null} */ parent) => ({ session_id: id, parent });
  const shown = (/** @type {any[]} */ list) => treeOf(list).map((r) => [r.session.session_id, r.depth]);
  assert.deepEqual(shown([s("c", "b"), s("a", null), s("b", "a"), s("d", "gone")]), [["a", 0], ["b", 1], ["c", 2], ["d", 0]]);
  assert.deepEqual(shown([s("a", "b"), s("b", "a")]), [["a", 0], ["b", 0]]);
});

test("tables with quotes, commas and lines in their cells", () => {
  assert.deepEqual(parseCsv('a,b\n"x,""y""\nz",2\n,\n', 10), [["a", "b"], ['x,"y"\nz', "2"], ["", ""]]);
  assert.equal(parseCsv("a\n" + "1\n".repeat(1000), 10).length, 11);
});
