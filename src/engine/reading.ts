/** Operations that query and count rows. The first call of one of them loads this module. */

export { countTableRows } from "../operations/rows/countTableRows.js";
export { queryTable } from "../operations/rows/queryTable.js";
export { tableExists } from "../operations/table/tableExists.js";
