/**
 * Reads the files of a vector index. Each row is in the partition of its nearest centroid:
 *
 *     index.idx       metadata: lance:index  {"type", "distance_type"}
 *                               lance:ivf    number of a global buffer: the model with the centroids
 *     auxiliary.idx   metadata: lance:ivf         number of a global buffer: the model with partition lengths
 *                               storage_metadata  a list with a JSON text: how vectors are encoded
 *                     columns:  _rowid            u64
 *                               flat | __pq_code | __sq_code   fixed-size lists: the vectors, or their codes
 *                               for RQ several columns (rotatedCodes.ts)
 *
 * The rows are contiguous by partition. Cosine indexes store vectors of length 1. In HNSW kinds, index.idx
 * also holds the graphs (graphFiles.ts). An index on a multivector column has an entry for each vector of a
 * row, all with the id of the row.
 */

import { bothOf } from "../../../async/parallel.js";
import { UnsupportedError } from "../../../errors.js";
import { IvfModel } from "../../../format/vectorIndex.js";
import type { TableField } from "../../../schema/schema.js";
import { UINT64_TYPE } from "../../indexColumns.js";
import { OpenIndexFile } from "../../indexFile.js";
import type { IndexFiles, VectorKindName } from "../../kind.js";
import type { Codes } from "../codes/codes.js";
import { openCodes } from "../codes/openCodes.js";
import { jsonMembers, type TensorNumbers, tensorValues } from "../codes/tensors.js";
import { codeKindOf, hasGraphs, VECTOR_KIND_NAMES } from "../codes/vectorKindNames.js";
import { METRIC_NAMES, type Metric, type VectorItem } from "../distance/metric.js";
import { vectorTypeOf } from "../distance/vectorType.js";
import { GraphFiles } from "../graph/graphFiles.js";

export const INDEX_FILE = "index.idx";
export const AUXILIARY_FILE = "auxiliary.idx";
export const ROW_ID_COLUMN = "_rowid";

/** Bound against corrupt files. */
const MAX_PARTITIONS = 2 ** 24;

/** Contents of the files. */
export interface IvfFiles {
  readonly kind: VectorKindName;
  readonly metric: Metric;
  readonly item: VectorItem;
  readonly dimension: number;
  /** Row-major. */
  readonly centroids: TensorNumbers;
  /** First row of each partition, then the row count. */
  readonly starts: Float64Array;
  /** File of the row ids and codes. */
  readonly rows: OpenIndexFile;
  readonly codes: Codes;
  /** Null for kinds without graphs. */
  readonly graphs: GraphFiles | null;
}

/**
 * Opens the files.
 * @param field the vector column
 * @throws CorruptFileError; UnsupportedError for kinds that this release cannot search
 */
export async function openIvfFiles(files: IndexFiles, field: TableField): Promise<IvfFiles> {
  const vectors = vectorTypeOf(field);
  if (vectors === null) throw new UnsupportedError("its column holds no vectors");
  const { item, dimension } = vectors;
  // Indexes of old releases lack the second file: the failure of the first says more.
  const [model, storage] = await bothOf(
    OpenIndexFile.open(files, INDEX_FILE, []),
    OpenIndexFile.open(files, AUXILIARY_FILE, []),
  );
  const { kind, metric } = kindOf(model);
  const ivf = await modelOf(model);
  const centroids = centroidsOf(ivf, model, item, dimension);
  const codes = await openCodes(codeKindOf(kind), metric, storage, item, dimension);
  const columns = [{ name: ROW_ID_COLUMN, type: UINT64_TYPE }, ...codes.columns];
  const rows = await OpenIndexFile.open(files, AUXILIARY_FILE, columns);
  const starts = startsOf(await modelOf(rows), rows);
  if (starts.length - 1 !== centroids.length / dimension) {
    rows.fail(`the file has ${starts.length - 1} partitions, but ${centroids.length / dimension} centroids`);
  }
  const rowCounts = (partition: number) => starts[partition + 1] - starts[partition];
  const graphs = hasGraphs(kind)
    ? await GraphFiles.open(files, INDEX_FILE, startsOf(ivf, model), rowCounts)
    : null;
  return { kind, metric, item, dimension, centroids, starts, rows, codes, graphs };
}

function kindOf(file: OpenIndexFile): { kind: VectorKindName; metric: Metric } {
  const { type, distance_type } = jsonMembers(file, file.text("lance:index"));
  const metric = METRIC_NAMES.find((name) => name === distance_type);
  if (metric === undefined) file.fail(`distance_type is ${JSON.stringify(distance_type)}`);
  const kind = VECTOR_KIND_NAMES.find((name) => name === type);
  if (kind === undefined) {
    throw new UnsupportedError(
      `${file.path}: this release does not read indexes of type ${JSON.stringify(type)}`,
    );
  }
  return { kind, metric };
}

async function modelOf(file: OpenIndexFile): Promise<IvfModel> {
  const { bytes, byteOffset } = await file.globalBuffer(file.count("lance:ivf", 1, 2 ** 16));
  return IvfModel.decode(bytes, { path: file.path, byteOffset });
}

function centroidsOf(
  { centroids }: IvfModel,
  file: OpenIndexFile,
  item: VectorItem,
  dimension: number,
): TensorNumbers {
  if (centroids === undefined) return file.fail("the model has no centroids");
  const tensor = tensorValues(centroids, file, dimension);
  if ((tensor.item === "uint8") !== (item === "uint8")) {
    file.fail(`vectors of ${item} cannot have centroids of ${tensor.item}`);
  }
  if (tensor.rowCount < 1 || tensor.rowCount > MAX_PARTITIONS)
    file.fail(`the model has ${tensor.rowCount} centroids`);
  return tensor.numbers;
}

function startsOf({ offsets, lengths }: IvfModel, file: OpenIndexFile): Float64Array {
  if (lengths.length > MAX_PARTITIONS) file.fail(`the model has ${lengths.length} partitions`);
  const starts = new Float64Array(lengths.length + 1);
  for (const [partition, length] of lengths.entries()) {
    // The offset of an empty partition has no meaning.
    if (offsets.length > 0 && length > 0 && offsets[partition] !== starts[partition]) {
      file.fail(`partition ${partition} begins at row ${offsets[partition]}, not ${starts[partition]}`);
    }
    starts[partition + 1] = starts[partition] + length;
  }
  if (starts[lengths.length] !== file.rowCount) {
    file.fail(`the partitions have ${starts[lengths.length]} rows, but the file has ${file.rowCount}`);
  }
  return starts;
}
