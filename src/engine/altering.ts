/** Operations that change columns and metadata. The first call of one of them loads this module. */

export { alterTableAddColumns } from "../operations/schema/alterTableAddColumns.js";
export { alterTableAlterColumns } from "../operations/schema/alterTableAlterColumns.js";
export { alterTableDropColumns } from "../operations/schema/alterTableDropColumns.js";
export { updateFieldMetadata } from "../operations/schema/updateFieldMetadata.js";
export { updateTableSchemaMetadata } from "../operations/schema/updateTableSchemaMetadata.js";
