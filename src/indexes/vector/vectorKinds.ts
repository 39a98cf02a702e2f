/** The kinds of indexes on vectors that are built. */

import type { BuildableKind, VectorKindName } from "../kind.js";
import { buildIvf } from "./buildIvf.js";
import { VECTOR_KIND_NAMES } from "./vectorKindNames.js";

/** The kind of a name; null for one that this release does not build. */
export const vectorKindOfName = (name: string): BuildableKind | null =>
  KINDS.get(name as VectorKindName) ?? null;

const vectorKind = (name: VectorKindName): BuildableKind => ({
  name,
  typeUrl: "/lance.index.pb.VectorIndexDetails",
  indexVersion: 1,
  knowsPlaces: false,
  refusal: ({ type }) =>
    type.kind === "fixedSizeList" && type.of.kind === "float" ? null : "is no fixed-size list of floats",
  build: (rows, target) => buildIvf(name, rows, target),
});

const KINDS: ReadonlyMap<VectorKindName, BuildableKind> = new Map(
  VECTOR_KIND_NAMES.map((name) => [name, vectorKind(name)]),
);
