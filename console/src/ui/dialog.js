/** A dialog of the platform: focus stays in it, Escape closes it. */
import { html, useEffect, useRef } from "../lib/view.js";
import { Icon } from "./icons.js";

/** @param {{title: string, onClose: () => void, children?: any, class?: string}} props */
export function Dialog({ title, onClose, children, class: extra }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const dialog = box.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  const outside = (/** @type {MouseEvent} */ event) => event.target === box.current && onClose();
  return html`<dialog ref=${box} class="dialog ${extra ?? ""}" aria-label=${title} onCancel=${(/** @type {Event} */ e) => (e.preventDefault(), onClose())} onClick=${outside}>
    <div class="dialog-box"><header class="card-head"><h2>${title}</h2><button type="button" class="icon-button" aria-label="close" onClick=${onClose}><${Icon} name="cross" /></button></header>
    <div class="dialog-body">${children}</div></div></dialog>`;
}
