/**
 * The API of `@lancedb/lancedb` on Tiltyard's engine: the same names, signatures, defaults and sentences of
 * errors, without a native binary.
 *
 * @module tiltyard/lancedb
 */

import * as embedding from "./embedding/index.js";
import { BranchContents, Session, TagContents } from "./native.js";
import * as rerankers from "./rerankers/index.js";

export type {
  Data,
  FieldLike,
  IntoVector,
  MultiVector,
  RecordBatchLike,
  SchemaLike,
  TableLike,
} from "./arrow.js";
export { MakeArrowTableOptions, makeArrowTable, VectorColumnOptions } from "./arrow.js";
export * from "./blob.js";
export * from "./connect.js";
export * from "./connection.js";
export * from "./header.js";
export * from "./indices.js";
export * from "./job.js";
export * from "./lsm.js";
export * from "./materialized_view.js";
export * from "./merge.js";
export type { OAuthConfig as NativeOAuthConfig } from "./native.js";
export * from "./native.js";
export { type OAuthConfig, OAuthFlowType } from "./oauth.js";
export * from "./otel.js";
export * from "./permutation.js";
export * from "./query.js";
export * from "./scannable.js";
export * from "./table.js";
export { type TokenizeOptions, tokenize } from "./tokenize.js";
export * from "./util.js";

export { embedding, rerankers };

/** Every export by name: programs that were written for CommonJS import one object. */
export default { BranchContents, embedding, rerankers, Session, TagContents };
