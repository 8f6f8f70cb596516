/** The one place where text of a program becomes HTML: a frame without any permission. There is one policy of Trusted Types, for this alone. */

// Nothing of these has a use in a frame without scripts, and some of them make a browser look up or fetch something whatever the policy says.
const UNWANTED = "x-script,x-style,x-base,script,style,link,meta,base,iframe,frame,frameset,object,embed,portal,fencedframe,template,noscript,audio,video,source,track,applet,param";
// What tables and texts need; an address may only be that of a picture that is in the text itself.
const KEPT = /^(class|id|title|lang|dir|alt|align|valign|width|height|colspan|rowspan|scope|headers|start|type|open|datetime|abbr|span|aria-[a-z]+|role)$/;
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*$/;
const HTML_MAX = 4 << 20;

/** @type {any} */
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("display", { createHTML: (/** @type {string} */ html) => html }) ?? {
  createHTML: (/** @type {string} */ html) => html,
};

/**
 * @typedef {object} Framed
 * @property {any} srcdoc   made once: another value would load the frame again
 * @property {number} rows  of tables in it, to guess its height
 */

/**
 * Reading a text as HTML already makes a browser judge scripts, styles and handlers in it, and report them as if they were the page's. They get
 * names without a meaning before; what is unwanted is then taken out of what was read, whatever came through here.
 * @param {string} text
 */
function defused(text) {
  return text.replace(/<(\/?)(script|style|base)\b/gi, "<$1x-$2").replace(/<[a-z][^>]*>/gi, (tag) => tag.replace(/([\s"'\/])(on[a-z]+|style)(?=\s*=)/gi, "$1x-$2"));
}

/**
 * @param {string} text
 * @param {string} theme
 * @returns {Framed}
 */
export function frameOf(text, theme) {
  const parsed = new DOMParser().parseFromString(policy.createHTML(defused(text.slice(0, HTML_MAX))), "text/html");
  for (const element of parsed.querySelectorAll(UNWANTED)) element.remove();
  for (const element of parsed.querySelectorAll("*")) {
    for (const { name, value } of [...element.attributes]) if (!KEPT.test(name) && !(name === "src" && PICTURE.test(value))) element.removeAttribute(name);
  }
  const sheet = new URL(displaySheet(), location.href).href;
  // A second policy, narrower than the page's, which the frame has anyway: this one sheet, and pictures that are in the text.
  const head = `<!doctype html><html lang="en" data-theme="${theme}"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${sheet}; img-src data:"><link rel="stylesheet" href="${sheet}"></head><body>`;
  return { srcdoc: policy.createHTML(`${head}${parsed.body.innerHTML}</body></html>`), rows: parsed.querySelectorAll("tr").length };
}

function displaySheet() {
  return document.querySelector("script[data-display]")?.getAttribute("data-display") ?? "";
}
