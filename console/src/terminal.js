/** The terminal emulator, loaded where there is a terminal. */
import { Terminal } from "@xterm/xterm";
import { FitAddon } from "@xterm/addon-fit";

/**
 * The emulator writes its colours and sizes into elements of kind `style`, which the page's policy blocks. While it builds itself it gets elements
 * of another kind instead, whose text becomes a sheet that the page adopts.
 * @param {() => void} build
 * @returns {Set<CSSStyleSheet>}
 */
function withAdoptedStyles(build) {
  /** @type {Set<CSSStyleSheet>} */
  const sheets = new Set();
  const create = document.createElement.bind(document);
  document.createElement = /** @type {any} */ ((/** @type {string} */ name, /** @type {any} */ options) => (name === "style" ? adoptedStyle(sheets) : create(name, options)));
  try {
    build();
  } finally {
    Reflect.deleteProperty(document, "createElement");
  }
  return sheets;
}

/** @param {Set<CSSStyleSheet>} sheets  those of one terminal, which go with it and leave the others' alone */
function adoptedStyle(sheets) {
  const element = document.createElement("x-style");
  element.hidden = true;
  const sheet = new CSSStyleSheet();
  sheets.add(sheet);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  let text = "";
  Object.defineProperty(element, "textContent", {
    get: () => text,
    set: (/** @type {string} */ value) => {
      text = value;
      sheet.replaceSync(value);
    },
  });
  Object.defineProperty(element, "sheet", { get: () => sheet });
  return element;
}

/** @param {(name: string) => string} colour */
function themeOf(colour) {
  return {
    background: colour("sunk"), foreground: colour("ink"), cursor: colour("accent"), cursorAccent: colour("sunk"), selectionBackground: colour("select"),
    black: colour("muted"), red: colour("bad"), green: colour("good"), yellow: colour("warn"), blue: colour("accent"), magenta: colour("code-word"), cyan: colour("code-string"), white: colour("ink"),
    brightBlack: colour("faint"), brightRed: colour("bad"), brightGreen: colour("good"), brightYellow: colour("warn"), brightBlue: colour("accent"), brightMagenta: colour("code-word"), brightCyan: colour("code-string"), brightWhite: colour("ink"),
  };
}

/**
 * @param {HTMLElement} host
 * @param {{onKeys: (bytes: Uint8Array) => void, onSize: (cols: number, rows: number) => void, onLeave: () => void, font: string, colour: (name: string) => string}} options
 */
export function makeTerminal(host, options) {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const terminal = new Terminal(/** @type {any} */ ({
    fontFamily: options.font, fontSize: 13, lineHeight: 1.3, scrollback: 5000, cursorBlink: !reduced, convertEol: false, minimumContrastRatio: 4.5,
    // Titles, clipboard and links of programs are nothing to us.
    allowProposedApi: false, linkHandler: { activate() {}, allowNonHttpProtocols: false }, theme: themeOf(options.colour), screenReaderMode: false,
  }));
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  const sheets = withAdoptedStyles(() => terminal.open(host));
  const encoder = new TextEncoder();
  terminal.onData((text) => options.onKeys(encoder.encode(text)));
  terminal.onBinary((text) => options.onKeys(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  terminal.onResize(({ cols, rows }) => options.onSize(cols, rows));
  // Shift-Escape leaves: everything else belongs to the program.
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.type === "keydown" && event.key === "Escape" && event.shiftKey) {
      terminal.blur();
      options.onLeave();
      return false;
    }
    return true;
  });
  const observer = new ResizeObserver(() => host.clientWidth > 0 && fit.fit());
  observer.observe(host);
  fit.fit();
  return {
    write: (/** @type {Uint8Array | string} */ data, /** @type {() => void} */ done) => terminal.write(data, done),
    focus: () => terminal.focus(),
    size: () => ({ cols: terminal.cols, rows: terminal.rows }),
    text: () => Array.from({ length: terminal.buffer.active.length }, (_, n) => terminal.buffer.active.getLine(n)?.translateToString(true) ?? "").join("\n"),
    destroy: () => {
      observer.disconnect();
      terminal.dispose();
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => !sheets.has(s));
    },
  };
}
