/** The frame around all pages: navigation, keys, and what is known of the connection. */
import { hasToken, onRefused, remove, setToken } from "./lib/api.js";
import { isOperator, start, stop } from "./lib/live.js";
import { go, usePlace } from "./lib/place.js";
import { Guard, html, useEffect, useLive, useRef, useState, useTick } from "./lib/view.js";
import { ago } from "./lib/format.js";
import { Line, Loading } from "./ui/basic.js";
import { Icon, Sign } from "./ui/icons.js";
import { KeyHelp, useKeys } from "./ui/keys.js";
import { chosenTheme, nextTheme } from "./ui/theme.js";
import { Login } from "./pages/login.js";

/** @type {{name: string, title: string, icon: string, key: string, group: number, operator?: boolean, cluster?: boolean}[]} */
export const PAGES = [
  { name: "now", title: "Now", icon: "now", key: "n", group: 0 },
  { name: "runs", title: "Runs", icon: "runs", key: "r", group: 0 },
  { name: "sessions", title: "Sessions", icon: "sessions", key: "s", group: 0 },
  { name: "playground", title: "Playground", icon: "play", key: "p", group: 0 },
  { name: "approvals", title: "Approvals", icon: "approvals", key: "a", group: 1 },
  { name: "changes", title: "Changes", icon: "changes", key: "c", group: 1 },
  { name: "audit", title: "Audit", icon: "audit", key: "u", group: 1 },
  { name: "skills", title: "Skills & states", icon: "skills", key: "k", group: 2 },
  { name: "tokens", title: "Tokens", icon: "tokens", key: "t", group: 2 },
  { name: "nodes", title: "Nodes", icon: "nodes", key: "o", group: 2, cluster: true },
  { name: "doctor", title: "Doctor", icon: "doctor", key: "d", group: 2 },
];

/** A single machine has no page of machines. */
const pagesOf = (/** @type {boolean} */ isCluster) => PAGES.filter((p) => isCluster || !p.cluster);

/** @param {{failure: import("./lib/api.js").Failure | null}} props */
export function App({ failure }) {
  const [isIn, setIn] = useState(hasToken());
  const [refused, setRefused] = useState(false);
  useEffect(() => onRefused(() => (setRefused(true), setIn(false))), []);
  useEffect(() => {
    if (isIn) start();
    return stop;
  }, [isIn]);
  if (!isIn) return html`<${Login} failure=${failure} refused=${refused} onToken=${(/** @type {string} */ token) => (setToken(token), setRefused(false), setIn(true))} />`;
  const leave = async () => {
    stop();
    await remove("/v1/console/token").catch(() => {});
    setToken("");
    setIn(false);
    location.hash = "#/";
  };
  return html`<${Shell} onLeave=${leave} />`;
}

/** @param {{onLeave: () => void}} props */
function Shell({ onLeave }) {
  const place = usePlace();
  const live = useLive();
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  const [, setTheme] = useState(chosenTheme());
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const name = place.path[0] ?? "now";
  const page = PAGES.find((p) => p.name === name);
  const path = place.path.join("/");
  const pages = pagesOf(live.isCluster);
  useKeys(pages, { help: () => setHelp((open) => !open), theme: () => setTheme(nextTheme()) });
  useEffect(() => {
    setMenu(false);
    main.current?.scrollTo(0, 0);
  }, [path]);
  useEffect(() => {
    const where = place.path[1] ? `${place.path[1].slice(0, 40)} · ` : "";
    document.title = `${live.approvals ? `(${live.approvals}) ` : ""}${where}${page?.title ?? "Belljar"} · Belljar`;
  }, [path, live.approvals]);
  const toMain = (/** @type {Event} */ event) => {
    event.preventDefault();
    main.current?.focus();
  };
  return html`<a class="skip" href="#main" onClick=${toMain}>Skip to the page</a>
    <div class="shell ${menu ? "menu-open" : ""}">
      <${Top} title=${page?.title ?? "Belljar"} approvals=${live.approvals} open=${menu} onMenu=${() => setMenu(!menu)} />
      <${Nav} pages=${pages} name=${name} approvals=${live.approvals} onLeave=${onLeave} onHelp=${() => setHelp(true)} onTheme=${() => setTheme(nextTheme())} />
      <div class="scrim" onClick=${() => setMenu(false)}></div>
      <main id="main" ref=${main} tabindex="-1"><${Banner} />${live.me || live.state !== "starting" ? html`<${Page} place=${place} />` : null}</main>
    </div>${help && html`<${KeyHelp} pages=${pages} onClose=${() => setHelp(false)} />`}`;
}

/** @param {{title: string, approvals: number, open: boolean, onMenu: () => void}} props */
function Top({ title, approvals, open, onMenu }) {
  return html`<header class="top"><button type="button" class="icon-button" aria-label="menu" aria-expanded=${String(open)} onClick=${onMenu}><${Icon} name=${open ? "cross" : "menu"} /></button>
    <span class="top-title">${title}</span><a class="icon-button" href="#/approvals" aria-label="${approvals} approvals wait"><${Icon} name="approvals" />${approvals > 0 && html`<span class="count">${approvals}</span>`}</a></header>`;
}

/** @param {{pages: typeof PAGES, name: string, approvals: number, onLeave: () => void, onHelp: () => void, onTheme: () => void}} props */
function Nav({ pages, name, approvals, onLeave, onHelp, onTheme }) {
  const theme = chosenTheme();
  return html`<nav class="nav" aria-label="pages"><a class="brand" href="#/now"><${Sign} /><span>Belljar</span></a>
    ${[0, 1, 2].map((group) => html`<ul>${pages.filter((p) => p.group === group).map(
      (p) => html`<li><a href="#/${p.name}" aria-current=${p.name === name ? "page" : undefined}><${Icon} name=${p.icon} /><span class="grow">${p.title}</span>${p.name === "approvals" && approvals > 0 && html`<span class="count" aria-label="${approvals} wait">${approvals}</span>`}</a></li>`,
    )}</ul>`)}
    <div class="nav-foot"><${Connection} />
      <div class="nav-tools"><button type="button" class="icon-button" title="keys (?)" aria-label="keys" onClick=${onHelp}><${Icon} name="keyboard" /></button>
        <button type="button" class="icon-button" title="theme: ${theme}" aria-label="theme: ${theme}" onClick=${onTheme}><${Icon} name=${theme === "dark" ? "moon" : theme === "light" ? "sun" : "half"} /></button>
        <button type="button" class="icon-button" title="forget the token" aria-label="forget the token" onClick=${onLeave}><${Icon} name="leave" /></button></div></div></nav>`;
}

function Connection() {
  const live = useLive();
  const words = { starting: "connecting", open: "live", lost: "not connected", absent: "no live updates" }[live.state];
  const tone = live.state === "open" ? "good" : live.state === "lost" ? "bad" : "calm";
  return html`<div class="connection"><span class="status tone-${tone}"><${Icon} name=${live.state === "open" ? "check" : live.state === "lost" ? "cross" : "clock"} />${words}</span>
    <span class="who muted small">${live.me ? html`<${Line} text=${live.me.name} max=${40} />${isOperator() ? " · operator" : ""}` : ""}</span></div>`;
}

/** Calm words while the server is away; what is on the page stays. */
function Banner() {
  const live = useLive();
  useTick();
  if (live.state !== "lost") return null;
  return html`<div class="banner" role="status"><${Icon} name="clock" /><span>The server does not answer. What you see is from ${ago(live.lostAt, Date.now())}; the page connects again by itself.</span></div>`;
}

/** Each page is loaded when it is first opened. @type {Record<string, () => Promise<any>>} */
const LOADERS = {
  now: () => import("./pages/now.js").then((m) => m.Now),
  runs: () => import("./pages/runs.js").then((m) => m.Runs),
  run: () => import("./pages/run.js").then((m) => m.Run),
  sessions: () => import("./pages/sessions.js").then((m) => m.Sessions),
  session: () => import("./pages/session.js").then((m) => m.Session),
  playground: () => import("./pages/playground.js").then((m) => m.Playground),
  changes: () => import("./pages/changes.js").then((m) => m.Changes),
  approvals: () => import("./pages/approvals.js").then((m) => m.Approvals),
  audit: () => import("./pages/audit.js").then((m) => m.Audit),
  record: () => import("./pages/audit.js").then((m) => m.Record),
  skills: () => import("./pages/skills.js").then((m) => m.Skills),
  skill: () => import("./pages/skills.js").then((m) => m.Skill),
  state: () => import("./pages/skills.js").then((m) => m.State),
  nodes: () => import("./pages/nodes.js").then((m) => m.Nodes),
  tokens: () => import("./pages/tokens.js").then((m) => m.Tokens),
  doctor: () => import("./pages/doctor.js").then((m) => m.Doctor),
};
/** Pages with an id are pages of their own. */
const ONES = /** @type {Record<string, string>} */ ({ runs: "run", sessions: "session", audit: "record", skills: "skill", states: "state" });

/** @type {Map<string, any>} */
const loaded = new Map();

/** @param {{place: import("./lib/filter.js").Place}} props */
function Page({ place }) {
  const [name = "now", id, sub] = place.path;
  const page = id && Object.hasOwn(ONES, name) ? ONES[name] : name;
  const isKnown = Object.hasOwn(LOADERS, page);
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (loaded.has(page) || !isKnown) return;
    setFailed(false);
    LOADERS[page]().then((component) => (loaded.set(page, component), redraw((n) => n + 1)), () => setFailed(true));
  }, [page]);
  if (!isKnown) return html`<div class="empty"><p class="empty-title">There is no page of that name.</p><button type="button" onClick=${() => go(["now"])}>Go to Now</button></div>`;
  const Component = loaded.get(page);
  if (failed && !Component) return html`<div class="empty"><p class="empty-title">This page could not be loaded: the server may have been updated.</p><button type="button" onClick=${() => location.reload()}>Load the console again</button></div>`;
  if (!Component) return html`<div class="page"><${Loading} lines=${6} /></div>`;
  const instead = html`<div class="empty"><p class="empty-title">This page cannot be drawn.</p><button type="button" onClick=${() => location.reload()}>Load the console again</button></div>`;
  return html`<${Guard} key=${`${page}/${id ?? ""}`} instead=${instead}><${Component} id=${id} tab=${sub ?? "cells"} query=${place.query} /><//>`;
}
