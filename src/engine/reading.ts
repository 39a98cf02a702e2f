/** Queries of rows. Their first call loads this module. */

export { queryTable } from "../operations/rows/queryTable.js";
