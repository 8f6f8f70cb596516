// Made from src/address.js by tests/sdk/run.py --write. Do not edit.
/**
 * The place of a server.
 * @typedef {object} Address
 * @property {string} origin what paths of routes are put after
 * @property {string | null} socket the path of a Unix socket
 * @property {boolean} isPrivate whether a token may be sent there
 * @property {string} name for messages
 */
/**
 * A variable of the environment, where there is one that may be read.
 * @param {string} name
 * @returns {string | undefined}
 */
export function variable(name: string): string | undefined;
/** The usual server: of the environment, of the page, or the Unix socket of this user. */
export function usualServer(): any;
/**
 * @param {string} server
 * @returns {Address}
 */
export function parseAddress(server: string): Address;
/**
 * The place of a server.
 */
export type Address = {
    /**
     * what paths of routes are put after
     */
    origin: string;
    /**
     * the path of a Unix socket
     */
    socket: string | null;
    /**
     * whether a token may be sent there
     */
    isPrivate: boolean;
    /**
     * for messages
     */
    name: string;
};
