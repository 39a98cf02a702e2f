/**
 * Operations that count rows or tell whether a table exists. The first call of one of them loads this module.
 */

export { countTableRows } from "../operations/rows/countTableRows.js";
export { tableExists } from "../operations/table/tableExists.js";
