// Made from src/routes.js by tests/sdk/run.py --write. Do not edit.
/**
 * The target of a request. A part stays one part, and a path stays below its route.
 * @param {string} path of a route, such as `/v1/runs/{run}`
 * @param {{ [name: string]: string }} parts
 * @param {{ [name: string]: string | number | boolean | null | undefined }} query
 * @returns {string}
 */
export function target(path: string, parts: {
    [name: string]: string;
}, query: {
    [name: string]: string | number | boolean | null | undefined;
}): string;
