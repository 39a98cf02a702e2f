/**
 * A typed client of Tiltyard's HTTP interface, for Node.js and browsers.
 *
 * @module tiltyard/client
 */

export {};
