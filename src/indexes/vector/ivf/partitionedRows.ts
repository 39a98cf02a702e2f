/**
 * Sorts rows by partition in bounded memory. Each batch is sorted on arrival, while it is in the CPU cache.
 * Full memory spills to a temporary file as a sorted chunk: its codes, then its ids of 8 bytes. Rows of a
 * partition keep their order.
 */

import { yieldToEventLoop } from "../../../async/eventLoop.js";
import { upperBound } from "../../../bytes/search.js";
import { ScratchMemory } from "../../../io/memory/scratch.js";
import type { TemporaryFile } from "../../../io/temporaryFile.js";
import { fixedWidthColumn, uint32Column } from "../../indexColumns.js";
import type { IndexRows, RowStream } from "../../kind.js";

/** Bytes of rows kept in memory. */
const KEPT_BYTES = 128 * 1024 * 1024;
/** Bytes per write to the file and per returned batch. */
const PIECE_BYTES = 4 * 1024 * 1024;
const ID_BYTES = 8;

/** Rows and the partition of each. */
export interface PartitionedBatch {
  readonly partitions: Uint32Array;
  /** {@link ID_BYTES} per row. */
  readonly ids: Uint8Array;
  readonly codes: Uint8Array;
}

/** A sorted batch: its partitions in order, the first row of each, and the row count. */
interface SortedBatch {
  readonly partitions: Uint32Array;
  readonly starts: Uint32Array;
  readonly memory: Uint8Array<ArrayBuffer>;
  readonly ids: Uint8Array;
  readonly codes: Uint8Array;
}

/** Rows in order. */
interface SortedRows {
  /** Copies rows `[from, to)` to row `position` of the target. */
  copy(from: number, to: number, ids: Uint8Array, codes: Uint8Array, position: number): void;
}

interface Chunk {
  /** First row of each partition, then the row count. */
  readonly starts: Uint32Array;
  /** Loads rows before they are copied. */
  load(from: number, to: number): Promise<SortedRows> | SortedRows;
}

export class PartitionedRows {
  readonly #chunks: Chunk[] = [];
  readonly #memory: ScratchMemory;
  /** Next row of each partition in the current batch. */
  readonly #next: Uint32Array;
  #batches: SortedBatch[] = [];
  #batchRows = 0;
  #file: TemporaryFile | null = null;
  /** Number of rows of each partition. */
  readonly lengths: Uint32Array;

  constructor(
    partitionCount: number,
    private readonly codeBytes: number,
    private readonly makeFile: () => Promise<TemporaryFile>,
    private readonly keptBytes = KEPT_BYTES,
  ) {
    this.lengths = new Uint32Array(partitionCount);
    this.#memory = new ScratchMemory(keptBytes);
    this.#next = new Uint32Array(partitionCount);
  }

  get #rowBytes(): number {
    return ID_BYTES + this.codeBytes;
  }

  get #pieceRows(): number {
    return Math.max(1, Math.floor(PIECE_BYTES / this.#rowBytes));
  }

  async add(batch: PartitionedBatch): Promise<void> {
    this.#batches.push(this.#sorted(batch));
    this.#batchRows += batch.partitions.length;
    if (this.#batchRows * this.#rowBytes >= this.keptBytes) await this.#spill();
  }

  #sorted({ partitions, ids, codes }: PartitionedBatch): SortedBatch {
    const [next, width, rowCount] = [this.#next, this.codeBytes, partitions.length];
    next.fill(0);
    for (const partition of partitions) next[partition]++;
    const present = Uint32Array.from(new Set(partitions)).sort();
    const starts = new Uint32Array(present.length + 1);
    for (const [position, partition] of present.entries()) {
      this.lengths[partition] += next[partition];
      starts[position + 1] = starts[position] + next[partition];
      next[partition] = starts[position];
    }
    const memory = this.#memory.lend(rowCount * this.#rowBytes);
    const sorted = {
      ids: memory.subarray(0, rowCount * ID_BYTES),
      codes: memory.subarray(rowCount * ID_BYTES),
    };
    if (present.length === 1) {
      sorted.ids.set(ids);
      sorted.codes.set(codes);
    } else {
      for (let row = 0; row < rowCount; row++) {
        const slot = next[partitions[row]]++;
        copyBytes(ids, row * ID_BYTES, sorted.ids, slot * ID_BYTES, ID_BYTES);
        copyBytes(codes, row * width, sorted.codes, slot * width, width);
      }
    }
    return { partitions: present, starts, memory, ...sorted };
  }

  async #spill(): Promise<void> {
    const batches = this.#batches;
    const chunk = this.#takeBatches();
    this.#file ??= await this.makeFile();
    this.#chunks.push(await writtenChunk(chunk, this.#file, this.codeBytes, this.#pieceRows));
    for (const { memory } of batches) this.#memory.giveBack(memory);
  }

  #takeBatches(): Chunk & SortedRows {
    const chunk = keptChunk(this.#batches, this.lengths.length, this.codeBytes);
    this.#batches = [];
    this.#batchRows = 0;
    return chunk;
  }

  /** Yields all rows in order; ends the additions. */
  async *inOrder(): RowStream {
    if (this.#batchRows > 0) this.#chunks.push(this.#takeBatches());
    this.#memory.clear();
    const most = this.#pieceRows;
    for (let first = 0; first < this.lengths.length; ) {
      let rowCount = this.lengths[first];
      let end = first + 1;
      // Small partitions share a piece; a large one is cut into pieces.
      while (end < this.lengths.length && rowCount + this.lengths[end] <= most)
        rowCount += this.lengths[end++];
      if (rowCount <= most) {
        if (rowCount > 0) yield await this.#rowsOf(first, end, rowCount);
      } else {
        yield* this.#piecesOf(first, most);
      }
      first = end;
      await yieldToEventLoop();
    }
  }

  async #rowsOf(first: number, end: number, rowCount: number): Promise<IndexRows> {
    const { ids, codes, rows } = this.#room(rowCount);
    const partitions = new Uint32Array(rowCount);
    // Next row of each partition.
    const nextRows = new Uint32Array(end - first);
    for (let partition = first, position = 0; partition < end; partition++) {
      nextRows[partition - first] = position;
      partitions.fill(partition, position, position + this.lengths[partition]);
      position += this.lengths[partition];
    }
    for (const chunk of this.#chunks) {
      const { starts } = chunk;
      if (starts[first] === starts[end]) continue;
      const loaded = await chunk.load(starts[first], starts[end]);
      for (let partition = first; partition < end; partition++) {
        const slot = nextRows[partition - first];
        loaded.copy(starts[partition], starts[partition + 1], ids, codes, slot);
        nextRows[partition - first] += starts[partition + 1] - starts[partition];
      }
    }
    return rows(partitions);
  }

  async *#piecesOf(partition: number, most: number): RowStream {
    for (const chunk of this.#chunks) {
      const end = chunk.starts[partition + 1];
      for (let from = chunk.starts[partition]; from < end; from += most) {
        const to = Math.min(end, from + most);
        const { ids, codes, rows } = this.#room(to - from);
        (await chunk.load(from, to)).copy(from, to, ids, codes, 0);
        yield rows(new Uint32Array(to - from).fill(partition));
        await yieldToEventLoop();
      }
    }
  }

  #room(rowCount: number) {
    const ids = new Uint8Array(rowCount * ID_BYTES);
    const codes = new Uint8Array(rowCount * this.codeBytes);
    const rows = (partitions: Uint32Array): IndexRows => ({
      values: uint32Column(partitions),
      ids: fixedWidthColumn(ids, ID_BYTES),
      codes: fixedWidthColumn(codes, this.codeBytes),
      rowCount,
    });
    return { ids, codes, rows };
  }

  async discard(): Promise<void> {
    await this.#file?.discard();
  }
}

/** Makes a chunk of batches in memory. */
function keptChunk(
  batches: readonly SortedBatch[],
  partitionCount: number,
  codeBytes: number,
): Chunk & SortedRows {
  // A run is a partition's rows in one batch. Runs are sorted by partition, then by batch.
  const next = new Uint32Array(partitionCount + 1);
  const starts = new Uint32Array(partitionCount + 1);
  for (const { partitions, starts: batchStarts } of batches) {
    for (const [index, partition] of partitions.entries()) {
      next[partition + 1]++;
      starts[partition + 1] += batchStarts[index + 1] - batchStarts[index];
    }
  }
  for (let partition = 0; partition < partitionCount; partition++) {
    next[partition + 1] += next[partition];
    starts[partition + 1] += starts[partition];
  }
  const runCount = next[partitionCount];
  const batchOf = new Uint32Array(runCount);
  const rowOf = new Uint32Array(runCount);
  const runStarts = new Uint32Array(runCount + 1);
  for (const [batch, { partitions, starts: batchStarts }] of batches.entries()) {
    for (const [slot, partition] of partitions.entries()) {
      const run = next[partition]++;
      batchOf[run] = batch;
      rowOf[run] = batchStarts[slot];
      runStarts[run + 1] = batchStarts[slot + 1] - batchStarts[slot];
    }
  }
  for (let run = 0; run < runCount; run++) runStarts[run + 1] += runStarts[run];
  const rows: SortedRows = {
    copy(from, to, ids, codes, position) {
      let run = upperBound(runStarts, from) - 1;
      for (let index = from, target = position; index < to; run++) {
        const batch = batches[batchOf[run]];
        const row = rowOf[run] + index - runStarts[run];
        const count = Math.min(to, runStarts[run + 1]) - index;
        copyBytes(batch.ids, row * ID_BYTES, ids, target * ID_BYTES, count * ID_BYTES);
        copyBytes(batch.codes, row * codeBytes, codes, target * codeBytes, count * codeBytes);
        index += count;
        target += count;
      }
    },
  };
  return { starts, load: () => rows, ...rows };
}

/** Maximum bytes for a plain loop; beyond it, a view costs less. */
const FEW_BYTES = 32;

function copyBytes(
  from: Uint8Array,
  start: number,
  to: Uint8Array,
  byteOffset: number,
  length: number,
): void {
  if (length > FEW_BYTES) {
    to.set(from.subarray(start, start + length), byteOffset);
    return;
  }
  for (let offset = 0; offset < length; offset++) to[byteOffset + offset] = from[start + offset];
}

/** Appends a chunk to the file. */
async function writtenChunk(
  { starts, copy }: Chunk & SortedRows,
  file: TemporaryFile,
  codeBytes: number,
  pieceRows: number,
): Promise<Chunk> {
  const rowCount = starts[starts.length - 1];
  const allIds = new Uint8Array(rowCount * ID_BYTES);
  const piece = new Uint8Array(Math.min(pieceRows, rowCount) * codeBytes);
  const codesFrom = file.byteLength;
  for (let from = 0; from < rowCount; from += pieceRows) {
    const to = Math.min(rowCount, from + pieceRows);
    const ids = allIds.subarray(from * ID_BYTES, to * ID_BYTES);
    const codes = piece.subarray(0, (to - from) * codeBytes);
    copy(from, to, ids, codes, 0);
    await file.append([codes]);
    await yieldToEventLoop();
  }
  const idsFrom = file.byteLength;
  await file.append([allIds]);
  return {
    starts,
    async load(first, end) {
      const count = end - first;
      const chunkIds = await file.read(idsFrom + first * ID_BYTES, count * ID_BYTES);
      const chunkCodes = await file.read(codesFrom + first * codeBytes, count * codeBytes);
      return {
        copy(from, to, ids, codes, offset) {
          const [start, stop] = [from - first, to - first];
          ids.set(chunkIds.subarray(start * ID_BYTES, stop * ID_BYTES), offset * ID_BYTES);
          codes.set(chunkCodes.subarray(start * codeBytes, stop * codeBytes), offset * codeBytes);
        },
      };
    },
  };
}
