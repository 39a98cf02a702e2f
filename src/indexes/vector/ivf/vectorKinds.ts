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

/** Vectors of bytes are compared bit by bit, which only those kinds can whose codes are the vectors. */
const refusalBy =
  (name: VectorKindName | null) =>
  ({ type }: TableField): string | null => {
    const item = type.kind === "fixedSizeList" ? vectorItemOf(type.of) : null;
    if (name === "IVF_FLAT" || name === null) {
      return item === null ? "is no fixed-size list of floats, or of bytes without a sign" : null;
    }
    return item === null || item === "uint8" ? "is no fixed-size list of floats" : null;
  };

const shared = {
  typeUrl: "/lance.index.pb.VectorIndexDetails",
  indexVersion: 1,
  knowsPlaces: false,
} as const;

/** Segments of all kinds: manifests have one type for the details of all of them. */
export const VECTOR_SEGMENTS: MergeableKind = {
  ...shared,
  refusal: refusalBy(null),
  maxIndexVersion: 2,
  build: (rows, target) => buildIvf(kindIn(target.parameters), rows, target),
  merge: (old, moves, rows, target) => mergeIvf(old as readonly IvfIndex[], moves, rows, target),
  open: IvfIndex.open,
};

/** Whether a manifest means an index on vectors by the type of its details. */
export const isVectorTypeUrl = (typeUrl: string): boolean =>
  typeUrl.endsWith("lance.index.pb.VectorIndexDetails");

/** What an open segment says besides the settings that it was built with. */
const kindIn = (parameters: IndexTarget["parameters"]): VectorKindName =>
  parameters["indexType"] as VectorKindName;

const vectorKind = (name: VectorKindName): BuildableKind => ({
  ...shared,
  refusal: refusalBy(name),
  name,
  build: (rows, target) => buildIvf(name, rows, target),
});

const KINDS: ReadonlyMap<VectorKindName, BuildableKind> = new Map(
  VECTOR_KIND_NAMES.map((name) => [name, vectorKind(name)]),
);
