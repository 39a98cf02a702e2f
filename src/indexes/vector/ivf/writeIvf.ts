/**
 * Writes the files of a vector index (ivfFiles.ts). It sorts encoded rows by partition and writes them. For
 * kinds with graphs, it holds each partition until its graph is built.
 */

import type { Column, FixedColumn } from "../../../arrow/columns/column.js";
import { takeColumn } from "../../../arrow/columns/takeColumn.js";
import type { InputBatch } from "../../../arrow/exchange/input.js";
import { yieldToEventLoop } from "../../../async/eventLoop.js";
import { Handover } from "../../../async/handover.js";
import { mapAhead } from "../../../async/parallel.js";
import { alignedBytes } from "../../../bytes/aligned.js";
import { InternalError } from "../../../errors.js";
import type { DataFileWriter } from "../../../file/writing/writer.js";
import { IvfModel, TENSOR_TYPES, Tensor } from "../../../format/vectorIndex.js";
import { StepProgress } from "../../buildProgress.js";
import {
  FLOAT32_TYPE,
  fixedWidthColumn,
  integerWords,
  LIST_TYPE,
  listColumn,
  UINT32,
  UINT64_TYPE,
  uint32Column,
} from "../../indexColumns.js";
import { writeIndexFile } from "../../indexFile.js";
import type {
  IndexRows,
  IndexTarget,
  RowStream,
  VectorKindName,
  WrittenFiles,
  WrittenIndexFile,
} from "../../kind.js";
import { insertCodebook } from "../codes/codebookInSettings.js";
import type { CodeModel } from "../codes/codes.js";
import type { Encoder } from "../codes/encoder.js";
import { type EncodingParts, encoderOf, encodeVectors, encodingParts } from "../codes/encoders.js";
import { columnBytesOf, type IndexedVectors, numbersPerVector, vectorsIn } from "../codes/indexedVectors.js";
import { hasGraphs } from "../codes/vectorKindNames.js";
import { VectorWork } from "../codes/vectorWork.js";
import type { Metric } from "../distance/metric.js";
import { BuiltGraph, type GraphLevel, type GraphSettings, graphBytes } from "../graph/buildGraph.js";
import { DISTANCES_COLUMN, NEIGHBOURS_COLUMN, VECTOR_ID_COLUMN } from "../graph/graphFiles.js";
import { MAX_LEVELS } from "../graph/maxLevels.js";
import { DEFAULT_EF_CONSTRUCTION, DEFAULT_M, rowTimes } from "./buildTimes.js";
import { AUXILIARY_FILE, INDEX_FILE, ROW_ID_COLUMN } from "./ivfFiles.js";
import { PartitionedRows } from "./partitionedRows.js";
import { PartitionVectors } from "./partitionVectors.js";

/** Rows of a graph per batch. */
const GRAPH_BATCH_ROWS = 8192;
const SEED = 42;

/** Settings of a vector index. */
export interface VectorParameters {
  readonly distanceType: Metric;
  readonly numPartitions?: number;
  readonly targetPartitionSize?: number;
  readonly sampleRate?: number;
  readonly maxIterations?: number;
  readonly numSubVectors?: number;
  readonly numBits?: number;
  readonly m?: number;
  readonly efConstruction?: number;
}

/** Centroids and code model. */
export interface IvfModelParts {
  readonly kind: VectorKindName;
  readonly indexed: IndexedVectors;
  /** Row-major. */
  readonly centroids: Float32Array;
  readonly model: CodeModel;
}

/** @param fill adds the rows, with their partitions and codes; reports progress to the target that it gets */
export async function writeIvf(
  parts: IvfModelParts,
  target: IndexTarget,
  fill: (rows: PartitionedRows, encoding: VectorEncoding, target: IndexTarget) => Promise<void>,
): Promise<WrittenFiles> {
  const { indexed, centroids, model } = parts;
  const work = new VectorWork(target.workers, target.signal);
  const encodingOf = encodingParts(model, indexed, centroids, work);
  const encoder = encoderOf(encodingOf);
  const count = centroids.length / numbersPerVector(indexed);
  const rows = new PartitionedRows(count, encoder.codeBytes, () => target.temporaryFile());
  const products = centroids.length + encoder.products;
  const times = rowTimes(parts.kind, numbersPerVector(indexed), products, target.parameters);
  const steps = new StepProgress(target, times);
  try {
    await fill(rows, { parts: encodingOf, encoder, work }, { ...target, progress: steps.of(0) });
    return await writeFiles(parts, { ...target, progress: steps.of(1) }, rows, encoder, work);
  } finally {
    await rows.discard();
  }
}

async function writeFiles(
  parts: IvfModelParts,
  target: IndexTarget,
  partitioned: PartitionedRows,
  encoder: Encoder,
  work: VectorWork,
): Promise<WrittenFiles> {
  const { kind, indexed } = parts;
  const { lengths } = partitioned;
  const inOrder = partitioned.inOrder();
  if (!hasGraphs(kind)) {
    const rows = await writeRows(target, inOrder, indexed, encoder, lengths);
    return [await writeModel(parts, target), rows];
  }
  // Writes both files at once: the rows of a partition, then its graph.
  const handover = new Handover<IndexRows>();
  const rows = writeRows(target, handover, indexed, encoder, lengths);
  const graphs = writeGraphs(parts, target, inOrder, { encoder, lengths, work }, handover);
  const ended = [rows, graphs].map((each) =>
    each.catch((error: unknown) => {
      handover.fail(error);
      throw error;
    }),
  );
  const failures = await Promise.allSettled(ended);
  for (const each of failures) if (each.status === "rejected") throw each.reason;
  return [await graphs, await rows];
}

/** Encoder and its threads. */
export interface VectorEncoding {
  readonly parts: EncodingParts;
  readonly encoder: Encoder;
  readonly work: VectorWork;
}

/** Batches encoded ahead on threads, so that these do not wait. */
const BATCHES_AHEAD = 2;

/** Assigns the rows of a table to partitions and encodes them. */
export async function addRows(
  rows: RowStream,
  target: IndexTarget,
  { parts, encoder, work }: VectorEncoding,
  into: PartitionedRows,
): Promise<void> {
  // Shared memory is expensive, so batches reuse it.
  const free: Float32Array[] = [];
  const encode = async ({ values, ids, rowCount }: IndexRows) => {
    let memory: Float32Array = new Float32Array(0);
    const { vectors, rows: kept } = vectorsIn(parts.indexed, values, (length) => {
      const freed = free.pop();
      memory = freed !== undefined && freed.length >= length ? freed : work.floats(length);
      return memory.subarray(0, length);
    });
    // The next batch may overwrite the ids before these are encoded.
    const idCopy = idBytes(kept === null ? ids : takeColumn(ids, kept)).slice();
    return { ...(await encodeVectors(parts, encoder, vectors, work)), ids: idCopy, rowCount, memory };
  };
  const maxWeight = work.threads === 0 ? 1 : BATCHES_AHEAD;
  const limit = { weigh: () => 1, maxWeight, signal: target.signal };
  let done = 0;
  for await (const { rowCount, memory, ...encoded } of mapAhead(rows, encode, limit)) {
    if (encoded.partitions.length > 0) await into.add(encoded);
    free.push(memory);
    done += rowCount;
    target.progress?.(done);
    await yieldToEventLoop();
  }
}

/** @throws InternalError for a column without ids */
export function idBytes(ids: Column): Uint8Array {
  if (ids.kind !== "fixed" || ids.byteWidth !== 8)
    throw new InternalError("ids of rows are integers of 8 bytes");
  return ids.values.subarray(0, ids.length * 8);
}

const tensorOf = (indexed: IndexedVectors, values: Float32Array): Tensor =>
  Tensor.create({
    dataType: TENSOR_TYPES.indexOf(indexed.item),
    shape: [values.length / numbersPerVector(indexed), indexed.dimension],
    data: columnBytesOf(indexed, values),
  });

/** Adds the model with the centroids. @param lengths number of rows of the file per partition */
async function addModel(
  file: DataFileWriter,
  { kind, indexed, centroids }: IvfModelParts,
  lengths: number[],
): Promise<void> {
  const model = { offsets: startsOf(lengths), lengths, centroids: tensorOf(indexed, centroids) };
  const position = await file.addGlobalBuffer(IvfModel.encode(IvfModel.create(model)));
  file.addMetadata("lance:index", JSON.stringify({ type: kind, distance_type: indexed.metric }));
  file.addMetadata("lance:ivf", String(position));
}

function writeModel(parts: IvfModelParts, target: IndexTarget): Promise<WrittenIndexFile> {
  const count = parts.centroids.length / numbersPerVector(parts.indexed);
  const columns = [{ name: "__flat_marker", type: UINT64_TYPE }];
  return writeIndexFile(target, INDEX_FILE, columns, noRows(), async (file) => {
    await addModel(file, parts, new Array<number>(count).fill(0));
    file.addMetadata("lance:flat", JSON.stringify(new Array(count).fill("")));
  });
}

async function* noRows(): AsyncGenerator<InputBatch> {}

function writeRows(
  target: IndexTarget,
  sorted: RowStream,
  { metric }: IndexedVectors,
  encoder: Encoder,
  lengths: Uint32Array,
): Promise<WrittenIndexFile> {
  const columns = [{ name: ROW_ID_COLUMN, type: UINT64_TYPE, nullable: true }, ...encoder.columns];
  async function* batches(): AsyncGenerator<InputBatch> {
    for await (const { ids, codes, rowCount } of sorted) {
      const bytes = (codes as FixedColumn).values;
      const columns = encoder.columnsOf?.(bytes, rowCount) ?? [codeLists(encoder, bytes, rowCount)];
      yield { columns: [ids, ...columns], rowCount };
    }
  }
  return writeIndexFile(target, AUXILIARY_FILE, columns, batches(), async (file) => {
    const model = IvfModel.create({ offsets: startsOf(lengths), lengths: [...lengths] });
    const position = await file.addGlobalBuffer(IvfModel.encode(model));
    const codebook = encoder.codebook === null ? null : Tensor.encode(encoder.codebook);
    const isInSettings = encoder.model.kind === "PQ" && encoder.model.isInSettings;
    const codebookBuffer = codebook === null || isInSettings ? 0 : await file.addGlobalBuffer(codebook);
    const settings = JSON.stringify([JSON.stringify(encoder.storage(codebookBuffer))]);
    file.addMetadata("distance_type", metric);
    file.addMetadata("lance:ivf", String(position));
    file.addMetadata(
      "storage_metadata",
      codebook !== null && isInSettings ? await insertCodebook(codebook, settings) : settings,
    );
  });
}

/** Returns the codes of an encoder with one column. */
function codeLists({ columns, codeBytes }: Encoder, codes: Uint8Array, rowCount: number): Column {
  const [{ type }] = columns;
  const dimension = type.kind === "fixedSizeList" ? type.size : 1;
  const items = fixedWidthColumn(alignedBytes(codes, 8), codeBytes / dimension);
  return { kind: "fixedSizeList", length: rowCount, validity: null, dimension, items };
}

/** Returns the start offset of each part. */
function startsOf(lengths: Iterable<number>): number[] {
  const starts: number[] = [];
  let next = 0;
  for (const length of lengths) {
    starts.push(next);
    next += length;
  }
  return starts;
}

/** Writes the model with the graphs, and passes the rows on. */
function writeGraphs(
  parts: IvfModelParts,
  target: IndexTarget,
  sorted: RowStream,
  { encoder, lengths, work }: { encoder: Encoder; lengths: Uint32Array; work: VectorWork },
  handover: Handover<IndexRows>,
): Promise<WrittenIndexFile> {
  const { m = DEFAULT_M, efConstruction = DEFAULT_EF_CONSTRUCTION } =
    target.parameters as unknown as VectorParameters;
  const settings = { m, efConstruction, seed: SEED };
  const texts: string[] = [];
  const graphRows: number[] = [];
  let linked = 0;
  async function* batches(): AsyncGenerator<InputBatch> {
    const made = { settings, lanes: work.lanes };
    for await (const vectors of partitionsOf(sorted, parts.indexed, encoder, lengths, handover, made)) {
      const graph = await BuiltGraph.of(vectors.memory, vectors.rowCount, settings, work, (added) =>
        target.progress?.(linked + added),
      );
      linked += vectors.rowCount;
      const counts = vectors.rowCount === 0 ? new Array<number>(MAX_LEVELS).fill(0) : graph.levelCounts();
      const total = counts.reduce((sum, count) => sum + count, 0);
      texts.push(
        JSON.stringify({
          entry_point: graph.entryPoint,
          params: { max_level: MAX_LEVELS, m, ef_construction: efConstruction, prefetch_distance: 2 },
          level_offsets: [...startsOf(counts), total],
        }),
      );
      graphRows.push(total);
      for (const level of graph.levels(GRAPH_BATCH_ROWS)) {
        yield batchOf(level, vectors.unit);
        await yieldToEventLoop();
      }
    }
    handover.end();
  }
  const columns = [
    { name: VECTOR_ID_COLUMN, type: UINT32, nullable: true },
    { name: NEIGHBOURS_COLUMN, type: LIST_TYPE, item: UINT32, nullable: true },
    { name: DISTANCES_COLUMN, type: LIST_TYPE, item: FLOAT32_TYPE, nullable: true },
  ];
  return writeIndexFile(target, INDEX_FILE, columns, batches(), async (file) => {
    await addModel(file, parts, graphRows);
    file.addMetadata("lance:hnsw", JSON.stringify(texts));
  });
}

/** Yields the vectors of each partition in order, empty ones included, and passes the rows on. */
async function* partitionsOf(
  sorted: RowStream,
  indexed: IndexedVectors,
  encoder: Encoder,
  lengths: Uint32Array,
  handover: Handover<IndexRows>,
  { settings, lanes }: { readonly settings: GraphSettings; readonly lanes: number },
): AsyncGenerator<PartitionVectors> {
  const roomFor = (rowCount: number): PartitionVectors =>
    new PartitionVectors(encoder, indexed, rowCount, lanes, graphBytes(rowCount, settings, lanes));
  let partition = 0;
  let vectors: PartitionVectors | null = null;
  for await (const rows of sorted) {
    const numbers = integerWords(rows.values, "rows of an index");
    const { values } = rows.codes as FixedColumn;
    for (let start = 0; start < rows.rowCount; ) {
      while (numbers[start] !== partition || vectors === null) {
        if (vectors !== null) partition++;
        // All rows were counted before the sort.
        vectors = roomFor(lengths[partition]);
        if (lengths[partition] === 0) yield vectors;
      }
      let end = start + 1;
      while (end < rows.rowCount && numbers[end] === partition) end++;
      const { codeBytes } = encoder;
      vectors.add(values.subarray(start * codeBytes, end * codeBytes));
      if (vectors.isFull) yield vectors;
      start = end;
    }
    await handover.put(rows);
  }
  if (vectors?.isFull === false) throw new InternalError("rows of a partition are missing");
  if (vectors !== null) partition++;
  for (; partition < lengths.length; partition++) yield roomFor(0);
}

/** @param unit factor for distances */
function batchOf({ rows, starts, neighbours, distances }: GraphLevel, unit: number): InputBatch {
  const offsets = new Int32Array(starts.buffer, starts.byteOffset, starts.length);
  if (unit !== 1) for (let index = 0; index < distances.length; index++) distances[index] *= unit;
  const lists = [uint32Column(neighbours), fixedWidthColumn(distances, 4)];
  const columns = [uint32Column(rows), ...lists.map((items) => listColumn(offsets, items))];
  return { columns, rowCount: rows.length };
}
