/** Operations that read rows: the part of the engine that is loaded with the first of them. */

export { countTableRows } from "../operations/rows/countTableRows.js";
export { queryTable } from "../operations/rows/queryTable.js";
export { takeBlobs } from "../operations/rows/takeBlobs.js";
export { takeRows } from "../operations/rows/takeRows.js";
export { tableExists } from "../operations/table/tableExists.js";
