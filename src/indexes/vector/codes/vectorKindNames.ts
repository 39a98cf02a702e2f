/** Names of the vector index kinds: encoding, and with or without graphs. */

import type { VectorKindName } from "../../kind.js";

export const VECTOR_KIND_NAMES: readonly VectorKindName[] = [
  "IVF_FLAT",
  "IVF_PQ",
  "IVF_SQ",
  "IVF_HNSW_FLAT",
  "IVF_HNSW_PQ",
  "IVF_HNSW_SQ",
];

/** Encoding of vectors (codes.ts). */
export type CodeKind = "FLAT" | "PQ" | "SQ";

export const codeKindOf = (kind: VectorKindName): CodeKind =>
  kind.endsWith("PQ") ? "PQ" : kind.endsWith("SQ") ? "SQ" : "FLAT";

/** True if each partition has a graph (graphFiles.ts). */
export const hasGraphs = (kind: VectorKindName): boolean => kind.includes("HNSW");
