/** Icons, drawn on a grid of 16 with lines of 1.5. They decorate: the word beside one, or its label, says what it means. */
import { html } from "../lib/view.js";

/** @type {Record<string, string>} */
const PATHS = {
  now: "M1.75 8.5h3l1.75-5 3 9 1.75-4h3",
  runs: "M5.5 4h8.75M5.5 8h8.75M5.5 12h8.75M2 4h.5M2 8h.5M2 12h.5",
  sessions: "M8 1.75 14.25 5 8 8.25 1.75 5zM1.75 8.25 8 11.5l6.25-3.25M1.75 11.25 8 14.5l6.25-3.25",
  play: "M4.5 2.75v10.5L13 8z",
  changes: "M8 2.5v6M5 5.5h6M5 12.5h6",
  approvals: "M8 1.75 13.25 3.5v4c0 3.25-2 5.5-5.25 6.75C4.75 13 2.75 10.75 2.75 7.5v-4zM5.5 7.75 7.25 9.5l3.25-3.5",
  audit: "M6.5 9.5 9.5 6.5M7.25 4.5l1.5-1.5a2.8 2.8 0 0 1 4 4l-1.5 1.5M8.75 11.5l-1.5 1.5a2.8 2.8 0 0 1-4-4l1.5-1.5",
  tokens: "M9.5 6.5a3.25 3.25 0 1 0-1.25 2.55L9.5 10.25h1.75V12h1.5v1.75h1.5V11.5L9.2 6.9",
  skills: "M8 4c-1.5-1-3.5-1.5-6-1.5v10c2.5 0 4.5.5 6 1.5 1.5-1 3.5-1.5 6-1.5v-10c-2.5 0-4.5.5-6 1.5zv10",
  doctor: "M2 8h3l1.25-2.5 2 5L9.5 8H14M8 13.75C3.5 10.75 1.75 8.5 1.75 6A3.25 3.25 0 0 1 8 4.5 3.25 3.25 0 0 1 14.25 6c0 2.5-1.75 4.75-6.25 7.75z",
  nodes: "M2 2.75h12v4H2zM2 9.25h12v4H2zM4.75 4.75H5M4.75 11.25H5",
  menu: "M2 4h12M2 8h12M2 12h12",
  copy: "M5.75 5.75h7.5v7.5h-7.5zM10.25 5.75v-3h-7.5v7.5h3",
  check: "M2.75 8.5 6.25 12l7-7.5",
  cross: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  stop: "M3.75 3.75h8.5v8.5h-8.5z",
  clock: "M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5zM8 4.5V8l2.5 1.5",
  warn: "M8 2 14.5 13.5h-13zM8 6.5v3.25M8 11.5v.25",
  refuse: "M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5zM3.6 3.6l8.8 8.8",
  memory: "M4 4h8v8H4zM6 1.75V4M10 1.75V4M6 12v2.25M10 12v2.25M1.75 6H4M1.75 10H4M12 6h2.25M12 10h2.25",
  running: "M8 1.75A6.25 6.25 0 1 1 1.75 8",
  refresh: "M13.5 8A5.5 5.5 0 1 1 11.75 4M13.5 1.75v3h-3",
  down: "M8 2v8.5M4.5 7 8 10.5 11.5 7M2.5 13.75h11",
  up: "M8 10.5V2M4.5 5.5 8 2l3.5 3.5M2.5 13.75h11",
  right: "M6 3.5 10.5 8 6 12.5",
  below: "M3.5 6 8 10.5 12.5 6",
  search: "M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2zM10.75 10.75 14 14",
  pause: "M5.25 3v10M10.75 3v10",
  fork: "M4 2.25a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM12 2.25a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM8 10.75a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM4 5.25C4 7.5 5.5 8 8 8s4-.5 4-2.75M8 8v2.75",
  trash: "M2.5 4h11M6 4V2.25h4V4M4 4l.75 9.75h6.5L12 4",
  terminal: "M1.75 2.75h12.5v10.5H1.75zM4.5 6l2.25 2-2.25 2M8.5 10.5h3",
  file: "M3.5 1.75h5.75l3.25 3.25v9.25h-9zM9 2v3.25h3.25",
  folder: "M1.75 3.25h4.5l1.5 1.75h6.5v8.25H1.75z",
  undo: "M5.5 2.5 2.5 5.5l3 3M2.5 5.5H10a3.75 3.75 0 0 1 0 7.5H6",
  keyboard: "M1.75 3.75h12.5v8.5H1.75zM4.25 6.5h.25M7 6.5h.25M9.75 6.5H10M12 6.5h.25M5 9.75h6",
  sun: "M8 5.25a2.75 2.75 0 1 0 0 5.5 2.75 2.75 0 0 0 0-5.5zM8 1.25v1.5M8 13.25v1.5M1.25 8h1.5M13.25 8h1.5M3.25 3.25l1 1M11.75 11.75l1 1M3.25 12.75l1-1M11.75 4.25l1-1",
  moon: "M13.5 9.5A5.75 5.75 0 0 1 6.5 2.5a5.75 5.75 0 1 0 7 7z",
  half: "M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5zV14.25M8 5h4.5M8 8h6M8 11h4.5",
  code: "M5.5 4 1.75 8l3.75 4M10.5 4l3.75 4-3.75 4",
  info: "M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5zM8 7.25v3.75M8 5v.25",
  flag: "M3.5 14.25V2h8.5l-2 3.25 2 3.25h-8.5",
  dot: "M8 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z",
  leave: "M9.5 2.5H3v11h6.5M6.5 8h7.5M11 5l3 3-3 3",
  mask: "M1.75 8S4 3.75 8 3.75 14.25 8 14.25 8 12 12.25 8 12.25 1.75 8 1.75 8zM8 6.25a1.75 1.75 0 1 0 0 3.5 1.75 1.75 0 0 0 0-3.5M2.5 13.5l11-11",
};

/** @param {{name: string, label?: string, class?: string}} props */
export function Icon({ name, label, class: extra }) {
  return html`<svg class="icon ${extra ?? ""}" viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"
    stroke-linejoin="round" role=${label ? "img" : undefined} aria-label=${label} aria-hidden=${label ? undefined : "true"}><path d=${PATHS[name]} /></svg>`;
}

/** The bell jar: our sign. */
export function Sign() {
  return html`<svg class="sign" viewBox="0 0 24 24" width="24" height="24" fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
    <path d="M12 2.5v2M10.5 2.5h3M5.5 18.5v-7a6.5 6.5 0 0 1 13 0v7M3 18.5h18M5 21.5h14" /><path d="M9 13.5 11 15.5 9 17.5M13 16.5h2.5" class="sign-in" /></svg>`;
}
