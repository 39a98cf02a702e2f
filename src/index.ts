/**
 * Tiltyard: an embeddable namespace engine for versioned Lance tables, in pure TypeScript.
 *
 * @module tiltyard
 */

export { DirectoryNamespace } from "./DirectoryNamespace.js";
export * from "./errors.js";
export { col, Expression, lit, sql } from "./expression/build.js";
export type { AggregateOptions, DistinctOptions, GroupRow } from "./handle/aggregateTypes.js";
export * from "./handle/defineTable.js";
export type {
  SearchOptions,
  SignalOptions,
  TableHandleOptions,
  UpdateOptions,
  VectorOptions,
} from "./handle/handleOptions.js";
export type {
  ColumnPath,
  Distance,
  Hybrid,
  InputRow,
  Relevance,
  Score,
  Selectable,
  SelectedRow,
} from "./handle/rowTypes.js";
export type { Scan, ScanOptions } from "./handle/scan.js";
export {
  type MatchingOptions,
  type PlanOptions,
  TableQuery,
} from "./handle/tableQuery.js";
export { formatFieldPath, formatIdentifier, parseFieldPath, parseIdentifier } from "./ident.js";
export type {
  AllocateTail,
  DirectoryEntry,
  Disk,
  FileStat,
  ReadHandle,
  WriteHandle,
} from "./io/disk/disk.js";
export type { MemoryShare } from "./memory.js";
export type * from "./namespace/branches.js";
export type * from "./namespace/caches.js";
export type * from "./namespace/clusters.js";
export type * from "./namespace/indexes.js";
export type * from "./namespace/jobs.js";
export type * from "./namespace/namespaces.js";
export type * from "./namespace/options.js";
export type * from "./namespace/queries.js";
export type * from "./namespace/request.js";
export type * from "./namespace/rows.js";
export type * from "./namespace/schema.js";
export type * from "./namespace/storage.js";
export type * from "./namespace/tables.js";
export type * from "./namespace/tags.js";
export type * from "./namespace/textQueries.js";
export type * from "./namespace/transactions.js";
export type * from "./namespace/upkeep.js";
export type * from "./namespace/versions.js";
export { TableHandle } from "./TableHandle.js";
export { tokenizeText as tokenize } from "./tokenizeText.js";
