/** Reads server-sent events from a stream of bytes. EventSource cannot send a token, so every stream here is a fetch. */

const LINE_MAX = 32 << 20; // of a result with its pictures

/**
 * @typedef {object} ServerEvent
 * @property {string} id    the last one that was seen, as the protocol says
 * @property {string} event
 * @property {string} data
 */

/** Takes text in pieces, however it was cut, and calls `onEvent` for each whole event. */
export class EventReader {
  /** @param {(event: ServerEvent) => void} onEvent */
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.rest = "";
    this.id = "";
    this.event = "";
    /** @type {string[]} */
    this.data = [];
    this.isFirst = true;
  }

  /** @param {string} text */
  feed(text) {
    if (this.isFirst && text) {
      this.isFirst = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    this.rest += text;
    let from = 0;
    for (;;) {
      const end = lineEnd(this.rest, from);
      if (!end) break;
      this.line(this.rest.slice(from, end.at));
      from = end.next;
    }
    this.rest = this.rest.slice(from);
    if (this.rest.length > LINE_MAX) throw new Error("an event of the server is too long");
  }

  /** @param {string} line */
  line(line) {
    if (line === "") {
      if (this.data.length) this.onEvent({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
      this.event = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "id" && !value.includes("\0")) this.id = value;
    else if (name === "event") this.event = value;
    else if (name === "data") this.data.push(value);
  }
}

/**
 * A line ends with \n, \r\n or \r; a \r at the end of a piece may be the first half of \r\n.
 * @param {string} text
 * @param {number} from
 */
function lineEnd(text, from) {
  for (let at = from; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === 10) return { at, next: at + 1 };
    if (c !== 13) continue;
    if (at + 1 === text.length) return null;
    return { at, next: text.charCodeAt(at + 1) === 10 ? at + 2 : at + 1 };
  }
  return null;
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {(event: ServerEvent) => void} onEvent
 */
export async function readEvents(body, onEvent) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const events = new EventReader(onEvent);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      events.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
