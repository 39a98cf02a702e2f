/** The kinds of indexes on vectors that are built, and how segments of them are merged. */

import type { TableField } from "../../../schema/schema.js";
import type { BuildableKind, IndexTarget, MergeableKind, VectorKindName } from "../../kind.js";
import { VECTOR_KIND_NAMES } from "../codes/vectorKindNames.js";
import { buildIvf } from "./buildIvf.js";
import { IvfIndex } from "./ivfIndex.js";
import { mergeIvf } from "./mergeIvf.js";

/** The kind of a name; null for one that this release does not build. */
export const vectorKindOfName = (name: string): BuildableKind | null =>
  KINDS.get(name as VectorKindName) ?? null;

const refusal = ({ type }: TableField): string | null =>
  type.kind === "fixedSizeList" && type.of.kind === "float" ? null : "is no fixed-size list of floats";

const shared = {
  typeUrl: "/lance.index.pb.VectorIndexDetails",
  indexVersion: 1,
  knowsPlaces: false,
  refusal,
} as const;

/** Segments of all kinds: manifests have one type for the details of all of them. */
export const VECTOR_SEGMENTS: MergeableKind = {
  ...shared,
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
  name,
  build: (rows, target) => buildIvf(name, rows, target),
});

const KINDS: ReadonlyMap<VectorKindName, BuildableKind> = new Map(
  VECTOR_KIND_NAMES.map((name) => [name, vectorKind(name)]),
);
