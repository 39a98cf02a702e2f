/**
 * Operations on namespaces, tables, branches, tags and versions as a whole. The first call of one of them
 * loads this module.
 */

export { createTableBranch } from "../operations/branch/createTableBranch.js";
export { deleteTableBranch } from "../operations/branch/deleteTableBranch.js";
export { mergeTableBranch } from "../operations/branch/mergeTableBranch.js";
export { createNamespace } from "../operations/namespace/createNamespace.js";
export { dropNamespace } from "../operations/namespace/dropNamespace.js";
export { batchCommitTables } from "../operations/table/batchCommitTables.js";
export { cloneTable } from "../operations/table/cloneTable.js";
export { declareTable } from "../operations/table/declareTable.js";
export { deregisterTable } from "../operations/table/deregisterTable.js";
export { dropTable } from "../operations/table/dropTable.js";
export { registerTable } from "../operations/table/registerTable.js";
export { renameTable } from "../operations/table/renameTable.js";
export { restoreTable } from "../operations/table/restoreTable.js";
export { createTableTag } from "../operations/tag/createTableTag.js";
export { deleteTableTag } from "../operations/tag/deleteTableTag.js";
export { updateTableTag } from "../operations/tag/updateTableTag.js";
export { batchCreateTableVersions } from "../operations/version/batchCreateTableVersions.js";
export { batchDeleteTableVersions } from "../operations/version/batchDeleteTableVersions.js";
export { createTableVersion } from "../operations/version/createTableVersion.js";
export { migrateManifestNames } from "../operations/version/migrateManifestNames.js";
