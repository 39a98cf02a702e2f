/**
 * The kinds of vector indexes: their names, and the columns that they take. The first index of any kind loads
 * the modules that build, merge and open them.
 */

import { lazyModule } from "../../../async/lazy.js";
import type { TableField } from "../../../schema/schema.js";
import type { BuildableKind, IndexParameters, MergeableKind, VectorKindName } from "../../kind.js";
import { VECTOR_KIND_NAMES } from "../codes/vectorKindNames.js";
import { vectorTypeOf } from "../distance/vectorType.js";
import { vectorIndexDetails } from "./vectorDetails.js";

const building = lazyModule(() => import("./buildIvf.js"));
const segments = lazyModule(() => import("./ivfSegments.js"));

/** Returns the kind of this name; null if this release does not build it. */
export const vectorKindOfName = (name: string): BuildableKind | null =>
  KINDS.get(name as VectorKindName) ?? null;

/** The only kind for binary vectors, whose bits only uncompressed codes preserve. */
const OF_BYTES = "IVF_FLAT";

/** Returns why a column cannot have an index of any kind, as the predicate of a sentence; null if it can. */
export function vectorRefusal(kind: string, field: TableField): string | null {
  const vectors = vectorTypeOf(field);
  if (vectors === null)
    return field.type.kind === "fixedSizeList" ? "holds no floats" : "is no fixed-size list";
  const { item, isMulti } = vectors;
  return item === "uint8" && (kind !== OF_BYTES || isMulti) ? "holds no floats" : null;
}

/** Version of indexes of rotated codes, which LanceDB 0.39 uses from this version on. */
const RQ_INDEX_VERSION = 2;

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
  versionOf: (parameters) => versionOfKind(kindIn(parameters)),
  rowTime: 100,
  details: (parameters, field) => vectorIndexDetails(kindIn(parameters), parameters, field),
  build: async (rows, target) => (await building.get()).buildIvf(kindIn(target.parameters), rows, target),
  // Opening the segments has loaded the module.
  canMerge: (old) => segments.made.canMergeIvf(old),
  merge: async (old, rows, target) => (await segments.get()).mergeIvf(old, rows, target),
  extend: async (model, rows, target) => (await segments.get()).extendIvf(model, rows, target),
  open: async (files, field) => (await segments.get()).openIvf(files, field),
};

/** Returns the kind from the settings of an open segment. */
const kindIn = (parameters: IndexParameters): VectorKindName => parameters["indexType"] as VectorKindName;

/** Returns the format version of a kind. */
const versionOfKind = (name: VectorKindName): number =>
  name === "IVF_RQ" ? RQ_INDEX_VERSION : shared.indexVersion;

const vectorKind = (name: VectorKindName): BuildableKind => ({
  ...shared,
  refusal: (field) => vectorRefusal(name, field),
  name,
  indexVersion: versionOfKind(name),
  details: (parameters, field) => vectorIndexDetails(name, parameters, field),
  build: async (rows, target) => (await building.get()).buildIvf(name, rows, target),
});

const KINDS: ReadonlyMap<VectorKindName, BuildableKind> = new Map(
  VECTOR_KIND_NAMES.map((name) => [name, vectorKind(name)]),
);
