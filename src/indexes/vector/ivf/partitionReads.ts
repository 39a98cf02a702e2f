/**
 * Reads the partitions that a search will probe all at once. Neighbouring ones share a read, and on a remote
 * disk all of them share a few requests.
 */

import type { Column } from "../../../arrow/columns/column.js";
import { columnBytes } from "../../../arrow/columns/columnBytes.js";
import type { LruCache } from "../../../io/memory/cache.js";
import type { IndexPart } from "../../kind.js";
import { type IvfFiles, ROW_ID_COLUMN } from "./ivfFiles.js";

/** Maximum bytes of a column that are read ahead: they are in memory together. */
const MAX_READ_BYTES = 16 * 1024 * 1024;

/** The cache of partitions, and their keys. */
interface PartitionCache {
  readonly parts: LruCache<IndexPart>;
  keyOf(column: string, partition: number): string;
}

/** Reads partitions into the cache, unless they are there. @param partitions in probing order */
export async function readPartitions(
  ivf: IvfFiles,
  cache: PartitionCache,
  partitions: readonly number[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { codes, graphs } = ivf;
  // Packed graphs replace the codes. Joined codes are cached together.
  const hasOne = graphs === null && codes.join === undefined;
  const names = hasOne ? [ROW_ID_COLUMN, codes.columns[0].name] : [ROW_ID_COLUMN];
  await Promise.all(names.map((name) => readColumn(ivf, name, cache, partitions, signal)));
}

async function readColumn(
  { rows, starts }: IvfFiles,
  name: string,
  { parts, keyOf }: PartitionCache,
  partitions: readonly number[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const rowBytes = rows.byteLength([name]) / Math.max(1, rows.rowCount);
  const missing = new Set<number>();
  let byteLength = 0;
  for (const partition of partitions) {
    const rowCount = starts[partition + 1] - starts[partition];
    if (rowCount === 0 || missing.has(partition) || parts.peek(keyOf(name, partition)) !== undefined)
      continue;
    byteLength += rowCount * rowBytes;
    if (byteLength > MAX_READ_BYTES) break;
    missing.add(partition);
  }
  // A single one is read when its turn comes.
  if (missing.size < 2) return;
  const ascending = [...missing].sort((a, b) => a - b);
  const spans = ascending.map((partition) => ({ start: starts[partition], end: starts[partition + 1] }));
  let reading: Promise<readonly Column[]> | undefined;
  const load = async (index: number): Promise<{ value: Column; weight: number }> => {
    // Other searches share what is read here, so it goes on when this one is aborted.
    reading ??= rows.spans(name, spans);
    const value = (await reading)[index];
    return { value, weight: columnBytes(value) + 128 };
  };
  await Promise.all(
    ascending.map((partition, index) => parts.get(keyOf(name, partition), () => load(index))),
  );
  signal?.throwIfAborted();
}
