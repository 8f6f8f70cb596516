/** Debian's chromium, and pages that note whatever must not happen: errors in the log, violations of the policy, requests to another host, dialogs. */
import { createRequire } from "node:module";
import path from "node:path";

const ARGUMENTS = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];

/** @param {string} modules  where npm's packages are */
export function load(modules) {
  const require = createRequire(path.join(modules, "node_modules/"));
  return require("playwright-core");
}

/** @param {string} modules */
export function start(modules) {
  // As root there is no sandbox of the browser's own.
  const args = process.getuid?.() === 0 ? [...ARGUMENTS, "--no-sandbox"] : ARGUMENTS;
  return load(modules).chromium.launch({ executablePath: "/usr/bin/chromium", args });
}

/**
 * @param {any} browser
 * @param {string} url
 * @param {any} [options]  of a context
 */
export async function newPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", acceptDownloads: true, ...options });
  const page = await context.newPage();
  const host = new URL(url).host;
  /** @type {{errors: string[], foreign: string[], dialogs: string[], requests: string[], frames: string[]}} */
  const seen = { errors: [], foreign: [], dialogs: [], requests: [], frames: [] };
  page.on("console", (/** @type {any} */ m) => m.type() === "error" && seen.errors.push(`${m.text()} ${m.location().url ?? ""}`));
  page.on("pageerror", (/** @type {Error} */ e) => seen.errors.push(String(e.stack ?? e)));
  page.on("dialog", (/** @type {any} */ d) => (seen.dialogs.push(d.message()), d.dismiss()));
  page.on("popup", (/** @type {any} */ p) => seen.frames.push(`popup ${p.url()}`));
  page.on("framenavigated", (/** @type {any} */ f) => seen.frames.push(f.url()));
  const note = (/** @type {string} */ address) => {
    seen.requests.push(address);
    const u = new URL(address);
    if (!["data:", "blob:", "about:"].includes(u.protocol) && u.host !== host) seen.foreign.push(address);
  };
  context.on("request", (/** @type {any} */ r) => note(r.url()));
  page.on("websocket", (/** @type {any} */ w) => note(w.url()));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => console.error(`violation of ${e.violatedDirective}: ${e.blockedURI} ${e.sample}`));
  });
  return { context, page, seen };
}

/**
 * Opens the console as somebody with a token does.
 * @param {any} page
 * @param {string} url
 * @param {string} token
 */
export async function enter(page, url, token) {
  await page.goto(`${url}/console#token=${token}`);
  await page.waitForSelector("nav.nav", { state: "attached" });
}

/** @param {any} page @param {string} hash */
export async function open(page, hash) {
  await page.evaluate((/** @type {string} */ h) => void (location.hash = h), hash);
  // Without the handle, which would keep the page in memory after it is left.
  await (await page.waitForSelector("main h1, main .empty-title")).dispose();
  await page.waitForFunction(() => !document.querySelector("main .loading:not(.list-more .loading)") && !document.querySelector(".editor.is-loading"));
}
