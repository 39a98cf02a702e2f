/** Operations that compute the values of columns. The first call of one of them loads this module. */

export { alterTableBackfillColumns } from "../operations/schema/alterTableBackfillColumns.js";
export { runBackfillTask } from "../operations/schema/runBackfillTask.js";
