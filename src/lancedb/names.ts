/** The names that LanceDB's package exports, without the default one. */

export type {
  Data,
  DataLike,
  FieldLike,
  IntoVector,
  MultiVector,
  RecordBatchLike,
  SchemaLike,
  TableLike,
} from "./arrow.js";
export { MakeArrowTableOptions, makeArrowTable, VectorColumnOptions } from "./arrow.js";
export type { BlobOptions } from "./blob.js";
export { BlobFile, blob, isBlobField } from "./blob.js";
export type { DirNamespaceConfig, RestNamespaceConfig } from "./connect.js";
export { connect, connectNamespace } from "./connect.js";
export type {
  CreateNamespaceOptions,
  CreateNamespaceResponse,
  CreateTableOptions,
  DescribeNamespaceResponse,
  DropNamespaceOptions,
  DropNamespaceResponse,
  ListNamespacesOptions,
  ListNamespacesResponse,
  ListTablesOptions,
  ListTablesResponse,
  OpenTableOptions,
  RenameTableOptions,
  TableNamesOptions,
} from "./connection.js";
export { Connection } from "./connection.js";
export * as embedding from "./embedding/index.js";
export { HeaderProvider, OAuthHeaderProvider, StaticHeaderProvider, type TokenResponse } from "./header.js";
export type {
  FtsOptions,
  HnswPqOptions,
  HnswSqOptions,
  IndexOptions,
  IvfFlatOptions,
  IvfPqOptions,
  IvfRqOptions,
} from "./indices.js";
export { Index } from "./indices.js";
export type { JobEventsOptions } from "./job.js";
export { Job } from "./job.js";
export type { BucketStats, GenerationStats, LsmStats, MemtableStats } from "./lsm.js";
export type { MaterializedViewDefinition, MaterializedViewSelect } from "./materialized_view.js";
export { MaterializedView } from "./materialized_view.js";
export type { WriteExecutionOptions } from "./merge.js";
export { MergeInsertBuilder } from "./merge.js";
export type {
  AddColumnsResult,
  AddColumnsSql,
  AddResult,
  AlterColumnsResult,
  ClientConfig,
  CompactionStats,
  ConnectionOptions,
  ConnectNamespaceOptions,
  DeleteResult,
  DropColumnsResult,
  FragmentStatistics,
  FragmentSummaryStats,
  IndexConfig,
  IndexStatistics,
  JobFailureInfo,
  JobInfo,
  MergeResult,
  OAuthConfig as NativeOAuthConfig,
  OptimizeStats,
  RefreshColumnResult,
  RefreshMaterializedViewResult,
  RemovalStats,
  RetryConfig,
  TableStatistics,
  TimeoutConfig,
  TlsConfig,
  UpdateFieldMetadataResult,
  UpdateResult,
} from "./native.js";
export {
  BranchContents,
  JsHeaderProvider as NativeJsHeaderProvider,
  Session,
  TagContents,
} from "./native.js";
export { type OAuthConfig, OAuthFlowType } from "./oauth.js";
export { instrumentLanceDbMetrics } from "./otel.js";
export { PermutationBuilder, permutationBuilder } from "./permutation.js";
export type {
  AnalyzePlanDistributedMetrics,
  ColumnOrdering,
  ExecutableQuery,
  FullTextQuery,
  FullTextSearchOptions,
  QueryExecutionOptions,
} from "./query.js";
export {
  AutoQuery,
  BooleanQuery,
  BoostQuery,
  FullTextQueryType,
  MatchQuery,
  MultiMatchQuery,
  Occur,
  Operator,
  PhraseQuery,
  Query,
  QueryBase,
  RecordBatchIterator,
  TakeQuery,
  VectorQuery,
} from "./query.js";
export * as rerankers from "./rerankers/index.js";
export type { ScannableOptions } from "./scannable.js";
export { Scannable } from "./scannable.js";
export type {
  ShuffleOptions,
  SplitCalculatedOptions,
  SplitHashOptions,
  SplitRandomOptions,
  SplitSequentialOptions,
} from "./splitOptions.js";
export type {
  AddDataOptions,
  BranchColumnChange,
  BranchColumnSummary,
  BranchDiff,
  BranchIndexSummary,
  BranchRowCountSummary,
  CherryPickError,
  CherryPickPreview,
  CherryPickResult,
  ColumnAlteration,
  FieldMetadataUpdate,
  FtsToken,
  LsmWriteSpec,
  OptimizeOptions,
  TokenizeTableOptions,
  UpdateOptions,
  Version,
  WriteProgress,
} from "./table.js";
export { Branches, Table } from "./table.js";
export { Tags } from "./tags.js";
export { type BaseTokenizer, type TokenizeOptions, tokenize } from "./tokenize.js";
export type { IntoSql } from "./util.js";
export { packBits } from "./util.js";
