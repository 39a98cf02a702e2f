/** Operations that aggregate rows. The first call of one of them loads this module. */

export { aggregateTable } from "../operations/rows/aggregateTable.js";
