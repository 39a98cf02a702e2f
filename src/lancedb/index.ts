/**
 * The API of `@lancedb/lancedb` on Tiltyard's engine: the same names, signatures, defaults and sentences of
 * errors, without a native binary.
 *
 * @module tiltyard/lancedb
 */

import * as names from "./names.js";

export * from "./names.js";

/** Every export by name. Programs written for CommonJS import one object, and may replace its members. */
const lancedb: typeof names = { ...names };
export default lancedb;
