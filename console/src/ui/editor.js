/** A place to write code. The editor itself is loaded when it is first needed. */
import { html, useEffect, useRef, useState } from "../lib/view.js";

/** What is focused when somebody leaves a place where Tab is a key like others: the next Tab goes on behind it. @param {{box: any}} props */
export function After({ box }) {
  return html`<span ref=${box} class="visually-hidden" tabindex="-1">outside</span>`;
}

/** @param {{text: string, language: string, label: string, hint?: string, onChange: (text: string) => void, onRun: () => void, onStop?: () => boolean, focus?: boolean, class?: string}} props */
export function Editor(props) {
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  const made = useRef(/** @type {any} */ (null));
  const now = useRef(props);
  now.current = props;
  const [failed, setFailed] = useState(false);
  const [ready, setReady] = useState(false);
  useEffect(() => {
    let gone = false;
    import("../editor.js").then(
      ({ makeEditor }) => {
        if (gone || !host.current) return;
        made.current = makeEditor(host.current, {
          text: now.current.text, language: now.current.language, label: now.current.label, hint: now.current.hint ?? "",
          onChange: (text) => now.current.onChange(text), onRun: () => now.current.onRun(), onStop: () => now.current.onStop?.() ?? false,
          onLeave: () => end.current?.focus(),
        });
        setReady(true);
        if (now.current.focus) made.current.focus();
      },
      () => !gone && setFailed(true),
    );
    return () => {
      gone = true;
      made.current?.destroy();
    };
  }, []);
  useEffect(() => made.current?.setLanguage(props.language), [props.language, ready]);
  useEffect(() => {
    if (made.current && made.current.text() !== props.text) made.current.setText(props.text);
  }, [props.text, ready]);
  if (failed) return html`<textarea class="editor-plain" aria-label=${props.label} value=${props.text} onInput=${(/** @type {any} */ e) => props.onChange(e.target.value)}></textarea>`;
  return html`<div class="editor ${props.class ?? ""} ${ready ? "" : "is-loading"}" ref=${host} tabindex="-1"></div><${After} box=${end} />`;
}
