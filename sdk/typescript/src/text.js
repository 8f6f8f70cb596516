const UNSAFE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}]/gu;

/**
 * Replaces characters that a terminal obeys, or that hide text, by escapes.
 * @param {string} text
 * @returns {string}
 */
export function printable(text) {
  return text.replace(UNSAFE, (c) => {
    const code = /** @type {number} */ (c.codePointAt(0));
    const hex = code.toString(16);
    return code < 0x100 ? `\\x${hex.padStart(2, "0")}` : code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
  });
}

/**
 * @param {string} text
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

const PIECE = 0x8000; // arguments of one call

/**
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function toBase64(bytes) {
  let binary = "";
  for (let at = 0; at < bytes.length; at += PIECE) binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(binary);
}
