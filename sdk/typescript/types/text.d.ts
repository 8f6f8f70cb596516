// Made from src/text.js by tests/sdk/run.py --write. Do not edit.
/**
 * Replaces characters that a terminal obeys, or that hide text, by escapes.
 * @param {string} text
 * @returns {string}
 */
export function printable(text: string): string;
/**
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function fromBase64(text: string): Uint8Array<ArrayBuffer>;
/**
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function toBase64(bytes: Uint8Array): string;
