/**
 * Builds the files of an index on vectors (ivfFiles.ts): centroids are trained on a sample, then every row is put into the
 * partition of its nearest centroid, encoded (codes.ts), and sorted by partition in bounded memory.
 */

import type { FixedColumn } from "../../arrow/columns/column.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { breathe } from "../../async/eventLoop.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { InvalidInputError } from "../../errors.js";
import { IvfModel, TENSOR_TYPES, Tensor } from "../../format/vectorIndex.js";
import { UINT32, UINT64_TYPE, uint32Column, writeIndexFile } from "../indexFile.js";
import type { IndexRows, IndexTarget, VectorKindName, WrittenIndexFile } from "../kind.js";
import { type Encoder, flatEncoder, pqEncoder, sqEncoder } from "./encoders.js";
import { type IndexedVectors, sampleVectors, vectorsIn } from "./indexedVectors.js";
import { AUXILIARY_FILE, INDEX_FILE, ROW_ID_COLUMN } from "./ivfFiles.js";
import { assignVectors, trainCentroids } from "./kmeans.js";
import { encodeVector, METRIC_NAMES, type Metric, type VectorItem, vectorItemOf } from "./metric.js";

/** Rows of a partition where nobody says how many. */
const PARTITION_ROWS: Readonly<Record<VectorKindName, number>> = {
  IVF_FLAT: 4096,
  IVF_PQ: 8192,
  IVF_SQ: 8192,
};
/** Partitions where nobody says how many, at most. */
const MAX_DEFAULT_PARTITIONS = 4096;
/** Vectors of the sample for each partition. */
const SAMPLE_RATE = 256;
/** Bytes of a sample, at most. */
const SAMPLE_BYTES = 2 ** 28;
const MAX_ROUNDS = 50;
/** Bytes of rows that are sorted at once: rows are large, and joining many holds the thread for long. */
const SORT_BYTES = 2 ** 24;
const SEED = 42;

/** Settings of an index on vectors. */
interface VectorParameters {
  readonly distanceType: Metric;
  readonly numPartitions?: number;
  readonly targetPartitionSize?: number;
  readonly sampleRate?: number;
  readonly maxIterations?: number;
  readonly numSubVectors?: number;
  readonly numBits?: number;
}

/**
 * @param rows may be gone through more than once
 * @throws InvalidInputError where no row has a vector
 */
export async function buildIvf(
  kind: VectorKindName,
  rows: AsyncIterable<IndexRows>,
  target: IndexTarget,
): Promise<readonly WrittenIndexFile[]> {
  const parameters = target.parameters as unknown as VectorParameters;
  const indexed = indexedOf(target, parameters);
  const { dimension, metric } = indexed;
  const { sampleRate = SAMPLE_RATE, maxIterations = MAX_ROUNDS } = parameters;
  const wanted = partitionCount(kind, parameters, target.rowCount);
  const sampleRows = Math.max(sampleRate * wanted, kind === "IVF_PQ" ? SAMPLE_RATE * 256 : 0);
  const most = Math.max(wanted, Math.min(sampleRows, Math.floor(SAMPLE_BYTES / (4 * dimension))));
  const sample = await sampleVectors(indexed, rows, most, SEED);
  const count = Math.min(wanted, sample.length / dimension);
  if (count === 0)
    throw new InvalidInputError(`column: no row of ${target.field.name} has a vector to index`);
  const by = metric === "dot" ? "dot" : "l2";
  const { signal } = target;
  const options = { metric: by, count, dimension, maxRounds: maxIterations, seed: SEED, signal } as const;
  const centroids = await trainCentroids(sample, options);
  const encoder = await encoderOf(kind, indexed, parameters, sample, centroids, signal);
  const lengths = new Uint32Array(count);
  const assigned = encodedRows(rows, target, indexed, centroids, encoder, lengths);
  const sorted = target.sort(assigned, UINT32, SORT_BYTES);
  const files = await writeRows(target, sorted, indexed, encoder, lengths);
  return [await writeModel(kind, target, indexed, centroids), files];
}

function indexedOf({ field }: IndexTarget, { distanceType }: VectorParameters): IndexedVectors {
  const { type } = field;
  const item = type.kind === "fixedSizeList" ? vectorItemOf(type.of) : null;
  const metric = METRIC_NAMES.find((name) => name === distanceType);
  if (type.kind !== "fixedSizeList" || item === null || metric === undefined) {
    throw new InvalidInputError(`column: ${field.name} has no vectors`);
  }
  return { item, dimension: type.size, metric };
}

function partitionCount(
  kind: VectorKindName,
  { numPartitions, targetPartitionSize }: VectorParameters,
  rowCount: number,
): number {
  if (numPartitions !== undefined) return numPartitions;
  const size = targetPartitionSize ?? PARTITION_ROWS[kind];
  return Math.max(1, Math.min(MAX_DEFAULT_PARTITIONS, Math.floor(rowCount / size)));
}

function encoderOf(
  kind: VectorKindName,
  indexed: IndexedVectors,
  parameters: VectorParameters,
  sample: Float32Array,
  centroids: Float32Array,
  signal: AbortSignal | undefined,
): Encoder | Promise<Encoder> {
  switch (kind) {
    case "IVF_FLAT":
      return flatEncoder(indexed);
    case "IVF_SQ":
      return sqEncoder(indexed, sample);
    case "IVF_PQ":
      return pqEncoder(indexed, parameters, sample, centroids, SEED, signal);
  }
}

/** Rows as their partitions, ids and codes. */
async function* encodedRows(
  rows: AsyncIterable<IndexRows>,
  target: IndexTarget,
  indexed: IndexedVectors,
  centroids: Float32Array,
  encoder: Encoder,
  lengths: Uint32Array,
): AsyncGenerator<IndexRows, void, undefined> {
  const { dimension, metric } = indexed;
  const by = metric === "dot" ? "dot" : "l2";
  let done = 0;
  for await (const { values, ids, rowCount } of rows) {
    const { vectors, rows: kept } = vectorsIn(indexed, values);
    const partitions = new Uint32Array(kept.length);
    const { signal } = target;
    await assignVectors(vectors, centroids, { metric: by, dimension, signal }, (firstRow, nearest) =>
      partitions.set(nearest, firstRow),
    );
    for (const partition of partitions) lengths[partition]++;
    const codes = await encoder.encode(vectors, partitions);
    if (kept.length > 0) {
      yield {
        values: uint32Column(partitions),
        ids: takeColumn(ids, kept),
        codes: {
          kind: "fixed",
          length: kept.length,
          validity: null,
          byteWidth: encoder.codeBytes,
          values: codes,
        },
        rowCount: kept.length,
      };
    }
    done += rowCount;
    target.progress?.(done);
    await breathe();
  }
}

// ------------------------------------------------------------------------------------------------- files

const tensorOf = (item: VectorItem, dimension: number, values: Float32Array): Tensor =>
  Tensor.create({
    dataType: TENSOR_TYPES.indexOf(item),
    shape: [values.length / dimension, dimension],
    data: encodeVector(item, Float64Array.from(values)),
  });

function writeModel(
  kind: VectorKindName,
  target: IndexTarget,
  { item, dimension, metric }: IndexedVectors,
  centroids: Float32Array,
): Promise<WrittenIndexFile> {
  const count = centroids.length / dimension;
  const model = IvfModel.create({
    offsets: new Array(count).fill(0),
    lengths: new Array(count).fill(0),
    centroids: tensorOf(item, dimension, centroids),
  });
  const columns = [{ name: "__flat_marker", type: UINT64_TYPE }];
  return writeIndexFile(target, INDEX_FILE, columns, noRows(), async (file) => {
    const place = await file.addGlobalBuffer(IvfModel.encode(model));
    file.addMetadata("lance:index", JSON.stringify({ type: kind, distance_type: metric }));
    file.addMetadata("lance:ivf", String(place));
    file.addMetadata("lance:flat", JSON.stringify(new Array(count).fill("")));
  });
}

async function* noRows(): AsyncGenerator<InputBatch, void, undefined> {}

function writeRows(
  target: IndexTarget,
  sorted: AsyncIterable<IndexRows>,
  { metric }: IndexedVectors,
  encoder: Encoder,
  lengths: Uint32Array,
): Promise<WrittenIndexFile> {
  const { column, codeType, codeLength, codeBytes } = encoder;
  const columns = [
    { name: ROW_ID_COLUMN, type: UINT64_TYPE, nullable: true },
    {
      name: column,
      type: { kind: "fixedSizeList", of: codeType, size: codeLength } as const,
      nullable: encoder.isNullable,
    },
  ];
  async function* batches(): AsyncGenerator<InputBatch, void, undefined> {
    for await (const { ids, codes, rowCount } of sorted) {
      const { values } = codes as FixedColumn;
      const items: FixedColumn = {
        kind: "fixed",
        length: rowCount * codeLength,
        validity: null,
        byteWidth: codeBytes / codeLength,
        values: alignedBytes(values, 8),
      };
      const list = {
        kind: "fixedSizeList",
        length: rowCount,
        validity: null,
        dimension: codeLength,
        items,
      } as const;
      yield { columns: [ids, list], rowCount };
    }
  }
  return writeIndexFile(target, AUXILIARY_FILE, columns, batches(), async (file) => {
    const starts: number[] = [];
    let next = 0;
    for (const length of lengths) {
      starts.push(next);
      next += length;
    }
    const model = IvfModel.create({ offsets: starts, lengths: [...lengths] });
    const place = await file.addGlobalBuffer(IvfModel.encode(model));
    const codebook =
      encoder.codebook === null ? 0 : await file.addGlobalBuffer(Tensor.encode(encoder.codebook));
    file.addMetadata("distance_type", metric);
    file.addMetadata("lance:ivf", String(place));
    file.addMetadata("storage_metadata", JSON.stringify([JSON.stringify(encoder.storage(codebook))]));
  });
}
