/** Operations that read rows. The first call of one of them loads this module. */

export { countTableRows } from "../operations/rows/countTableRows.js";
export { queryTable } from "../operations/rows/queryTable.js";
export { takeBlobs } from "../operations/rows/takeBlobs.js";
export { takeRows } from "../operations/rows/takeRows.js";
export { takeTableRows } from "../operations/rows/takeTableRows.js";
export { tableExists } from "../operations/table/tableExists.js";
