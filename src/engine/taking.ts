/** Operations that return rows by position or id. The first call of one of them loads this module. */

export { takeBlobs } from "../operations/rows/takeBlobs.js";
export { takeRows } from "../operations/rows/takeRows.js";
export { takeTableRows } from "../operations/rows/takeTableRows.js";
