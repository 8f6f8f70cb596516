/** Files of a session: a directory at a time, with a preview. */
import { path, remove, request } from "../lib/api.js";
import { bytes } from "../lib/format.js";
import { setQuery } from "../lib/place.js";
import { flat } from "../lib/text.js";
import { html, useAction, useEffect, useGet, useRef, useState } from "../lib/view.js";
import { Copy, Empty, Line, Load, Problem, Sure, Time, download } from "./basic.js";
import { Code } from "./code.js";
import { Table } from "./displays.js";
import { Icon } from "./icons.js";
import { Output } from "./output.js";

const PREVIEW_BYTES = 256 * 1024;
const PICTURE_BYTES = 8 << 20;
const PICTURES = /** @type {Record<string, string>} */ ({ png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", svg: "image/svg+xml" });
const LANGUAGES = /** @type {Record<string, string>} */ ({ py: "python", js: "javascript", ts: "typescript", sh: "bash" });

/** @param {string} id @param {string} name */
function urlOf(id, name) {
  return path`/v1/sessions/${id}/files/` + name.split("/").map(encodeURIComponent).join("/");
}

/** @param {{id: string, roots: string[], dir: string, file: string, round: number}} props  roots: "" is /workspace */
export function Files({ id, roots, dir, file, round }) {
  const list = useGet(path`/v1/sessions/${id}/files`, { query: { path: dir, depth: 1, limit: 1000 } });
  const action = useAction();
  const [over, setOver] = useState(false);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else list.reload();
  }, [round]);
  const upload = (/** @type {FileList | null | undefined} */ files) => action.run(async () => {
    for (const f of files ?? []) await request("PUT", urlOf(id, dir ? `${dir}/${f.name}` : f.name), { body: f });
    list.reload();
  });
  const drop = (/** @type {DragEvent} */ e) => {
    e.preventDefault();
    setOver(false);
    upload(e.dataTransfer?.files);
  };
  const root = roots.filter((r) => r && (dir === r || dir.startsWith(`${r}/`))).sort((a, b) => b.length - a.length)[0] ?? "";
  const steps = dir.slice(root.length).split("/").filter(Boolean);
  const upTo = (/** @type {number} */ n) => (root ? [root, ...steps.slice(0, n)] : steps.slice(0, n)).join("/");
  return html`<div class="files ${over ? "is-over" : ""}" onDragOver=${(/** @type {Event} */ e) => (e.preventDefault(), setOver(true))} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <div class="row wrap files-head"><nav class="crumbs" aria-label="directory">${roots.length > 1 ? html`<select aria-label="directory" value=${root} onChange=${(/** @type {any} */ e) => setQuery({ dir: e.target.value })}>${roots.map((r) => html`<option value=${r} selected=${r === root}>${flat(r || "/workspace", 80)}</option>`)}</select>${steps.length > 0 && html`<button type="button" class="link" onClick=${() => setQuery({ dir: root })}>top</button>`}` : html`<button type="button" class="link" onClick=${() => setQuery({})}>/workspace</button>`}${steps.map((s, n) => html`<${Icon} name="right" /><button type="button" class="link" onClick=${() => setQuery({ dir: upTo(n + 1) })}><${Line} text=${s} max=${60} /></button>`)}</nav><span class="grow"></span>
      <button type="button" disabled=${action.busy} onClick=${() => input.current?.click()}><${Icon} name="up" />${action.busy ? "Uploading…" : "Upload"}</button><input ref=${input} type="file" multiple hidden onChange=${(/** @type {any} */ e) => (upload(e.target.files), (e.target.value = ""))} /></div>
    <${Problem} error=${action.error} />
    <div class="halves ${file ? "" : "single"}"><${Load} of=${list}>${(/** @type {any} */ data) => data.files.length ? html`<div class="table-box"><table class="table"><thead><tr><th scope="col">Name</th><th scope="col" class="col-number">Size</th><th scope="col">Changed</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead><tbody>
      ${data.files.map((/** @type {any} */ f) => html`<${Entry} key=${f.path} f=${f} id=${id} dir=${dir} isOpen=${f.path === file} onGone=${list.reload} />`)}</tbody></table>${data.has_more && html`<p class="muted small">There are more entries than this list shows.</p>`}</div>`
      : html`<${Empty} title="No files here" icon="folder"><p class="muted">Drop files here, or let a cell write some.</p><//>`}<//>
      ${file && html`<${Preview} key=${file} id=${id} file=${file} size=${list.data?.files.find((/** @type {any} */ f) => f.path === file)?.size} onClose=${() => setQuery({ dir })} />`}</div></div>`;
}

/** @param {{f: any, id: string, dir: string, isOpen: boolean, onGone: () => void}} props */
function Entry({ f, id, dir, isOpen, onGone }) {
  const action = useAction();
  const isDir = f.kind === "directory" || f.kind === "dir";
  const name = f.path.split("/").pop();
  const open = () => setQuery(isDir ? { dir: f.path } : { dir, file: f.path });
  const when = typeof f.modified === "number" ? f.modified * 1000 : f.modified;
  return html`<tr class=${isOpen ? "picked" : ""}><td data-name="Name"><button type="button" class="link file-name" onClick=${open}><${Icon} name=${isDir ? "folder" : "file"} /><span class="break"><${Line} text=${name} max=${200} /></span></button></td><td class="col-number one-line" data-name="Size">${isDir ? "–" : bytes(f.size)}</td><td class="one-line" data-name="Changed"><${Time} at=${when} /></td>
    <td class="row-actions"><${Sure} label=${html`<span class="visually-hidden">delete ${name}</span>`} icon="trash" sure="Delete?" class="quiet" disabled=${action.busy} onDo=${() => action.run(async () => (await remove(urlOf(id, f.path), { query: { recursive: isDir ? "true" : undefined } }), onGone()))} /><${Problem} error=${action.error} /></td></tr>`;
}

/** @param {{id: string, file: string, size: number | undefined, onClose: () => void}} props */
function Preview({ id, file, size, onClose }) {
  const action = useAction();
  const [data, setData] = useState(/** @type {{text?: string, picture?: string, size: number, cut: boolean, binary?: boolean} | null} */ (null));
  const [isTable, setTable] = useState(true);
  const suffix = (file.split(".").pop() ?? "").toLowerCase();
  useEffect(() => {
    action.run(async () => {
      const kind = PICTURES[suffix];
      const max = kind ? PICTURE_BYTES : PREVIEW_BYTES;
      const response = await request("GET", urlOf(id, file), { headers: size === 0 ? {} : { Range: `bytes=0-${max - 1}` } });
      const whole = Number(/\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1] ?? response.headers.get("Content-Length") ?? 0);
      const buffer = new Uint8Array(await response.arrayBuffer());
      if (kind && buffer.length >= whole) setData({ picture: `data:${kind};base64,${base64(buffer)}`, size: whole, cut: false });
      else setData({ text: new TextDecoder().decode(buffer.slice(0, PREVIEW_BYTES)), size: whole, cut: whole > buffer.length, binary: buffer.slice(0, 4096).includes(0) });
    });
  }, [id, file]);
  const save = () => action.run(async () => download(file.split("/").pop() ?? "file", await (await request("GET", urlOf(id, file))).blob()));
  return html`<section class="preview stack" aria-label="preview"><div class="row"><strong class="break grow"><${Line} text=${file} max=${300} /></strong><span class="muted small tabular">${bytes(data?.size ?? size)}</span>
      <button type="button" class="icon-button" title="download" aria-label="download" onClick=${save}><${Icon} name="down" /></button><button type="button" class="icon-button" aria-label="close the preview" onClick=${onClose}><${Icon} name="cross" /></button></div><${Problem} error=${action.error} />
    ${data?.picture ? html`<img class="picture" alt="preview of the file" src=${data.picture} />` : data?.binary ? html`<p class="muted">This is not text. Download it to look at it.</p>` : data?.text !== undefined && (LANGUAGES[suffix] ? html`<div class="output"><div class="output-head"><span class="output-title">${LANGUAGES[suffix]}</span><span class="grow"></span><${Copy} text=${data.text} what="copy content" /></div><${Code} code=${data.text} language=${LANGUAGES[suffix]} label="content of the file" /></div>` : suffix === "csv" && isTable ? html`<div class="output"><div class="output-head"><span class="grow"></span><${Copy} text=${data.text} what="copy content" /><button type="button" class="quiet" onClick=${() => setTable(false)}>As text</button></div><${Table} csv=${data.text} /></div>` : html`<${Output} text=${data.text} title="content" name=${file} bare />${suffix === "csv" && html`<div><button type="button" class="link" onClick=${() => setTable(true)}>As a table</button></div>`}`)}
    ${data?.cut && html`<p class="muted small">The first ${bytes(PREVIEW_BYTES)} are shown. Download the file to have all of it.</p>`}</section>`;
}

/** @param {Uint8Array} data */
function base64(data) {
  let text = "";
  for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(text);
}
