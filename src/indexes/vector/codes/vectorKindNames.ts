/** Names of the vector index kinds: encoding, and with or without graphs. */

import type { VectorKindName } from "../../kind.js";

export const VECTOR_KIND_NAMES: readonly VectorKindName[] = [
  ...(["IVF_", "IVF_HNSW_"] as const).flatMap((kind) =>
    (["FLAT", "PQ", "SQ"] as const).map((code): VectorKindName => `${kind}${code}`),
  ),
  "IVF_RQ",
];

/** Encoding of vectors (codes.ts). */
export type CodeKind = "FLAT" | "PQ" | "SQ" | "RQ";

export const codeKindOf = (kind: VectorKindName): CodeKind =>
  (["PQ", "SQ", "RQ"] as const).find((code) => kind.endsWith(code)) ?? "FLAT";

/** True if each partition has a graph (graphFiles.ts). */
export const hasGraphs = (kind: VectorKindName): boolean => kind.includes("HNSW");
