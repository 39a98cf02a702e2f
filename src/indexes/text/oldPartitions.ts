/** Partitions of older segments in a merge: copied, rewritten, or gathered into a new partition. */

import { CorruptFileError } from "../../errors.js";
import { copyFile } from "../../io/copyFile.js";
import { join } from "../../platform/native.js";
import type { IndexTarget, OldSegment, WrittenIndexFile } from "../kind.js";
import type { RowMoves } from "../moves.js";
import { mergedParts } from "../sizeTiers.js";
import {
  addDocuments,
  type DocumentTokens,
  MAX_GATHERED_TOKENS,
  tokensOfDocuments,
} from "./gatheredDocuments.js";
import { remainingDocuments, writeMovedPartition } from "./movedPartition.js";
import type { PartitionBuilder } from "./partitionBuilder.js";
import type { TextIndex } from "./textIndex.js";
import { partitionFiles, type TextPartition } from "./textPartition.js";

/** A partition of an older segment. */
export interface OldPartition {
  readonly partition: TextPartition;
  readonly index: TextIndex;
  readonly moves: RowMoves | null;
}

/** Returns the partitions of segments. */
export const oldPartitions = (segments: readonly OldSegment<TextIndex>[]): OldPartition[] =>
  segments.flatMap(({ index, moves }) => index.partitions.map((partition) => ({ partition, index, moves })));

/** Returns the partitions whose documents are to share a partition with new rows, and their tokens. */
export async function smallPartitions(
  parts: readonly OldPartition[],
  { rowCount, signal }: IndexTarget,
): Promise<Map<OldPartition, DocumentTokens>> {
  const rowsOf = ({ partition }: OldPartition): number => partition.documentCount;
  const oldRows = parts.reduce((sum, part) => sum + rowsOf(part), 0);
  const small = new Map<OldPartition, DocumentTokens>();
  let tokenCount = 0;
  for (const part of mergedParts(parts, rowsOf, Math.max(0, rowCount - oldRows))) {
    tokenCount += await part.partition.totalTokens(signal);
    if (tokenCount > MAX_GATHERED_TOKENS) break;
    const tokens = await tokensOfDocuments(part.partition, signal);
    if (tokens !== null) small.set(part, tokens);
  }
  return small;
}

/** Adds the remaining documents of a partition to a builder. */
export async function addOldPartition(
  builder: PartitionBuilder,
  { partition, index, moves }: OldPartition,
  tokens: DocumentTokens,
  { signal }: IndexTarget,
): Promise<void> {
  const remaining = await remainingDocuments(partition, index, moves, signal);
  await addDocuments(builder, partition, tokens, remaining, signal);
}

/** Copies a partition if its rows stay as they are, else rewrites it. @returns null if no row remains */
export async function writeOldPartition(
  { partition, index, moves }: OldPartition,
  target: IndexTarget,
  id: string,
): Promise<WrittenIndexFile[] | null> {
  const { disk, directory, signal } = target;
  const remaining = await remainingDocuments(partition, index, moves, signal);
  if (remaining.kept !== null || !remaining.areSameIds || !hasWrittenForm(index)) {
    return writeMovedPartition(partition, remaining, index.parameters, target, id);
  }
  const files: WrittenIndexFile[] = [];
  for (const [part, name] of Object.entries(partitionFiles(id))) {
    const path = partition.paths[part as keyof TextPartition["paths"]];
    const byteLength = await copyFile(disk, path, join(directory, name), signal);
    if (byteLength === null) throw new CorruptFileError(path, 0, "the file is missing");
    files.push({ name, byteLength });
  }
  return files;
}

/** True if the files of an index have the layout that this release writes. */
function hasWrittenForm({ form, parameters }: TextIndex): boolean {
  return (
    form?.tokens === "arrow" &&
    form.tail === "varint_delta_v1" &&
    form.blockSize === parameters.blockSize &&
    form.positions === (parameters.withPosition ? "packed" : null)
  );
}
