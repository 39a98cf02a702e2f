/**
 * Rows put in the order of their partitions in bounded memory: they are collected up to a bound; what is more goes to a
 * temporary file, in chunks that are in order by themselves. A chunk is its codes, then its ids, 8 bytes each. Rows of a
 * partition keep their order.
 */

import type { FixedColumn } from "../../../arrow/columns/column.js";
import { breathe } from "../../../async/eventLoop.js";
import type { TemporaryFile } from "../../../io/temporaryFile.js";
import { uint32Column } from "../../indexFile.js";
import type { IndexRows } from "../../kind.js";

/** Bytes of rows that are kept in memory. */
const KEPT_BYTES = 128 * 1024 * 1024;
/** Bytes of a piece of rows that is written to the file, or handed on. */
const PIECE_BYTES = 4 * 1024 * 1024;
const ID_BYTES = 8;

/** Rows with the partition of each. */
export interface PartitionedBatch {
  readonly partitions: Uint32Array;
  /** {@link ID_BYTES} for each row. */
  readonly ids: Uint8Array;
  readonly codes: Uint8Array;
}

/** Rows in order. */
interface Chunk {
  /** The first row of each partition, and the end of the last. */
  readonly starts: Uint32Array;
  /** Copies rows to a place, in rows, among others. */
  copy(from: number, to: number, ids: Uint8Array, codes: Uint8Array, place: number): Promise<void> | void;
}

export class PartitionedRows {
  readonly #codeBytes: number;
  readonly #makeFile: () => Promise<TemporaryFile>;
  readonly #keptBytes: number;
  readonly #chunks: Chunk[] = [];
  #batches: PartitionedBatch[] = [];
  #batchRows = 0;
  #file: TemporaryFile | null = null;
  /** Rows of each partition. */
  readonly lengths: Uint32Array;

  constructor(
    partitionCount: number,
    codeBytes: number,
    makeFile: () => Promise<TemporaryFile>,
    keptBytes = KEPT_BYTES,
  ) {
    this.lengths = new Uint32Array(partitionCount);
    this.#codeBytes = codeBytes;
    this.#makeFile = makeFile;
    this.#keptBytes = keptBytes;
  }

  get #rowBytes(): number {
    return ID_BYTES + this.#codeBytes;
  }

  get #pieceRows(): number {
    return Math.max(1, Math.floor(PIECE_BYTES / this.#rowBytes));
  }

  /** The memory of a batch is kept. */
  async add(batch: PartitionedBatch): Promise<void> {
    for (const partition of batch.partitions) this.lengths[partition]++;
    this.#batches.push(batch);
    this.#batchRows += batch.partitions.length;
    if (this.#batchRows * this.#rowBytes >= this.#keptBytes) await this.#spill();
  }

  async #spill(): Promise<void> {
    const chunk = this.#takeBatches();
    this.#file ??= await this.#makeFile();
    this.#chunks.push(await writtenChunk(chunk, this.#file, this.#codeBytes, this.#pieceRows));
  }

  #takeBatches(): Chunk {
    const chunk = keptChunk(this.#batches, this.#batchRows, this.lengths.length, this.#codeBytes);
    this.#batches = [];
    this.#batchRows = 0;
    return chunk;
  }

  /** All rows. Nothing may be added any more. */
  async *inOrder(): AsyncGenerator<IndexRows, void, undefined> {
    if (this.#batchRows > 0) this.#chunks.push(this.#takeBatches());
    const most = this.#pieceRows;
    for (let first = 0; first < this.lengths.length; ) {
      let rowCount = this.lengths[first];
      let end = first + 1;
      // As many partitions as make a piece; of a larger one, piece by piece.
      while (end < this.lengths.length && rowCount + this.lengths[end] <= most)
        rowCount += this.lengths[end++];
      if (rowCount <= most) {
        if (rowCount > 0) yield await this.#rowsOf(first, end, rowCount);
      } else {
        yield* this.#piecesOf(first, most);
      }
      first = end;
      await breathe();
    }
  }

  async #rowsOf(first: number, end: number, rowCount: number): Promise<IndexRows> {
    const { ids, codes, rows } = this.#room(rowCount);
    const partitions = new Uint32Array(rowCount);
    // Where the rows of each partition go that come next.
    const places = new Uint32Array(end - first);
    for (let own = first, place = 0; own < end; own++) {
      places[own - first] = place;
      partitions.fill(own, place, place + this.lengths[own]);
      place += this.lengths[own];
    }
    for (const { starts, copy } of this.#chunks) {
      const [from, to] = [starts[first], starts[end]];
      if (from === to) continue;
      // One read of the chunk; then partition by partition.
      const read = this.#room(to - from);
      await copy(from, to, read.ids, read.codes, 0);
      for (let own = first; own < end; own++) {
        const [start, stop] = [starts[own] - from, starts[own + 1] - from];
        const place = places[own - first];
        ids.set(read.ids.subarray(start * ID_BYTES, stop * ID_BYTES), place * ID_BYTES);
        const width = this.#codeBytes;
        codes.set(read.codes.subarray(start * width, stop * width), place * width);
        places[own - first] += stop - start;
      }
    }
    return rows(partitions);
  }

  async *#piecesOf(partition: number, most: number): AsyncGenerator<IndexRows, void, undefined> {
    for (const { starts, copy } of this.#chunks) {
      for (let from = starts[partition]; from < starts[partition + 1]; from += most) {
        const to = Math.min(starts[partition + 1], from + most);
        const { ids, codes, rows } = this.#room(to - from);
        await copy(from, to, ids, codes, 0);
        yield rows(new Uint32Array(to - from).fill(partition));
        await breathe();
      }
    }
  }

  #room(rowCount: number) {
    const ids = new Uint8Array(rowCount * ID_BYTES);
    const codes = new Uint8Array(rowCount * this.#codeBytes);
    const rows = (partitions: Uint32Array): IndexRows => ({
      values: uint32Column(partitions),
      ids: fixedColumn(ids, ID_BYTES, rowCount),
      codes: fixedColumn(codes, this.#codeBytes, rowCount),
      rowCount,
    });
    return { ids, codes, rows };
  }

  async discard(): Promise<void> {
    await this.#file?.discard();
  }
}

const fixedColumn = (values: Uint8Array, byteWidth: number, length: number): FixedColumn => ({
  kind: "fixed",
  length,
  validity: null,
  byteWidth,
  values,
});

/** Rows in memory, which are put in order when they are copied. */
function keptChunk(
  batches: readonly PartitionedBatch[],
  rowCount: number,
  partitionCount: number,
  codeBytes: number,
): Chunk {
  const starts = new Uint32Array(partitionCount + 1);
  for (const { partitions } of batches) for (const own of partitions) starts[own + 1]++;
  for (let own = 0; own < partitionCount; own++) starts[own + 1] += starts[own];
  const batchOf = new Uint32Array(rowCount);
  const rowOf = new Uint32Array(rowCount);
  const next = starts.slice();
  for (const [batch, { partitions }] of batches.entries()) {
    for (let row = 0; row < partitions.length; row++) {
      const place = next[partitions[row]]++;
      batchOf[place] = batch;
      rowOf[place] = row;
    }
  }
  return {
    starts,
    copy(from, to, ids, codes, place) {
      for (let at = from, target = place; at < to; at++, target++) {
        const batch = batches[batchOf[at]];
        copyBytes(batch.ids, rowOf[at] * ID_BYTES, ids, target * ID_BYTES, ID_BYTES);
        copyBytes(batch.codes, rowOf[at] * codeBytes, codes, target * codeBytes, codeBytes);
      }
    },
  };
}

/** Bytes that are copied one by one; of more, a view costs less. */
const FEW_BYTES = 32;

function copyBytes(from: Uint8Array, start: number, to: Uint8Array, place: number, length: number): void {
  if (length > FEW_BYTES) {
    to.set(from.subarray(start, start + length), place);
    return;
  }
  for (let at = 0; at < length; at++) to[place + at] = from[start + at];
}

/** Writes a chunk behind others. */
async function writtenChunk(
  { starts, copy }: Chunk,
  file: TemporaryFile,
  codeBytes: number,
  pieceRows: number,
): Promise<Chunk> {
  const rowCount = starts[starts.length - 1];
  const allIds = new Uint8Array(rowCount * ID_BYTES);
  const codesFrom = file.byteLength;
  for (let from = 0; from < rowCount; from += pieceRows) {
    const to = Math.min(rowCount, from + pieceRows);
    const ids = allIds.subarray(from * ID_BYTES, to * ID_BYTES);
    const codes = new Uint8Array((to - from) * codeBytes);
    await copy(from, to, ids, codes, 0);
    await file.append([codes]);
    await breathe();
  }
  const idsFrom = file.byteLength;
  await file.append([allIds]);
  return {
    starts,
    async copy(from, to, ids, codes, place) {
      const length = to - from;
      ids.set(await file.read(idsFrom + from * ID_BYTES, length * ID_BYTES), place * ID_BYTES);
      codes.set(await file.read(codesFrom + from * codeBytes, length * codeBytes), place * codeBytes);
    },
  };
}
