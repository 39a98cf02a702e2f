/** The kinds of indexes on vectors that are built, and how segments of them are merged. */

import type { TableField } from "../../../schema/schema.js";
import type { BuildableKind, IndexTarget, MergeableKind, VectorKindName } from "../../kind.js";
import { VECTOR_KIND_NAMES } from "../codes/vectorKindNames.js";
import { vectorItemOf } from "../distance/metric.js";
import { buildIvf } from "./buildIvf.js";
import { IvfIndex } from "./ivfIndex.js";
import { mergeIvf } from "./mergeIvf.js";

/** The kind of a name; null for one that this release does not build. */
export const vectorKindOfName = (name: string): BuildableKind | null =>
  KINDS.get(name as VectorKindName) ?? null;

/** The kind of bytes too: they are compared bit by bit, which only codes can that are the vectors. */
const OF_BYTES = "IVF_FLAT";

/**
 * Why a column can't have an index on vectors; null where it can.
 * @param kind its name, also of one that this release does not build
 */
export function vectorRefusal(kind: string, { type }: TableField): string | null {
  if (type.kind !== "fixedSizeList") return "is no fixed-size list";
  const item = vectorItemOf(type.of);
  return item === null || (item === "uint8" && kind !== OF_BYTES) ? "holds no floats" : null;
}

const shared = {
  typeUrl: "/lance.index.pb.VectorIndexDetails",
  indexVersion: 1,
  knowsPlaces: false,
  keepsNoRows: true,
} as const;

/** Segments of all kinds: manifests have one type for the details of all of them. */
export const VECTOR_SEGMENTS: MergeableKind = {
  ...shared,
  refusal: (field) => vectorRefusal(OF_BYTES, field),
  maxIndexVersion: 2,
  build: (rows, target) => buildIvf(kindIn(target.parameters), rows, target),
  merge: (old, moves, rows, target) => mergeIvf(old as readonly IvfIndex[], moves, rows, target),
  open: IvfIndex.open,
};

/** What an open segment says besides the settings that it was built with. */
const kindIn = (parameters: IndexTarget["parameters"]): VectorKindName =>
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
