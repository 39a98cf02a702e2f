/**
 * One open segment of an index on vectors, searched partition by partition: each partition once for all vectors of a search
 * that probe it. Partitions that were read are cached.
 */

import type { Column } from "../../../arrow/columns/column.js";
import { yieldToEventLoop } from "../../../async/eventLoop.js";
import { alignedBytes } from "../../../bytes/aligned.js";
import { ScratchMemory } from "../../../io/memory/scratch.js";
import type { TableField } from "../../../schema/schema.js";
import { integerWords } from "../../indexFile.js";
import type { IndexFiles, IndexPart, IndexTarget, KernelPart, VectorKindName } from "../../kind.js";
import type { CodeDistances, MeasureRows } from "../codes/codes.js";
import { bytesToBits } from "../codes/indexedVectors.js";
import { fillDistances, queryVector } from "../distance/distance.js";
import type { Metric, VectorItem } from "../distance/metric.js";
import { firstAscending, type NearestRows } from "../distance/nearestRows.js";
import { searchGraph } from "../graph/graphSearch.js";
import { PackedGraph } from "../graph/packedGraph.js";
import { askSketches, PartitionSketch, type SketchAsked } from "../sketches/partitionSketch.js";
import { type IvfFiles, openIvfFiles, ROW_ID_COLUMN } from "./ivfFiles.js";
import { offerAll, offerNearest } from "./offeredRows.js";
import { PartitionRadii } from "./partitionRadii.js";
import { probedPartitions } from "./probes.js";
import type { IvfModelParts, VectorParameters } from "./writeIvf.js";

/** Rows that a walk through a graph keeps in sight, for each that is wanted, where nobody says how many. */
const BEAM_FACTOR = 1.5;
/** Searches of a partition after which its graph is packed for kernels. */
const ASKED_BEFORE_PACKED = 4;
/** The same after which its vectors are sketched, which takes a few times as long as to compare them. */
const ASKED_BEFORE_SKETCHED = 2;
/** Vectors of a search that are answered together: look-up tables of all of them are in memory. */
const QUERIES_AT_ONCE = 64;
/** Bytes of centroids that are compared before other work on the thread has its turn; several vectors count as often. */
const CENTROID_BYTES = 2 ** 22;
/** What is cached of a partition of which nothing can be made for kernels, so that nobody tries again soon. */
const NOT_PACKED: KernelPart = { kind: "packed", memoryWeight: 128 };
/** Rows that are read at once where all are. */
const PIECE_ROWS = 8192;
/** Largest float of 32 bits, as which distances are told. */
const MOST_DISTANCE = 2 ** 128 - 2 ** 104;

/** For distances of the rows of a partition. */
const scratch = new ScratchMemory(2 ** 20);

export interface IvfSearch {
  /** The vectors to search for. */
  readonly queries: readonly Float64Array[];
  /** Partitions that are looked into. */
  readonly leastProbes: number;
  /** Partitions that are looked into where fewer rows than wanted were found. */
  readonly mostProbes: number;
  /** Rows that are wanted of each vector. */
  readonly wantedRows: number;
  /** Rows that a walk through a graph keeps in sight; undefined for half as many again as are wanted. */
  readonly beam?: number;
  readonly lowerBound: number;
  /** Distances are below it; NaN for no bound: an infinite distance is below none. */
  readonly upperBound: number;
  /** The address of the row of an id, as a pair of words put into `address`; false where it is not to be found. */
  place(low: number, high: number, address: Uint32Array): boolean;
  readonly signal?: AbortSignal;
}

/** One of the vectors that are answered together. */
interface SearchedVector {
  /** Distances of the centroids from it, by partition. */
  readonly distances: Float32Array;
  /** The partitions that it may probe, the nearest first. */
  readonly order: Uint32Array;
  readonly measure: CodeDistances;
  /** How it is compared with sketches; null where it is not. */
  readonly sketched: SketchAsked | null;
  readonly nearest: NearestRows;
  /** Rows that were offered to it. */
  offered: number;
}

export class IvfIndex {
  readonly #files: IndexFiles;
  readonly #ivf: IvfFiles;
  readonly #centroidItem: VectorItem;
  readonly #centroidBytes: Uint8Array;
  /** Null where they tell nothing. */
  readonly #radii: PartitionRadii | null;
  /** By partition: how often it was searched since its graph was packed, or its vectors sketched, last. */
  readonly #asked = new Map<number, number>();
  /** Partitions of which that is being made: who searches them meanwhile does without. */
  readonly #packing = new Set<number>();

  private constructor(files: IndexFiles, ivf: IvfFiles) {
    this.#files = files;
    this.#ivf = ivf;
    const { centroids } = ivf;
    this.#centroidItem =
      centroids.BYTES_PER_ELEMENT === 4 ? "float32" : centroids.BYTES_PER_ELEMENT === 8 ? "float64" : "uint8";
    this.#centroidBytes = new Uint8Array(centroids.buffer, centroids.byteOffset, centroids.byteLength);
    this.#radii = PartitionRadii.of(ivf);
  }

  /** @throws CorruptFileError; UnsupportedError for kinds that are not searched */
  static async open(files: IndexFiles, field: TableField): Promise<IvfIndex> {
    return new IvfIndex(files, await openIvfFiles(files, field));
  }

  get kind(): IvfFiles["kind"] {
    return this.#ivf.kind;
  }

  get metric(): Metric {
    return this.#ivf.metric;
  }

  get partitionCount(): number {
    return this.#ivf.starts.length - 1;
  }

  /** Of the file with the rows. */
  get path(): string {
    return this.#ivf.rows.path;
  }

  /** Settings by which a segment like this one is built. */
  get parameters(): VectorParameters & { readonly indexType: VectorKindName } & IndexTarget["parameters"] {
    const { kind, metric, codes, graphs } = this.#ivf;
    const { model } = codes;
    return {
      indexType: kind,
      distanceType: metric,
      numPartitions: this.partitionCount,
      ...(model.kind === "PQ" && { numSubVectors: model.parts, numBits: model.bits }),
      ...graphs?.parameters,
    };
  }

  /** What its rows were put into partitions and encoded by. */
  get parts(): IvfModelParts {
    const { kind, metric, item, dimension, centroids, codes } = this.#ivf;
    const areBits = this.#centroidItem === "uint8";
    return {
      kind,
      indexed: { item, dimension, metric },
      centroids: areBits ? bytesToBits(this.#centroidBytes) : Float32Array.from(centroids),
      model: codes.model,
    };
  }

  get memoryWeight(): number {
    const { starts, codes, graphs } = this.#ivf;
    const graphBytes = graphs?.memoryWeight ?? 0;
    const radiusBytes = this.#radii?.memoryWeight ?? 0;
    return (
      1024 + this.#centroidBytes.length + starts.byteLength + codes.memoryWeight + graphBytes + radiusBytes
    );
  }

  /** Offers the rows of the partitions nearest to each vector to what keeps the rows nearest to it. */
  async search(asked: IvfSearch, nearest: readonly NearestRows[]): Promise<void> {
    const search = this.#ivf.graphs === null ? finiteOnly(asked) : asked;
    for (let first = 0; first < search.queries.length; first += QUERIES_AT_ONCE) {
      const vectors = await this.#searchedVectors(search, first, nearest);
      for (const [partition, own] of probedPartitions(vectors, search)) {
        search.signal?.throwIfAborted();
        await this.#searchPartition(partition, own, search);
        await yieldToEventLoop();
      }
    }
  }

  /** @param first of the vectors that have their turn */
  async #searchedVectors(
    search: IvfSearch,
    first: number,
    nearest: readonly NearestRows[],
  ): Promise<SearchedVector[]> {
    const some = search.queries.slice(first, first + QUERIES_AT_ONCE);
    const queries = this.metric === "cosine" ? some.map(unitVector) : some;
    const mostProbes = Math.max(search.leastProbes, search.mostProbes);
    const vectors: SearchedVector[] = [];
    for (const [index, distances] of (await this.#centroidDistances(queries)).entries()) {
      const query = queries[index];
      vectors.push({
        distances,
        order: firstAscending(distances, mostProbes),
        measure: this.#ivf.codes.from(query),
        sketched: this.#askSketches(query, search),
        nearest: nearest[first + index],
        offered: 0,
      });
      await yieldToEventLoop();
    }
    return vectors;
  }

  async #centroidDistances(queries: readonly Float64Array[]): Promise<Float32Array[]> {
    const { dimension, metric } = this.#ivf;
    const count = this.partitionCount;
    const own = queries.map((query) => queryVector(this.#centroidItem, query));
    const by = metric === "cosine" ? "l2" : metric;
    const distances = queries.map(() => new Float32Array(count));
    const rowBytes = this.#centroidBytes.length / Math.max(1, count);
    const most = Math.max(1, Math.floor(CENTROID_BYTES / rowBytes / queries.length));
    for (let start = 0; start < count; start += most) {
      const end = Math.min(count, start + most);
      const bytes = this.#centroidBytes.subarray(start * rowBytes, end * rowBytes);
      const into = distances.map((each) => each.subarray(start, end));
      fillDistances(this.#centroidItem, by, own, dimension, bytes, end - start, into);
      await yieldToEventLoop();
    }
    // Of numbers that are no distances, signs differ: they would be in no order.
    for (const each of distances) {
      for (let index = 0; index < count; index++)
        if (Number.isNaN(each[index])) each[index] = Number.POSITIVE_INFINITY;
    }
    return distances;
  }

  /** How vectors are compared with sketches; null where they are not. */
  #askSketches(query: Float64Array, search: IvfSearch): SketchAsked | null {
    const { codes, graphs, metric, item } = this.#ivf;
    if (codes.model.kind !== "FLAT" || graphs !== null || isBounded(search)) return null;
    return askSketches(metric, item, queryVector(item, query));
  }

  async #searchPartition(
    partition: number,
    vectors: readonly SearchedVector[],
    search: IvfSearch,
  ): Promise<void> {
    const { starts, dimension, centroids, rows, graphs } = this.#ivf;
    const { signal } = search;
    const rowCount = starts[partition + 1] - starts[partition];
    const near = vectors.filter((vector) => !this.#isBeyond(partition, vector, search));
    if (rowCount === 0 || near.length === 0) return;
    const words = integerWords(await this.#part(ROW_ID_COLUMN, partition, signal), rows.path);
    const left: SearchedVector[] = [];
    for (const vector of near) {
      if (!(await this.#walkPacked(partition, vector, words, search))) left.push(vector);
    }
    if (left.length === 0) return;
    const bytes = await this.#codes(partition, signal);
    const centroid = centroids.subarray(partition * dimension, (partition + 1) * dimension);
    await this.#radii?.note(partition, left.length, centroid, bytes, rowCount);
    const bySketch = left.filter(({ sketched }) => sketched !== null);
    if (bySketch.length > 0) {
      const sketch = await this.#sketch(partition, bytes, bySketch.length, signal);
      await offerNearest({ words, bytes, centroid, sketch }, bySketch, search);
      if (bySketch.length === left.length) return;
    }
    const room = scratch.lend(4 * rowCount);
    const distances = new Float32Array(room.buffer, 0, rowCount);
    for (const vector of left) {
      const { measure, sketched, nearest } = vector;
      if (sketched !== null) continue;
      const some = () => measure.some(centroid, bytes, rowCount);
      if (graphs === null || !(await this.#walkGraph(graphs, partition, vector, some(), words, search))) {
        measure.all(centroid, bytes, distances);
        vector.offered += offerAll(words, distances, search, nearest);
      }
      await yieldToEventLoop();
    }
    scratch.giveBack(room);
  }

  /** Whether all rows of a partition are too far away. They count as offered. */
  #isBeyond(partition: number, vector: SearchedVector, search: IvfSearch): boolean {
    const { starts } = this.#ivf;
    const { distances, nearest } = vector;
    if (isBounded(search) || !this.#radii?.isBeyond(partition, distances[partition], nearest.farthest))
      return false;
    vector.offered += starts[partition + 1] - starts[partition];
    return true;
  }

  async #codes(partition: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const { rows, codes } = this.#ivf;
    return bytesOf(await this.#part(codes.column, partition, signal), (reason) => rows.fail(reason));
  }

  /**
   * Offers the rows that {@link #walkGraph} leads to where a kernel can walk there, and nearly all that it finds may be offered;
   * else returns false.
   */
  async #walkPacked(
    partition: number,
    vector: SearchedVector,
    words: Uint32Array,
    search: IvfSearch,
  ): Promise<boolean> {
    const { beam, wantedRows, place, signal } = search;
    const { nearest } = vector;
    const { steps } = vector.measure;
    if (this.#ivf.graphs === null || steps === undefined || isBounded(search)) return false;
    const packed = await this.#packed(partition, words.length / 2, signal);
    if (packed === null) return false;
    const address = new Uint32Array(2);
    const wanted = beamOf(beam, wantedRows);
    for (let size = wanted; size <= 2 * wanted; ) {
      const found = await packed.nearest(steps.own, size, signal);
      if (found === null) return false;
      const there: number[] = [];
      for (let index = 0; index < found.length; index++) {
        if (place(words[2 * found.rows[index]], words[2 * found.rows[index] + 1], address)) there.push(index);
      }
      if (there.length < wanted) {
        // Rows that are deleted or filtered take room from others: as many more are kept in sight, and some.
        size += Math.max(wanted >>> 2, 2 * (wanted - there.length));
        continue;
      }
      for (const slot of there.slice(0, wanted)) {
        const row = found.rows[slot];
        place(words[2 * row], words[2 * row + 1], address);
        nearest.add(found.distances[slot] * steps.width * steps.width, address[0], address[1]);
      }
      vector.offered += wanted;
      return true;
    }
    return false;
  }

  /** The graph of a partition as kernels need it; null where there is none. */
  async #packed(
    partition: number,
    rowCount: number,
    signal: AbortSignal | undefined,
  ): Promise<PackedGraph | null> {
    const { graphs, rows, codes, dimension } = this.#ivf;
    if (graphs === null) return null;
    // To pack a graph takes as long as dozens of searches: it is for one who asks again and again.
    const made = await this.#kernelPart("packed", partition, ASKED_BEFORE_PACKED, async () => {
      const packed = await PackedGraph.pack(
        await graphs.graph(partition, rowCount, signal),
        await this.#codes(partition, signal),
        dimension,
        (row) => rows.fail(`a graph leads to row ${row} of ${rowCount}`),
        signal,
      );
      if (packed === null) return null;
      graphs.forget(partition);
      this.#files.parts.delete(this.#partKey(codes.column, partition));
      return packed;
    });
    return made instanceof PackedGraph ? made : null;
  }

  /** The sketch of the vectors of a partition for so many that ask; null where there is none. */
  async #sketch(
    partition: number,
    vectors: Uint8Array,
    asking: number,
    signal: AbortSignal | undefined,
  ): Promise<PartitionSketch | null> {
    const { item, dimension } = this.#ivf;
    const make = () => PartitionSketch.make(item, dimension, vectors, signal);
    const sketch = await this.#kernelPart("sketch", partition, ASKED_BEFORE_SKETCHED, make, asking);
    return sketch instanceof PartitionSketch ? sketch : null;
  }

  /** Something for kernels that is made of a partition once it was asked for so often; null before, and meanwhile. */
  async #kernelPart(
    name: string,
    partition: number,
    leastAsked: number,
    make: () => Promise<KernelPart | null>,
    asking = 1,
  ): Promise<IndexPart | null> {
    const { parts } = this.#files;
    const key = `${this.#ivf.rows.cacheKey}${name}|${partition}`;
    const kept = parts.peek(key);
    if (kept !== undefined) return kept;
    const asked = (this.#asked.get(partition) ?? 0) + asking;
    this.#asked.set(partition, asked);
    if (asked < leastAsked || this.#packing.has(partition)) return null;
    this.#packing.add(partition);
    try {
      const made = await parts.get(key, async () => {
        const value = (await make()) ?? NOT_PACKED;
        return { value, weight: value.memoryWeight };
      });
      this.#asked.delete(partition);
      return made;
    } finally {
      this.#packing.delete(partition);
    }
  }

  /** Offers rows that the graph of the partition leads to; false where it does not lead to enough. */
  async #walkGraph(
    graphs: NonNullable<IvfFiles["graphs"]>,
    partition: number,
    vector: SearchedVector,
    measure: MeasureRows,
    words: Uint32Array,
    { beam, wantedRows, lowerBound, upperBound, place, signal }: IvfSearch,
  ): Promise<boolean> {
    const { rows } = this.#ivf;
    const { nearest } = vector;
    const address = new Uint32Array(2);
    const isThere = (row: number) => place(words[2 * row], words[2 * row + 1], address);
    const found = await searchGraph({
      graph: await graphs.graph(partition, words.length / 2, signal),
      measure,
      beam: beamOf(beam, wantedRows),
      accepts: (row, distance) => distance >= lowerBound && !(distance >= upperBound) && isThere(row),
      fail: (row) => rows.fail(`a graph leads to row ${row} of ${words.length / 2}`),
      ...(signal && { signal }),
    });
    if (found === null) return false;
    for (let index = 0; index < found.length; index++) {
      if (isThere(found.rows[index])) nearest.add(found.distances[index], address[0], address[1]);
    }
    vector.offered += found.length;
    return true;
  }

  /** All rows with their codes, which follow each other row by row, in pieces of one partition each. */
  async *codedRows(
    signal: AbortSignal | undefined,
  ): AsyncGenerator<{ partition: number; ids: Column; codes: Uint8Array }, void, undefined> {
    const { starts, rows, codes } = this.#ivf;
    const isTransposed = codes.model.kind === "PQ" && codes.model.isTransposed;
    for (let partition = 0; partition < this.partitionCount; partition++) {
      const partitionEnd = starts[partition + 1];
      // What is transposed can be told apart as a whole only.
      const most = isTransposed ? Number.POSITIVE_INFINITY : PIECE_ROWS;
      for (let start = starts[partition]; start < partitionEnd; start += most) {
        const end = Math.min(start + most, partitionEnd);
        const [ids] = await rows.spans(ROW_ID_COLUMN, [{ start, end }], signal);
        const [column] = await rows.spans(codes.column, [{ start, end }], signal);
        const bytes = bytesOf(column, (reason) => rows.fail(reason));
        yield { partition, ids, codes: isTransposed ? rowByRow(bytes, end - start) : bytes };
        await yieldToEventLoop();
      }
    }
  }

  #part(column: string, partition: number, signal: AbortSignal | undefined): Promise<Column> {
    const { rows, starts } = this.#ivf;
    const span = { start: starts[partition], end: starts[partition + 1] };
    return rows.cachedSpan(this.#partKey(column, partition), column, span, signal);
  }

  #partKey(column: string, partition: number): string {
    return `${this.#ivf.rows.cacheKey}${column}|${partition}`;
  }
}

/** A search for rows at distances that are numbers: without a graph, an index leads to no others. */
const finiteOnly = (search: IvfSearch): IvfSearch => ({
  ...search,
  lowerBound: Math.max(search.lowerBound, -MOST_DISTANCE),
  upperBound: search.upperBound < MOST_DISTANCE ? search.upperBound : MOST_DISTANCE,
});

/** Rows that a walk through a graph keeps in sight. */
const beamOf = (beam: number | undefined, wantedRows: number): number =>
  Math.max(wantedRows, beam ?? Math.ceil(BEAM_FACTOR * wantedRows));

/** Turns codes of which the first byte of all rows comes first, then the second, into one row after the other. */
function rowByRow(codes: Uint8Array, rowCount: number): Uint8Array {
  const codeBytes = codes.length / rowCount;
  const turned = new Uint8Array(codes.length);
  for (let byte = 0, from = 0; byte < codeBytes; byte++) {
    for (let row = 0; row < rowCount; row++, from++) turned[row * codeBytes + byte] = codes[from];
  }
  return turned;
}

const isBounded = ({ lowerBound, upperBound }: IvfSearch): boolean =>
  lowerBound > -MOST_DISTANCE || upperBound < MOST_DISTANCE;

/** The bytes of codes, which have no nulls. */
function bytesOf(column: Column, fail: (reason: string) => never): Uint8Array {
  if (column.kind !== "fixedSizeList" || column.items.kind !== "fixed")
    return fail("codes that are no lists");
  if (column.validity !== null || column.items.validity !== null) return fail("nulls among codes");
  return alignedBytes(column.items.values, column.items.byteWidth);
}

/** The vector with the length 1. */
function unitVector(vector: Float64Array): Float64Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return length === 0 ? vector : vector.map((value) => value / length);
}
