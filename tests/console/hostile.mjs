/** What hostile programs show, print and name things: each one tries to run something, to reach somebody, or to look like something else. */

const FOREIGN = "http://evil.test";

/** HTML, as a program may display it. */
export const HTML = [
  "<script>window.top.evil = 1; alert(1)</script>",
  "<img src=x onerror=\"top.evil=1;alert(1)\">",
  `<img src=${FOREIGN}/image.png><img srcset="${FOREIGN}/set.png 2x"><picture><source srcset=${FOREIGN}/p.png><img></picture>`,
  "<svg onload=\"top.evil=1\"><script>top.evil=1</script><image href=\"http://evil.test/i\"/><use href=\"http://evil.test/u#x\"/></svg>",
  `<iframe src="${FOREIGN}/frame"></iframe><iframe srcdoc="<script>top.evil=1</script>"></iframe>`,
  `<object data="${FOREIGN}/object"></object><embed src="${FOREIGN}/embed"><applet code=x></applet>`,
  `<link rel=stylesheet href="${FOREIGN}/style.css"><link rel=preconnect href="${FOREIGN}"><link rel=dns-prefetch href="//evil.test"><link rel=preload as=image href="${FOREIGN}/l"><link rel=prefetch href="${FOREIGN}/f">`,
  `<meta http-equiv=refresh content="0;url=${FOREIGN}/refresh"><meta http-equiv=Content-Security-Policy content="default-src *">`,
  `<base href="${FOREIGN}/"><a href="steal" target=_top>click</a><form action="${FOREIGN}/form" method=post><button autofocus>go</button></form>`,
  `<style>@import url(${FOREIGN}/import.css); body { background: url(${FOREIGN}/bg) } @font-face { font-family: x; src: url(${FOREIGN}/font) }</style><p style="background:url(${FOREIGN}/inline)">x</p>`,
  `<video src="${FOREIGN}/v" autoplay poster="${FOREIGN}/poster"></video><audio src="${FOREIGN}/a" autoplay></audio><input type=image src="${FOREIGN}/input"><body background="${FOREIGN}/body"><table background="${FOREIGN}/table">`,
  "<a href=\"javascript:top.evil=1\" id=clickme>click</a><details ontoggle=\"top.evil=1\" open><summary>x</summary></details><input autofocus onfocus=\"top.evil=1\">",
  "</body></html><script>top.evil=1</script><plaintext>",
  "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=top.evil=1&gt;\">",
  "<noscript><p title=\"</noscript><img src=x onerror=top.evil=1>\"></noscript><template><script>top.evil=1</script></template>",
  "<div style=\"position:fixed;inset:0;z-index:99999;background:red\">covers</div>",
  "<img src=\"/v1/sessions\"><link rel=stylesheet href=\"/v1/runs\"><a ping=\"http://evil.test/ping\" href=\"#\">x</a>",
];

export const SVG = [
  "<svg xmlns='http://www.w3.org/2000/svg' onload='top.evil=1'><script>top.evil=1;alert(1)</script><rect width='9' height='9'/></svg>",
  `<svg xmlns='http://www.w3.org/2000/svg' xmlns:x='http://www.w3.org/1999/xlink'><image x:href='${FOREIGN}/svg.png' width='9' height='9'/><foreignObject><iframe xmlns='http://www.w3.org/1999/xhtml' src='${FOREIGN}/fo'/></foreignObject></svg>`,
  `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "${FOREIGN}/entity">]><svg xmlns="http://www.w3.org/2000/svg"><text>&x;</text></svg>`,
];

/** Types that promise one thing and hold another. */
export const OTHERS = [
  ["application/javascript", "top.evil=1"], ["text/markdown", "[x](javascript:top.evil=1) <script>top.evil=1</script> ![i](http://evil.test/md.png)"], ["text/latex", "\\href{javascript:top.evil=1}{x}"],
  ["application/json", { html: "<script>top.evil=1</script>" }], ["image/png\" onerror=\"top.evil=1", "x"], ["text/html; charset=utf-7", "+ADw-script+AD4-top.evil=1+ADw-/script+AD4-"], ["application/vnd.evil+html", "<script>top.evil=1</script>"],
];

export const TEXT = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("") + "\u202eevil\u202c \u200b\u2066x\u2069 \ufeff\u{e0041} <script>top.evil=1</script> <img src=x onerror=top.evil=1> \x1b]8;;http://evil.test\x07link\x1b]8;;\x07 \x1b]0;title\x07\x1b[31mred\x1b[0m\x1b[2J\r\nend";

export const NAMES = ["<img src=x onerror=top.evil=1>.txt", "in\u202efdp.exe", "javascript:top.evil=1", "a'\"&<b>.py", "long-" + "x".repeat(180) + ".txt"];

/** Tables that are none: what reads them must not take the page with it. */
const TABLE = "application/vnd.belljar.table+json";
export const TABLES = [
  { "text/csv": "a,b\n1,2", [TABLE]: '{"columns": 5, "shape": "x"}' }, { "text/csv": "a", [TABLE]: '{"columns": [null, 7, {"name": {}}], "shape": [null, {}]}' },
  { "text/csv": "", [TABLE]: "null" }, { "text/csv": "a", [TABLE]: '"text"' }, { "application/vnd.belljar.chart+json": '{"__proto__": {"evil": 1}}', "text/plain": "x" },
];

/** A program that shows all of it. */
export function program() {
  const shows = [...HTML.map((html) => ["text/html", html]), ...SVG.map((svg) => ["image/svg+xml", svg]), ...OTHERS];
  return `import json\nfor mime, data in json.loads(${JSON.stringify(JSON.stringify(shows))}):\n    display({mime: data}, raw=True)\nfor forms in json.loads(${JSON.stringify(JSON.stringify(TABLES))}):\n    display({name: json.loads(data) if name.endswith("json") else data for name, data in forms.items()}, raw=True)\nprint(json.loads(${JSON.stringify(JSON.stringify(TEXT))}))\nfor name in json.loads(${JSON.stringify(JSON.stringify(NAMES))}):\n    open(name, "w").write("<script>top.evil=1</script>")\nraise Exception("<img src=x onerror=top.evil=1>\\u202e")\n`;
}
