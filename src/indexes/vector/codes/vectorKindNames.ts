/** Names of the vector index kinds: encoding, and with or without graphs. */

import type { VectorKindName } from "../../kind.js";

export const VECTOR_KIND_NAMES = (["IVF_", "IVF_HNSW_"] as const).flatMap((kind) =>
  (["FLAT", "PQ", "SQ"] as const).map((code): VectorKindName => `${kind}${code}`),
);

/** Encoding of vectors (codes.ts). */
export type CodeKind = "FLAT" | "PQ" | "SQ";

export const codeKindOf = (kind: VectorKindName): CodeKind =>
  kind.endsWith("PQ") ? "PQ" : kind.endsWith("SQ") ? "SQ" : "FLAT";

/** True if each partition has a graph (graphFiles.ts). */
export const hasGraphs = (kind: VectorKindName): boolean => kind.includes("HNSW");
