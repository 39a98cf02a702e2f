/**
 * Operations that compare, verify, explain or tokenize: they read files or plan queries, and change nothing.
 * The first call of one of them loads this module.
 */

export { describeTableIndexStats } from "../operations/index/describeTableIndexStats.js";
export { tokenize } from "../operations/index/tokenize.js";
export { analyzeTableQueryPlan } from "../operations/rows/analyzeTableQueryPlan.js";
export { diffTableVersions } from "../operations/rows/diffTableVersions.js";
export { explainTableQueryPlan } from "../operations/rows/explainTableQueryPlan.js";
export { describeComputedColumns } from "../operations/schema/describeComputedColumns.js";
export { describeTableFile } from "../operations/table/describeTableFile.js";
export { describeTableStorage } from "../operations/table/describeTableStorage.js";
export { getTableStats } from "../operations/table/getTableStats.js";
export { verifyTable } from "../operations/table/verifyTable.js";
