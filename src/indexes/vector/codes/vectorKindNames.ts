/** Names of the kinds of indexes on vectors: how codes are made, and whether partitions are searched by graphs. */

import type { VectorKindName } from "../../kind.js";

export const VECTOR_KIND_NAMES: readonly VectorKindName[] = [
  "IVF_FLAT",
  "IVF_PQ",
  "IVF_SQ",
  "IVF_HNSW_FLAT",
  "IVF_HNSW_PQ",
  "IVF_HNSW_SQ",
];

/** How vectors are encoded; see codes.ts. */
export type CodeKind = "FLAT" | "PQ" | "SQ";

export const codeKindOf = (kind: VectorKindName): CodeKind =>
  kind.endsWith("PQ") ? "PQ" : kind.endsWith("SQ") ? "SQ" : "FLAT";

/** Whether each partition has a graph; see graphFiles.ts. */
export const hasGraphs = (kind: VectorKindName): boolean => kind.includes("HNSW");
