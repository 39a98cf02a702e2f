/**
 * A client of Tiltyard's REST handler, for browsers too: `connectRest` gives an object with the methods of a
 * `DirectoryNamespace`.
 *
 * @module tiltyard/client
 */

export { connectRest, type RestNamespace } from "./client/restNamespace.js";
export type { HeaderRecord, RestOptions, RetryOptions } from "./client/restOptions.js";
export * from "./errors.js";
export { TableHandle } from "./TableHandle.js";
