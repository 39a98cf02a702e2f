/** Vector index kinds that this release builds, and the merging of their segments. */

import type { TableField } from "../../../schema/schema.js";
import type { BuildableKind, IndexParameters, MergeableKind, VectorKindName } from "../../kind.js";
import { VECTOR_KIND_NAMES } from "../codes/vectorKindNames.js";
import { vectorItemOf } from "../distance/metric.js";
import { buildIvf } from "./buildIvf.js";
import { IvfIndex } from "./ivfIndex.js";
import { mergeIvf } from "./mergeIvf.js";

/** Returns the kind of this name; null if this release does not build it. */
export const vectorKindOfName = (name: string): BuildableKind | null =>
  KINDS.get(name as VectorKindName) ?? null;

/** The only kind for binary vectors, whose bits only uncompressed codes preserve. */
const OF_BYTES = "IVF_FLAT";

/**
 * Returns the reason why a column cannot have the index, as the predicate of a sentence; else null.
 * @param kind name of any kind, even one that this release does not build
 */
export function vectorRefusal(kind: string, { type }: TableField): string | null {
  if (type.kind !== "fixedSizeList") return "is no fixed-size list";
  const item = vectorItemOf(type.of);
  return item === null || (item === "uint8" && kind !== OF_BYTES) ? "holds no floats" : null;
}

const shared = {
  typeUrl: "/lance.index.pb.VectorIndexDetails",
  indexVersion: 1,
  storesAddresses: false,
  keepsNoRows: true,
} as const;

/** Segments of all vector kinds, which share one details type in manifests. */
export const VECTOR_SEGMENTS: MergeableKind = {
  ...shared,
  refusal: (field) => vectorRefusal(OF_BYTES, field),
  maxIndexVersion: 2,
  build: (rows, target) => buildIvf(kindIn(target.parameters), rows, target),
  merge: (old, moves, rows, target) => mergeIvf(old as readonly IvfIndex[], moves, rows, target),
  open: IvfIndex.open,
};

/** Returns the kind from the settings of an open segment. */
const kindIn = (parameters: IndexParameters): VectorKindName =>
  parameters["indexType"] as VectorKindName;

const vectorKind = (name: VectorKindName): BuildableKind => ({
  ...shared,
  refusal: (field) => vectorRefusal(name, field),
  name,
  build: (rows, target) => buildIvf(name, rows, target),
});

const KINDS: ReadonlyMap<VectorKindName, BuildableKind> = new Map(
  VECTOR_KIND_NAMES.map((name) => [name, vectorKind(name)]),
);
