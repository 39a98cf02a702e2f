/** Vector index kinds that this release builds, and the merging of their segments. */

import { takeColumn } from "../../../arrow/columns/takeColumn.js";
import type { TableField } from "../../../schema/schema.js";
import { fixedWidthColumn, integerWords, uint64Column } from "../../indexFile.js";
import type {
  BuildableKind,
  IndexParameters,
  IndexTarget,
  MergeableKind,
  OldSegment,
  RowStream,
  VectorKindName,
  WrittenFiles,
} from "../../kind.js";
import type { RowMoves } from "../../moves.js";
import type { CodeModel } from "../codes/codes.js";
import type { Rotation } from "../codes/rotation.js";
import { VECTOR_KIND_NAMES } from "../codes/vectorKindNames.js";
import { vectorTypeOf } from "../distance/vectorType.js";
import { buildIvf } from "./buildIvf.js";
import { IvfIndex } from "./ivfIndex.js";
import type { PartitionedRows } from "./partitionedRows.js";
import { vectorIndexDetails } from "./vectorDetails.js";
import { addRows, idBytes, type VectorEncoding, writeIvf } from "./writeIvf.js";

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
  build: (rows, target) => buildIvf(kindIn(target.parameters), rows, target),
  canMerge: (old) => old.every((index) => sharesModel(old[0] as IvfIndex, index as IvfIndex)),
  merge: (old, rows, target) => mergeIvf(old as readonly OldSegment<IvfIndex>[], rows, target),
  extend: (model, rows, target) =>
    writeIvf((model as IvfIndex).parts, target, (into, encoding, encoded) =>
      addRows(rows, encoded, encoding, into),
    ),
  open: IvfIndex.open,
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
  build: (rows, target) => buildIvf(name, rows, target),
});

const KINDS: ReadonlyMap<VectorKindName, BuildableKind> = new Map(
  VECTOR_KIND_NAMES.map((name) => [name, vectorKind(name)]),
);

/** Returns true if two segments have equal partitions, and equal codes for equal vectors. */
function sharesModel({ parts: a }: IvfIndex, { parts: b }: IvfIndex): boolean {
  return (
    JSON.stringify([a.kind, a.indexed]) === JSON.stringify([b.kind, b.indexed]) &&
    areEqual(a.centroids, b.centroids) &&
    isSameCode(a.model, b.model)
  );
}

function isSameCode(a: CodeModel, b: CodeModel): boolean {
  if (a.kind === "SQ") return b.kind === "SQ" && a.start === b.start && a.end === b.end;
  if (a.kind === "FLAT") return b.kind === "FLAT";
  if (a.kind === "RQ") return b.kind === "RQ" && a.bits === b.bits && isSameRotation(a.rotation, b.rotation);
  return b.kind === "PQ" && a.bits === b.bits && a.parts === b.parts && areEqual(a.words, b.words);
}

function isSameRotation(a: Rotation, b: Rotation): boolean {
  if (a.kind === "fast") return b.kind === "fast" && areEqual(a.signs, b.signs);
  return b.kind === "matrix" && areEqual(a.matrix, b.matrix);
}

const areEqual = (a: ArrayLike<number>, b: ArrayLike<number>): boolean =>
  a.length === b.length && Array.prototype.every.call(a, (value, index) => value === b[index]);

/**
 * Merges segments with further rows into a new segment. The centroids, the code model and the old codes stay;
 * graphs are rebuilt.
 * @param rows rows that the old segments lack
 */
async function mergeIvf(
  old: readonly OldSegment<IvfIndex>[],
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> {
  return writeIvf(old[0].index.parts, target, async (into, encoding, encoded) => {
    let copied = 0;
    const progress = (done: number) => encoded.progress?.(copied + done);
    for (const { index, moves } of old) {
      copied += await addCodedRows(index, moves, encoded, encoding, into);
      progress(0);
    }
    await addRows(rows, { ...encoded, progress }, encoding, into);
  });
}

/** @returns the number of rows */
async function addCodedRows(
  old: IvfIndex,
  moves: RowMoves | null,
  { signal }: IndexTarget,
  { encoder: { codeBytes } }: VectorEncoding,
  into: PartitionedRows,
): Promise<number> {
  let rowCount = 0;
  for await (const { partition, ids, codes } of old.codedRows(signal)) {
    const words = integerWords(ids, old.path);
    const { ids: movedIds, kept } = moves?.move(words) ?? { ids: words, kept: null };
    const count = kept?.length ?? ids.length;
    if (count === 0) continue;
    rowCount += count;
    const all = { ids: uint64Column(movedIds), codes: fixedWidthColumn(codes, codeBytes) };
    await into.add({
      partitions: new Uint32Array(count).fill(partition),
      ids: idBytes(kept === null ? all.ids : takeColumn(all.ids, kept)),
      codes: kept === null ? codes : takeColumn(all.codes, kept).values,
    });
  }
  return rowCount;
}
