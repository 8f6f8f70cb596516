/** The editor, loaded where somebody writes code. It lives in a shadow root: there its styles are adopted sheets, which the page's policy allows. */
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { pythonLanguage } from "@codemirror/lang-python";
import { javascript, typescript } from "@codemirror/legacy-modes/mode/javascript";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null, tags.operatorKeyword], color: "var(--code-word)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.integer, tags.float], color: "var(--code-number)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--code-comment)" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--ink)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", overflow: "auto", maxHeight: "var(--editor-height, 60vh)", minHeight: "var(--editor-least, 64px)" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--accent)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 8px 0 12px", minWidth: "28px" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--select) !important" },
  ".cm-matchingBracket": { backgroundColor: "var(--select)", outline: "none" },
  ".cm-placeholder": { color: "var(--faint)" },
  ".cm-specialChar": { color: "var(--bad)" },
});

/** @param {string} language */
function languageOf(language) {
  if (language === "bash") return [StreamLanguage.define(shell), indentUnit.of("    ")];
  if (language === "javascript") return [StreamLanguage.define(javascript), indentUnit.of("  ")];
  if (language === "typescript") return [StreamLanguage.define(typescript), indentUnit.of("  ")];
  return [pythonLanguage, indentUnit.of("    ")];
}

/**
 * @param {HTMLElement} host
 * @param {{text: string, language: string, label: string, hint: string, onChange: (text: string) => void, onRun: () => void, onStop: () => boolean, onLeave: () => void}} options
 */
export function makeEditor(host, options) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const language = new Compartment();
  const leave = () => {
    view.contentDOM.blur();
    options.onLeave();
    return true;
  };
  const run = () => (options.onRun(), true);
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        lineNumbers(), highlightSpecialChars(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), EditorView.lineWrapping,
        Prec.highest(keymap.of([{ key: "Shift-Enter", run }, { key: "Ctrl-Enter", run }, { key: "Ctrl-c", run: (v) => v.state.selection.main.empty && options.onStop() }, { key: "Escape", run: leave }])),
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        language.of(languageOf(options.language)), syntaxHighlighting(colours), look, placeholder(options.hint),
        EditorView.contentAttributes.of({ "aria-label": options.label, autocapitalize: "off", spellcheck: "false" }),
        EditorView.updateListener.of((update) => update.docChanged && options.onChange(update.state.doc.toString())),
      ],
    }),
  });
  return {
    focus: () => view.focus(),
    destroy: () => view.destroy(),
    text: () => view.state.doc.toString(),
    setText: (/** @type {string} */ text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    setLanguage: (/** @type {string} */ name) => view.dispatch({ effects: language.reconfigure(languageOf(name)) }),
  };
}
