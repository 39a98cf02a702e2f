/** Requests of the engine for calls of tables, and LanceDB's results for its answers. */

import type { Field, Schema } from "apache-arrow";
import { performance } from "../async/timers.js";
import { isMapObject } from "../bytes/anyRealm.js";
import type {
  CreateTableIndexRequest,
  DescribeTableIndexStatsResponse,
  TableIndex,
} from "../namespace/indexes.js";
import type { MergeInsertIntoTableResponse } from "../namespace/rows.js";
import type { NewColumn } from "../namespace/schema.js";
import type { CleanupTableResponse, OptimizeTableResponse, StartedJob } from "../namespace/upkeep.js";
import { failure } from "./failures.js";
import { type IndexOptions, requestOfIndex } from "./indices.js";
import type * as native from "./native.js";
import { present } from "./present.js";
import { listOf } from "./queries/numbers.js";
import type { ChangedTable } from "./tableState.js";
import type { UpdateOptions, WriteProgress } from "./tableTypes.js";
import { type IntoSql, toSQL } from "./util.js";

/** Key of a field's metadata that makes it the primary key. */
export const PRIMARY_KEY = "lance-schema:unenforced-primary-key";

/** Kinds of indexes as LanceDB lists them. */
const INDEX_NAMES: Readonly<Record<string, string>> = {
  BTREE: "BTree",
  BITMAP: "Bitmap",
  LABEL_LIST: "LabelList",
  ZONEMAP: "ZoneMap",
  BLOOMFILTER: "BloomFilter",
  NGRAM: "NGram",
  FTS: "FTS",
  INVERTED: "FTS",
  FM: "Fm",
  IVF_FLAT: "IvfFlat",
  IVF_SQ: "IvfSq",
  IVF_PQ: "IvfPq",
  IVF_RQ: "IvfRq",
  IVF_HNSW_FLAT: "IvfHnswFlat",
  IVF_HNSW_SQ: "IvfHnswSq",
  IVF_HNSW_PQ: "IvfHnswPq",
};

/** Returns the request for an index. LanceDB replaces an index of the same name unless told otherwise. */
export const indexRequest = (
  table: ChangedTable,
  column: string,
  options: Partial<IndexOptions> | undefined,
): CreateTableIndexRequest =>
  ({
    ...table,
    column,
    ...requestOfIndex(options?.config),
    ...(options?.train === false && { train: false }),
    name: options?.name ?? undefined,
    replace: options?.replace ?? true,
  }) as CreateTableIndexRequest;

/** Returns the description of an index. */
export function indexConfigOf(index: TableIndex): native.IndexConfig {
  const { indexName, indexType = "", columns, createdAt, indexDetails } = index;
  const { indexUuid, typeUrl, numIndexedRows, numUnindexedRows, sizeBytes, numSegments, indexVersion } =
    index;
  return present({
    name: indexName,
    indexType: INDEX_NAMES[indexType] ?? indexType,
    columns: [...columns],
    indexUuid,
    typeUrl,
    createdAt: createdAt === undefined ? undefined : new Date(createdAt),
    numIndexedRows,
    numUnindexedRows,
    sizeBytes,
    numSegments,
    indexVersion,
    indexDetails: indexDetails === undefined ? undefined : parsed(indexDetails),
  });
}

/** Returns the statistics of an index. */
export const indexStatisticsOf = ({
  numIndexedRows = 0,
  numUnindexedRows = 0,
  indexType = "",
  distanceType,
  numIndices,
}: DescribeTableIndexStatsResponse): native.IndexStatistics =>
  present({ numIndexedRows, numUnindexedRows, indexType, distanceType, numIndices });

/** Returns the result of a merge. */
export const mergeResultOf = ({
  version,
  numInsertedRows,
  numUpdatedRows,
  numDeletedRows,
}: MergeInsertIntoTableResponse): native.MergeResult => ({
  version,
  numInsertedRows,
  numUpdatedRows,
  numDeletedRows,
  numAttempts: 1,
  numRows: numInsertedRows + numUpdatedRows,
});

/**
 * Returns the age of the versions that a cleanup removes. LanceDB takes it when the call begins, so that the
 * present time also means the versions that the optimisation itself leaves.
 */
export function ageOf(cleanupOlderThan: Date): number {
  const time = typeof cleanupOlderThan?.getTime === "function" ? cleanupOlderThan.getTime() : Number.NaN;
  if (Number.isNaN(time)) throw failure("Invalid input, cleanupOlderThan must be a valid Date");
  return Math.max(0, Date.now() - time);
}

/** Returns the result of an optimisation. */
export function optimizeStatsOf(
  compaction: OptimizeTableResponse | StartedJob,
  prune: CleanupTableResponse | StartedJob,
): native.OptimizeStats {
  const { fragmentsRemoved, fragmentsAdded, filesRemoved, filesAdded } = compaction as OptimizeTableResponse;
  const { bytesRemoved, versionsRemoved } = prune as CleanupTableResponse;
  return {
    compaction: { fragmentsRemoved, fragmentsAdded, filesRemoved, filesAdded },
    prune: { bytesRemoved, oldVersionsRemoved: versionsRemoved },
  };
}

/** Updates in any of the three forms that LanceDB takes. */
export type Updates =
  | Map<string, string>
  | Record<string, string>
  | ({ values: Map<string, IntoSql> | Record<string, IntoSql> } & Partial<UpdateOptions>)
  | ({ valuesSql: Map<string, string> | Record<string, string> } & Partial<UpdateOptions>);

/** Returns pairs of a column and SQL, and the condition of an update. */
export function updatesOf(
  updates: Updates,
  options: Partial<UpdateOptions> | undefined,
): { readonly updates: readonly (readonly [string, string])[]; readonly where: string | undefined } {
  if (typeof updates !== "object" || updates === null) {
    throw failure("Invalid input, an update takes an object or a map of columns");
  }
  if (isMapObject(updates)) return { updates: [...updates], where: options?.where };
  const { values, valuesSql, where } = updates as {
    readonly values?: unknown;
    readonly valuesSql?: unknown;
    readonly where?: string;
  };
  if (isByColumn<IntoSql>(values)) {
    return { updates: entriesOf(values).map(([column, value]) => [column, toSQL(value)]), where };
  }
  if (isByColumn<string>(valuesSql)) return { updates: entriesOf(valuesSql), where };
  return { updates: Object.entries(updates as Record<string, string>), where: options?.where };
}

const isByColumn = <Value>(value: unknown): value is Map<string, Value> | Record<string, Value> =>
  typeof value === "object" && value !== null;

const entriesOf = <Value>(values: Map<string, Value> | Record<string, Value>): [string, Value][] =>
  isMapObject(values) ? [...values] : Object.entries(values);

/** Columns to add, in any of the forms that LanceDB takes. */
export type NewColumns =
  | native.AddColumnsSql[]
  | Field
  | Field[]
  | Schema
  | { computed: native.AddColumnsSql[] };

/** Returns the columns to add as the engine takes them. */
export function newColumnsOf(columns: NewColumns): NewColumn[] {
  const invalid = () => new Error("Invalid input type for addColumns");
  if (typeof columns !== "object" || columns === null) throw invalid();
  if ("computed" in columns) {
    return columns.computed.map(({ name, valueSql }) => ({ name, computed: valueSql }));
  }
  if ("fields" in columns) return columns.fields.map(columnOfField);
  if (!Array.isArray(columns)) {
    if (!isField(columns)) throw invalid();
    return [columnOfField(columns)];
  }
  return columns.map((column: Field | native.AddColumnsSql) => {
    if (isField(column)) return columnOfField(column);
    if (typeof column?.valueSql !== "string") throw invalid();
    return { name: column.name, expression: column.valueSql };
  });
}

const isField = (value: object): value is Field => "name" in value && "type" in value && "nullable" in value;

const columnOfField = ({ name, type, metadata }: Field): NewColumn => ({
  name,
  dataType: type,
  ...(metadata?.size > 0 && { metadata: Object.fromEntries(metadata) }),
});

/** Returns a function that reports the progress of a write. Errors of the callback go to the console. */
export function reportsOf(
  callback: (progress: WriteProgress) => void,
): (rows: number, done: boolean) => void {
  const begun = performance.now();
  return (rows, done) => {
    try {
      callback({
        outputRows: rows,
        outputBytes: 0,
        totalRows: rows,
        elapsedSeconds: (performance.now() - begun) / 1000,
        activeTasks: done ? 0 : 1,
        totalTasks: 1,
        done,
      });
    } catch (error) {
      console.warn("the callback for the progress of a write failed", error);
    }
  };
}

/** Returns row ids as unsigned 64-bit integers. */
export function rowIdsOf(rowIds: readonly (bigint | number)[]): bigint[] {
  return Array.from(listOf(rowIds, "rowIds"), (rowId) => {
    if (typeof rowId !== "bigint") {
      if (!Number.isInteger(rowId)) throw new Error("Row id must be an integer (or bigint)");
      if (rowId < 0) throw new Error("Row id cannot be negative");
      if (!Number.isSafeInteger(rowId)) throw new Error("Row id is too large for number; use bigint instead");
      return BigInt(rowId);
    }
    if (rowId < 0n) throw failure("Row id cannot be negative");
    if (rowId >= 1n << 64n) throw failure("Row id is too large to fit in u64");
    return rowId;
  });
}

/** JSON as a value; other text as it is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
