/** Opens, merges and extends segments of vector indexes of all kinds. */

import { takeColumn } from "../../../arrow/columns/takeColumn.js";
import type { TableField } from "../../../schema/schema.js";
import { fixedWidthColumn, integerWords, uint64Column } from "../../indexColumns.js";
import type {
  IndexFiles,
  IndexTarget,
  MergeableIndex,
  OldSegment,
  RowStream,
  WrittenFiles,
} from "../../kind.js";
import type { RowMoves } from "../../moves.js";
import type { CodeModel } from "../codes/codes.js";
import type { Rotation } from "../codes/rotation.js";
import { IvfIndex } from "./ivfIndex.js";
import type { PartitionedRows } from "./partitionedRows.js";
import { addRows, idBytes, type VectorEncoding, writeIvf } from "./writeIvf.js";

export const openIvf = (files: IndexFiles, field: TableField): Promise<IvfIndex> =>
  IvfIndex.open(files, field);

/** Returns true if segments have equal partitions, and equal codes for equal vectors. */
export function canMergeIvf(old: readonly MergeableIndex[]): boolean {
  const segments = old as readonly IvfIndex[];
  return segments.every((index) => sharesModel(segments[0], index));
}

/** Writes rows as a segment with the model of an older one. */
export const extendIvf = (
  model: MergeableIndex,
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> =>
  writeIvf((model as IvfIndex).parts, target, (into, encoding, encoded) =>
    addRows(rows, encoded, encoding, into),
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
export async function mergeIvf(
  old: readonly OldSegment<MergeableIndex>[],
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> {
  const segments = old as readonly OldSegment<IvfIndex>[];
  return writeIvf(segments[0].index.parts, target, async (into, encoding, encoded) => {
    let copied = 0;
    const progress = (done: number) => encoded.progress?.(copied + done);
    for (const { index, moves } of segments) {
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
