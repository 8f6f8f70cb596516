/** Where in the console we are. */
import { parsePlace, placeHash } from "./filter.js";
import { useEffect, useState } from "./view.js";

/** @type {Set<() => void>} */
const watchers = new Set();
let place = parsePlace("");

/** Called once the address has no secret in it any more. */
export function readPlace() {
  place = parsePlace(location.hash);
  for (const watcher of watchers) watcher();
}

addEventListener("hashchange", readPlace);

export function usePlace() {
  const [at, setAt] = useState(place);
  useEffect(() => {
    const watcher = () => setAt(place);
    watchers.add(watcher);
    watcher();
    return () => void watchers.delete(watcher);
  }, []);
  return at;
}

/**
 * @param {string[]} path
 * @param {Record<string, unknown>} [query]
 */
export function go(path, query) {
  location.hash = placeHash(path, query);
}

/**
 * Filters change the address without a step in the history.
 * @param {Record<string, unknown>} query
 */
export function setQuery(query) {
  history.replaceState(null, "", placeHash(place.path, query));
  place = parsePlace(location.hash);
  for (const watcher of watchers) watcher();
}

export { placeHash };
