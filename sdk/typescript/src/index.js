/** The client of `belljar serve`. Nothing but fetch and streams: Node, Deno, Bun and browsers. */
export { Client } from "./client.js";
export { Command, Commands } from "./commands.js";
export { Jobs } from "./durable.js";
export {
  AuthError,
  BelljarError,
  BusyError,
  ConflictError,
  DeniedError,
  InvalidError,
  NotFoundError,
  ProgramFailed,
  ProtocolError,
  TooLargeError,
  Unreachable,
  UnsupportedError,
} from "./errors.js";
export { Events } from "./events.js";
export { Files } from "./files.js";
export { Job } from "./job.js";
export { Case, Result, displayBytes } from "./result.js";
export { Session } from "./session.js";
export { Skills, States } from "./store.js";

/** @typedef {import("./client.js").ClientOptions} ClientOptions */
/** @typedef {import("./events.js").Event} Event */
/** @typedef {import("./fields.js").RunFields} RunFields */
/** @typedef {import("./fields.js").CellFields} CellFields */
/** @typedef {import("./fields.js").CommandFields} CommandFields */
/** @typedef {import("./fields.js").JobFields} JobFields */
/** @typedef {import("./fields.js").SessionFields} SessionFields */
/** @typedef {import("./fields.js").BatchFields} BatchFields */
/** @typedef {import("./fields.js").BatchRun} BatchRun */
/** @typedef {import("../types/api.js").Routes} Routes */
/** @typedef {import("../types/api.js").Approval} Approval */
/** @typedef {import("../types/api.js").Changes} Changes */
/** @typedef {import("../types/api.js").Display} Display */
/** @typedef {import("../types/api.js").Violation} Violation */
