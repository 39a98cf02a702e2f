/**
 * One open segment of a vector index. A search visits each partition once for all of its vectors that probe
 * it. Partitions are cached.
 */

import type { Column } from "../../../arrow/columns/column.js";
import { runAsync, yieldToEventLoop } from "../../../async/eventLoop.js";
import { alignedBytes } from "../../../bytes/aligned.js";
import { ScratchMemory } from "../../../io/memory/scratch.js";
import type { TableField } from "../../../schema/schema.js";
import { fixedWidthColumn, integerWords } from "../../indexColumns.js";
import type { IndexFiles, IndexParameters, IndexPart, SearchedPart, VectorKindName } from "../../kind.js";
import type { MeasureRows } from "../codes/codes.js";
import { bytesToBits } from "../codes/indexedVectors.js";
import { fillDistances, queryVector } from "../distance/distance.js";
import type { Metric, VectorItem } from "../distance/metric.js";
import { firstAscending, type NearestRows } from "../distance/nearestRows.js";
import { searchGraph } from "../graph/graphSearch.js";
import { PackedGraph } from "../graph/packedGraph.js";
import { PartitionSketch, prepareSketches, type SketchSearch } from "../sketches/partitionSketch.js";
import { type IvfFiles, openIvfFiles, ROW_ID_COLUMN } from "./ivfFiles.js";
import { type ComparingVector, offerAll, offerNearest, type WantedRows } from "./offeredRows.js";
import { PartitionRadii } from "./partitionRadii.js";
import { readPartitions } from "./partitionReads.js";
import { certainProbes, probedPartitions } from "./probes.js";
import type { IvfModelParts, VectorParameters } from "./writeIvf.js";

/** Default beam of a graph search, per wanted row. */
const BEAM_FACTOR = 1.5;
/** Searches of a partition before its graph is packed for the kernel. */
const SEARCHES_BEFORE_PACKING = 4;
/** Searches of a partition before its vectors are sketched, which costs a few comparisons of all of them. */
const SEARCHES_BEFORE_SKETCHING = 2;
/** Maximum number of query vectors per round, whose look-up tables are in memory. */
const QUERIES_AT_ONCE = 64;
/** Centroid bytes compared between yields, times query vectors. */
const CENTROID_BYTES = 2 ** 22;
/** Cached in place of a part that cannot be made, so that no search retries soon. */
const NOT_PACKED: SearchedPart = { kind: "packed", memoryWeight: 128 };
const ONLY_PARTITION = Uint32Array.of(0);
/** Rows per read of a full scan. */
const PIECE_ROWS = 8192;
/** Largest float32, the type of returned distances. */
const MOST_DISTANCE = 2 ** 128 - 2 ** 104;

/** Distances of a partition's rows. */
const scratch = new ScratchMemory(2 ** 20);

export interface IvfSearch extends WantedRows {
  /** Query vectors. */
  readonly queries: readonly Float64Array[];
  /** Minimum number of partitions to probe. */
  readonly leastProbes: number;
  /** Maximum number of partitions to probe while rows are missing. */
  readonly mostProbes: number;
  /** Rows that a graph search keeps; default: half more than wanted. */
  readonly beam?: number;
  readonly signal?: AbortSignal;
}

/** State of one query vector. */
interface SearchedVector extends ComparingVector {
  /** Distance of each partition's centroid. */
  readonly distances: Float32Array;
  /** Partitions to probe, nearest first. */
  readonly order: Uint32Array;
}

export class IvfIndex {
  readonly #files: IndexFiles;
  readonly #ivf: IvfFiles;
  readonly #centroidItem: VectorItem;
  readonly #centroidBytes: Uint8Array;
  /** Null if radii cannot exclude partitions. */
  readonly #radii: PartitionRadii | null;
  /** Searches by partition since its last packing or sketching. */
  readonly #searchCounts = new Map<number, number>();
  /** Partitions being packed or sketched; concurrent searches go without. */
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

  /** @throws CorruptFileError; UnsupportedError for kinds that this release cannot search */
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

  /** Path of the file with the rows. */
  get path(): string {
    return this.#ivf.rows.path;
  }

  /** Settings that build a segment like this one. */
  get parameters(): VectorParameters & { readonly indexType: VectorKindName } & IndexParameters {
    const { kind, metric, codes, graphs } = this.#ivf;
    const { model } = codes;
    return {
      indexType: kind,
      distanceType: metric,
      numPartitions: this.partitionCount,
      ...(model.kind === "PQ" && { numSubVectors: model.parts, numBits: model.bits }),
      ...(model.kind === "RQ" && { numBits: model.bits }),
      ...graphs?.parameters,
    };
  }

  /** Centroids and code model of the segment. */
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

  /** Offers the rows of the nearest partitions to the collector of each query vector. */
  async search(request: IvfSearch, nearest: readonly NearestRows[]): Promise<void> {
    const search = this.#ivf.graphs === null ? finiteOnly(request) : request;
    for (let first = 0; first < search.queries.length; first += QUERIES_AT_ONCE) {
      const vectors = await this.#searchedVectors(search, first, nearest);
      if (this.partitionCount > 1) await this.#readAhead(vectors, search);
      for (const [partition, probing] of probedPartitions(vectors, search)) {
        search.signal?.throwIfAborted();
        await this.#searchPartition(partition, probing, search);
        await yieldToEventLoop();
      }
    }
  }

  /** Reads the partitions that are certainly probed, except those that radii may exclude. */
  #readAhead(vectors: readonly SearchedVector[], { leastProbes, signal }: IvfSearch): Promise<void> {
    const partitions = certainProbes(vectors, leastProbes).filter(
      (partition) => this.#radii?.isKnown(partition) !== true,
    );
    const keyOf = (column: string, partition: number) => this.#partKey(column, partition);
    return readPartitions(this.#ivf, { parts: this.#files.parts, keyOf }, partitions, signal);
  }

  /** @param first index of the round's first query vector */
  async #searchedVectors(
    search: IvfSearch,
    first: number,
    nearest: readonly NearestRows[],
  ): Promise<SearchedVector[]> {
    const some = search.queries.slice(first, first + QUERIES_AT_ONCE);
    const queries = this.metric === "cosine" ? some.map((query) => unitVector(query, this.#ivf.item)) : some;
    const mostProbes = Math.max(search.leastProbes, search.mostProbes);
    const vectors: SearchedVector[] = [];
    // Nothing depends on the distance of an only centroid, unless radii exclude its partition.
    const needsDistances = this.partitionCount !== 1 || this.#radii !== null;
    const centroidDistances = needsDistances
      ? await this.#centroidDistances(queries)
      : queries.map(() => new Float32Array(1));
    for (const [index, distances] of centroidDistances.entries()) {
      const query = queries[index];
      vectors.push({
        distances,
        order: needsDistances ? firstAscending(distances, mostProbes) : ONLY_PARTITION,
        measure: this.#ivf.codes.from(query),
        sketched: this.#prepareSketches(query, search),
        nearest: nearest[first + index],
        offered: 0,
      });
      await yieldToEventLoop();
    }
    return vectors;
  }

  async #centroidDistances(queries: readonly Float64Array[]): Promise<Float32Array[]> {
    const { metric } = this.#ivf;
    const count = this.partitionCount;
    const queryVectors = queries.map((query) => queryVector(this.#centroidItem, query));
    const by = metric === "cosine" ? "l2" : metric;
    const distances = queries.map(() => new Float32Array(count));
    const rowBytes = this.#centroidBytes.length / Math.max(1, count);
    const most = Math.max(1, Math.floor(CENTROID_BYTES / rowBytes / queries.length));
    for (let start = 0; start < count; start += most) {
      const end = Math.min(count, start + most);
      const bytes = this.#centroidBytes.subarray(start * rowBytes, end * rowBytes);
      const into = distances.map((each) => each.subarray(start, end));
      fillDistances(this.#centroidItem, by, queryVectors, bytes, into);
      await yieldToEventLoop();
    }
    // NaNs of either sign would break the order.
    for (const each of distances) {
      for (let index = 0; index < count; index++)
        if (Number.isNaN(each[index])) each[index] = Number.POSITIVE_INFINITY;
    }
    return distances;
  }

  /** Prepares a query vector for sketches; null if they cannot serve it. */
  #prepareSketches(query: Float64Array, search: IvfSearch): SketchSearch | null {
    const { codes, graphs, metric, item } = this.#ivf;
    if (codes.model.kind !== "FLAT" || graphs !== null || isBounded(search)) return null;
    return prepareSketches(metric, item, queryVector(item, query));
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
    const unpacked: SearchedVector[] = [];
    for (const vector of near) {
      if (!(await this.#walkPacked(partition, vector, words, search))) unpacked.push(vector);
    }
    if (unpacked.length === 0) return;
    const bytes = await this.#codes(partition, signal);
    const centroid = centroids.subarray(partition * dimension, (partition + 1) * dimension);
    await this.#radii?.note(partition, unpacked.length, centroid, bytes, rowCount);
    const bySketch = unpacked.filter(({ sketched }) => sketched !== null);
    if (bySketch.length > 0) {
      const sketch = await this.#sketch(partition, bytes, bySketch.length, signal);
      await offerNearest({ words, bytes, centroid, sketch }, bySketch, search);
      if (bySketch.length === unpacked.length) return;
    }
    const room = scratch.lend(4 * rowCount);
    const distances = new Float32Array(room.buffer, 0, rowCount);
    for (const vector of unpacked) {
      const { measure, sketched, nearest } = vector;
      if (sketched !== null) continue;
      const some = () => measure.some(centroid, bytes, rowCount);
      if (graphs === null || !(await this.#walkGraph(graphs, partition, vector, some(), words, search))) {
        if (measure.inSteps === undefined) measure.all(centroid, bytes, distances);
        else await runAsync(measure.inSteps(centroid, bytes, distances), signal);
        vector.offered += offerAll(words, distances, search, nearest);
      }
      await yieldToEventLoop();
    }
    scratch.giveBack(room);
  }

  /** True if all rows of the partition are too far. Their rows count as offered. */
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
    const [{ name }] = codes.columns;
    const { join } = codes;
    const fail = (reason: string) => rows.fail(reason);
    if (join === undefined) return bytesOf(await this.#part(name, partition, signal), fail);
    const { starts } = this.#ivf;
    const span = { start: starts[partition], end: starts[partition + 1] };
    const joined = await this.#files.parts.get(this.#partKey(name, partition), async () => {
      const columns = await this.#columnsOf(span);
      const value = fixedWidthColumn(await runAsync(join(columns, span.end - span.start)), 1);
      return { value, weight: value.values.length + 128 };
    });
    signal?.throwIfAborted();
    return bytesOf(joined as Column, fail);
  }

  /** Reads the columns of codes. */
  async #columnsOf(span: { start: number; end: number }, signal?: AbortSignal): Promise<Uint8Array[]> {
    const { rows, codes } = this.#ivf;
    const columns: Uint8Array[] = [];
    for (const { name } of codes.columns) {
      const [column] = await rows.spans(name, [span], signal);
      columns.push(bytesOf(column, (reason) => rows.fail(reason)));
    }
    return columns;
  }

  /** Searches with the kernel. Returns false if it cannot run, or the search excludes too many rows. */
  async #walkPacked(
    partition: number,
    vector: SearchedVector,
    words: Uint32Array,
    search: IvfSearch,
  ): Promise<boolean> {
    const { beam, wantedRows, locate, signal } = search;
    const { nearest } = vector;
    const { steps } = vector.measure;
    if (this.#ivf.graphs === null || steps === undefined || isBounded(search)) return false;
    const packed = await this.#packed(partition, words.length / 2, signal);
    if (packed === null) return false;
    const address = new Uint32Array(2);
    const wanted = beamOf(beam, wantedRows);
    for (let size = wanted; size <= 2 * wanted; ) {
      const candidates = await packed.nearest(steps.code, size, signal);
      if (candidates === null) return false;
      const accepted: number[] = [];
      for (let index = 0; index < candidates.length; index++) {
        if (locate(words[2 * candidates.rows[index]], words[2 * candidates.rows[index] + 1], address))
          accepted.push(index);
      }
      if (accepted.length < wanted) {
        // Excluded rows occupy the beam, so it grows by their number and a quarter.
        size += Math.max(wanted >>> 2, 2 * (wanted - accepted.length));
        continue;
      }
      for (const slot of accepted.slice(0, wanted)) {
        const row = candidates.rows[slot];
        locate(words[2 * row], words[2 * row + 1], address);
        nearest.add(candidates.distances[slot] * steps.width * steps.width, address[0], address[1]);
      }
      vector.offered += wanted;
      return true;
    }
    return false;
  }

  /** Returns the packed graph of a partition; null if none. */
  async #packed(
    partition: number,
    rowCount: number,
    signal: AbortSignal | undefined,
  ): Promise<PackedGraph | null> {
    const { graphs, rows, codes, dimension } = this.#ivf;
    if (graphs === null) return null;
    // Packing costs dozens of searches, so only repeated searches start it.
    const made = await this.#kernelPart("packed", partition, SEARCHES_BEFORE_PACKING, async () => {
      const packed = await PackedGraph.pack(
        await graphs.graph(partition, rowCount, signal),
        await this.#codes(partition, signal),
        dimension,
        (row) => rows.fail(`a graph leads to row ${row} of ${rowCount}`),
        signal,
      );
      if (packed === null) return null;
      graphs.forget(partition);
      this.#files.parts.delete(this.#partKey(codes.columns[0].name, partition));
      return packed;
    });
    return made instanceof PackedGraph ? made : null;
  }

  /** Returns the sketch of a partition's vectors; null if none. @param asking number of query vectors */
  async #sketch(
    partition: number,
    vectors: Uint8Array,
    queryCount: number,
    signal: AbortSignal | undefined,
  ): Promise<PartitionSketch | null> {
    const { item, dimension } = this.#ivf;
    const make = () => PartitionSketch.make(item, dimension, vectors, signal);
    const sketch = await this.#kernelPart("sketch", partition, SEARCHES_BEFORE_SKETCHING, make, queryCount);
    return sketch instanceof PartitionSketch ? sketch : null;
  }

  /**
   * Returns a part for kernels, made after `minSearches` searches; null before, and while it is being made.
   */
  async #kernelPart(
    name: string,
    partition: number,
    minSearches: number,
    make: () => Promise<SearchedPart | null>,
    queryCount = 1,
  ): Promise<IndexPart | null> {
    const { parts } = this.#files;
    const key = `${this.#ivf.rows.cacheKey}${name}|${partition}`;
    const kept = parts.peek(key);
    if (kept !== undefined) return kept;
    const searchCount = (this.#searchCounts.get(partition) ?? 0) + queryCount;
    this.#searchCounts.set(partition, searchCount);
    if (searchCount < minSearches || this.#packing.has(partition)) return null;
    this.#packing.add(partition);
    try {
      const made = await parts.get(key, async () => {
        const value = (await make()) ?? NOT_PACKED;
        return { value, weight: value.memoryWeight };
      });
      this.#searchCounts.delete(partition);
      return made;
    } finally {
      this.#packing.delete(partition);
    }
  }

  /** Offers the rows that the partition's graph leads to. Returns false if these are too few. */
  async #walkGraph(
    graphs: NonNullable<IvfFiles["graphs"]>,
    partition: number,
    vector: SearchedVector,
    measure: MeasureRows,
    words: Uint32Array,
    { beam, wantedRows, lowerBound, upperBound, locate, signal }: IvfSearch,
  ): Promise<boolean> {
    const { rows } = this.#ivf;
    const { nearest } = vector;
    const address = new Uint32Array(2);
    const accept = (row: number) => locate(words[2 * row], words[2 * row + 1], address);
    const candidates = await searchGraph({
      graph: await graphs.graph(partition, words.length / 2, signal),
      measure,
      beam: beamOf(beam, wantedRows),
      accepts: (row, distance) => distance >= lowerBound && !(distance >= upperBound) && accept(row),
      fail: (row) => rows.fail(`a graph leads to row ${row} of ${words.length / 2}`),
      ...(signal && { signal }),
    });
    if (candidates === null) return false;
    for (let index = 0; index < candidates.length; index++) {
      if (accept(candidates.rows[index])) nearest.add(candidates.distances[index], address[0], address[1]);
    }
    vector.offered += candidates.length;
    return true;
  }

  /** Yields all rows with their codes, row-major, in pieces of one partition. */
  async *codedRows(
    signal: AbortSignal | undefined,
  ): AsyncGenerator<{ partition: number; ids: Column; codes: Uint8Array }> {
    const { starts, rows, codes } = this.#ivf;
    for (let partition = 0; partition < this.partitionCount; partition++) {
      const partitionEnd = starts[partition + 1];
      const most = codes.needsPartition ? Number.POSITIVE_INFINITY : PIECE_ROWS;
      for (let start = starts[partition]; start < partitionEnd; start += most) {
        const end = Math.min(start + most, partitionEnd);
        const [ids] = await rows.spans(ROW_ID_COLUMN, [{ start, end }], signal);
        const columns = await this.#columnsOf({ start, end }, signal);
        const rowCodes = codes.rowCodes?.(columns, end - start);
        yield { partition, ids, codes: rowCodes ? await runAsync(rowCodes, signal) : columns[0] };
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

/** Limits a search to finite distances: without a graph, an index returns no others. */
const finiteOnly = (search: IvfSearch): IvfSearch => ({
  ...search,
  lowerBound: Math.max(search.lowerBound, -MOST_DISTANCE),
  upperBound: search.upperBound < MOST_DISTANCE ? search.upperBound : MOST_DISTANCE,
});

/** Returns the beam of a graph search. */
const beamOf = (beam: number | undefined, wantedRows: number): number =>
  Math.max(wantedRows, beam ?? Math.ceil(BEAM_FACTOR * wantedRows));

const isBounded = ({ lowerBound, upperBound }: IvfSearch): boolean =>
  lowerBound > -MOST_DISTANCE || upperBound < MOST_DISTANCE;

/** Returns the bytes of a code column, which has no nulls. */
function bytesOf(column: Column, fail: (reason: string) => never): Uint8Array {
  const items = column.kind === "fixedSizeList" ? column.items : column;
  if (items.kind !== "fixed") return fail("the codes are not numbers");
  if (column.validity !== null || items.validity !== null) return fail("the codes hold nulls");
  return alignedBytes(items.values, items.byteWidth);
}

/** Scales a vector to length 1. For float32, it computes in 32 bits as LanceDB does, if the square fits. */
function unitVector(vector: Float64Array, item: VectorItem): Float64Array {
  const [length, shortLength] = [lengthOf(vector, (value) => value), lengthOf(vector, Math.fround)];
  if (length === 0) return vector;
  const isShort = item === "float32" && shortLength > 0 && Number.isFinite(shortLength);
  return vector.map(isShort ? (value) => Math.fround(value / shortLength) : (value) => value / length);
}

/** @param round applies to each number on the way */
function lengthOf(vector: Float64Array, round: (value: number) => number): number {
  let squares = 0;
  for (const value of vector) squares = round(squares + round(value * value));
  return round(Math.sqrt(squares));
}
