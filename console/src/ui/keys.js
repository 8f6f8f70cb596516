/** Keys for everything: `g` and a letter goes to a page, `?` lists all of them. */
import { html, useEffect, useRef } from "../lib/view.js";
import { Dialog } from "./dialog.js";

const WAIT_MS = 1500; // for the letter after `g`

/**
 * @param {{name: string, key: string}[]} pages
 * @param {{help: () => void, theme: () => void}} actions
 */
export function useKeys(pages, actions) {
  // Outlives the effect, which is made anew whenever the page is drawn, also between the two keys.
  const since = useRef(0);
  useEffect(() => {
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (since.current && event.timeStamp - since.current < WAIT_MS) {
        since.current = 0;
        const page = pages.find((p) => p.key === event.key);
        if (page) {
          event.preventDefault();
          location.hash = `#/${page.name}`;
          return;
        }
      }
      since.current = 0;
      if (event.key === "g") since.current = event.timeStamp;
      else if (event.key === "?") actions.help();
      else if (event.key === "t") actions.theme();
      else if (event.key === "/") focusSearch(event);
      else if (event.key === "j") dispatchEvent(new CustomEvent("belljar-list", { detail: "down" }));
      else if (event.key === "k") dispatchEvent(new CustomEvent("belljar-list", { detail: "up" }));
      else if (event.key === "o") dispatchEvent(new CustomEvent("belljar-list", { detail: "open" }));
      else if (event.key === "[" || event.key === "]") /** @type {HTMLElement | null} */ (document.querySelector(event.key === "[" ? "[data-key=previous]" : "[data-key=next]"))?.click();
      else if (event.key === "u") /** @type {HTMLElement | null} */ (document.querySelector(".crumbs a:last-of-type"))?.click();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}

/** @param {KeyboardEvent} event */
function isTyping(event) {
  const target = /** @type {HTMLElement} */ (event.composedPath()[0]);
  return Boolean(target?.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target?.tagName ?? "") || document.querySelector("dialog[open]"));
}

/** @param {KeyboardEvent} event */
function focusSearch(event) {
  const input = /** @type {HTMLElement | null} */ (document.querySelector("input[type=search]"));
  if (!input) return;
  event.preventDefault();
  input.focus();
}

const KEYS = [
  ["?", "this list"], ["/", "search on this page"], ["j  k", "down and up in a list"], ["o  Enter", "open"], ["u", "one level up"], ["[  ]", "previous and next run"], ["t", "theme"],
  ["Shift-Enter", "run what is in the editor"], ["Ctrl-C", "stop, while something runs and no text is selected"], ["Esc", "close, or leave the editor"],
];

/** @param {{pages: {key: string, title: string}[], onClose: () => void}} props */
export function KeyHelp({ pages, onClose }) {
  return html`<${Dialog} title="Keys" onClose=${onClose} class="keys"><div class="keys-columns">
    <dl>${pages.map((p) => html`<div><dt><kbd>g</kbd> <kbd>${p.key}</kbd></dt><dd>${p.title}</dd></div>`)}</dl>
    <dl>${KEYS.map(([keys, what]) => html`<div><dt>${keys.split("  ").map((k) => html`<kbd>${k}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl></div><//>`;
}
