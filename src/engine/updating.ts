/** Operations that update and delete rows. The first call of one of them loads this module. */

export { deleteFromTable } from "../operations/rows/deleteFromTable.js";
export { updateTable } from "../operations/rows/updateTable.js";
