/**
 * Operations that return metadata. They change nothing and read no rows. The first call of one of them loads
 * this module.
 */

export { listTableBranches } from "../operations/branch/listTableBranches.js";
export { listTableIndices } from "../operations/index/listTableIndices.js";
export { describeJob } from "../operations/job/describeJob.js";
export { listJobs } from "../operations/job/listJobs.js";
export { describeNamespace } from "../operations/namespace/describeNamespace.js";
export { listNamespaces } from "../operations/namespace/listNamespaces.js";
export { namespaceExists } from "../operations/namespace/namespaceExists.js";
export { describeTable } from "../operations/table/describeTable.js";
export { listAllTables } from "../operations/table/listAllTables.js";
export { listTables } from "../operations/table/listTables.js";
export { getTableTagVersion } from "../operations/tag/getTableTagVersion.js";
export { listTableTags } from "../operations/tag/listTableTags.js";
export { describeTransaction } from "../operations/transaction/describeTransaction.js";
export { describeTableVersion } from "../operations/version/describeTableVersion.js";
export { listTableVersions } from "../operations/version/listTableVersions.js";
export { watchTable } from "../operations/version/watchTable.js";
