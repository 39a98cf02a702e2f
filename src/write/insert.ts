/**
 * Inserts rows into a table: writes the stream to data files and publishes them with one commit. If other
 * writers commit meanwhile, an append is rebased where the conflict table allows it. The first insert into a
 * declared table creates it; later ones append.
 */

import type { Schema } from "apache-arrow";
import { countedBatches } from "../arrow/exchange/countedBatches.js";
import { type InputBounds, openInput } from "../arrow/exchange/input.js";
import { arrowSchemaOf } from "../arrow/types/logicalTypes.js";
import type { WorkerPool } from "../async/workerPool.js";
import { ConcurrentModificationError, InternalError } from "../errors.js";
import type { FileVersion } from "../file/container/page.js";
import { Append, type DataFragment, Overwrite } from "../format/table.js";
import type { RowsInput } from "../namespace/rows.js";
import type { ColumnPlan } from "../rows/columnPlan.js";
import { resolveField } from "../schema/fieldPaths.js";
import { decodeSchema } from "../schema/schema.js";
import { encodeFileSchema, encodeSchema } from "../schema/schemaEncoder.js";
import { commitCreation, commitTransaction } from "../table/commit/commit.js";
import { withFiles } from "../table/commit/publication.js";
import { newTransaction } from "../table/commit/transaction.js";
import type { AcceptedLogs } from "../table/versions/bufferedRows.js";
import { hasStableRowIds } from "../table/versions/flags.js";
import { type TableAnchor, TableReplacedError } from "../table/versions/identity.js";
import { findLatestVersion } from "../table/versions/latestVersion.js";
import type { ManifestFile } from "../table/versions/manifest.js";
import { openVersion } from "../table/versions/openVersion.js";
import {
  dataDirectory,
  type NamingScheme,
  transactionsDirectory,
  versionsDirectory,
} from "../table/versions/paths.js";
import type { OpenLatest, OpenVersion, TableAt } from "../table/versions/tableAt.js";
import type { VersionsAt } from "../table/versions/versions.js";
import type { AppendGroups } from "./appendGroups.js";
import { fileVersionOf, WriteMeter, type WrittenRows, writeRows } from "./dataFiles.js";
import { planAppend, planNewSchema } from "./tableColumns.js";

/** Formats that are chosen when a table is created. */
export interface NewTableForm {
  readonly version: FileVersion;
  readonly naming: NamingScheme;
  /** True if rows keep their ids when they move. */
  readonly stableRowIds?: boolean;
}

export interface InsertOptions {
  readonly mode: "Append" | "Overwrite";
  /** Formats of a table that has no versions yet. */
  readonly newTable: NewTableForm;
  /** Paths of columns that the rows must have if they define the table's columns. */
  readonly key?: readonly string[];
  /** Reaction to another writer that creates the table first: return null, append, or replace its rows. */
  readonly onCreated: "fail" | "append" | "overwrite";
  /** Called once the columns fit, before any write; true if it made the table's directory. May throw. */
  readonly beforeRows?: () => Promise<boolean>;
  /** Called under the table's lock right before the first version is committed. May throw. */
  readonly beforeCreation?: () => Promise<void>;
  /** Logs that a replaced table may have. Default: none. */
  readonly logs?: AcceptedLogs;
  /** True if the directory is new and no other process knows it. */
  readonly unshared?: boolean;
  readonly bounds?: InputBounds;
  /** All columns of rows that come as objects. Default: the columns of the existing table. */
  readonly schema?: Schema;
  /** Called with the number of rows written so far, once more when all files are complete. */
  readonly onRows?: TellWriting | undefined;
  /** Joins this append with others that wait. Default: it is a version of its own. */
  readonly groups?: AppendGroups | undefined;
  /** Threads that encode pages. Default: pages are encoded in line. */
  readonly pool?: WorkerPool;
  readonly signal?: AbortSignal;
}

/** Receives the number of rows written so far, and the state of the write. */
export type TellWriting = (rowCount: number, state: WriteState) => void;

/** State of a write. */
export interface WriteState {
  readonly bytesWritten: number;
  readonly activeTasks: number;
  readonly totalTasks: number;
}

export interface InsertedRows {
  readonly committed: OpenVersion;
  readonly transactionId: string;
  readonly rowCount: number;
}

/**
 * @param anchor state of the table that the insert is planned on
 * @returns null if another writer created the table and `onCreated` is `fail`
 */
export async function insertRows(
  table: TableAt,
  anchor: TableAnchor,
  data: RowsInput,
  options: InsertOptions,
): Promise<InsertedRows | null> {
  const base = anchor.kind === "version" ? anchor.base : null;
  const version = base === null ? options.newTable.version : fileVersionOf(base.file);
  const input = await openInput(data, options.signal, options.bounds, {
    schema: options.schema,
    tableSchema: () => (base === null || options.mode === "Overwrite" ? null : arrowSchemaOfTable(base.file)),
  });
  const isNew = anchor.kind === "absent";
  const meter = new WriteMeter();
  const { onRows, pool } = options;
  const tell = onRows && ((rowCount: number) => onRows(rowCount, writeState(meter, pool)));
  let inserted: InsertedRows | null = null;
  /** True if a failed insert removes the directory. One that existed before belongs to the caller. */
  let isOurs = false;
  try {
    const plan =
      base === null || options.mode === "Overwrite"
        ? planNewSchema(input.schema, version)
        : planAppend(decodeSchema(base.file.manifest.fields, base.file.path), input.schema, version);
    for (const path of options.key ?? []) resolveField(plan.fields, path);
    const isMade = (await options.beforeRows?.()) ?? options.unshared;
    isOurs = isNew && (isMade === true || (await table.disk.list(table.root))?.length !== 0);
    const rows = await writeRows(table.disk, table.root, plan, countedBatches(input.batches, tell), {
      version,
      descriptor: { fields: encodeFileSchema(plan.fields), metadata: metadataBytes(input.schema) },
      within: isNew ? undefined : table.root,
      base: base?.file.manifest,
      maxDecodedBytes: options.bounds?.maxBatchBytes,
      memory: options.bounds?.memory,
      meter,
      pool,
      signal: options.signal,
    });
    const written = { plan, rows, schema: input.schema, options };
    inserted = await withFiles(
      () => rows.discard(),
      async () => {
        tell?.(rows.rowCount);
        options.signal?.throwIfAborted();
        return anchor.kind === "version"
          ? commitOver(anchor.base, written, options.mode)
          : createWith(table, anchor, written);
      },
    );
    return inserted;
  } finally {
    await input.close();
    if (inserted === null && isOurs) await removeEmptyRoot(table);
  }
}

function writeState(meter: WriteMeter, pool: WorkerPool | undefined): WriteState {
  const totalTasks = Math.max(1, pool?.size ?? 0);
  const activeTasks = Math.min(totalTasks, Math.max(1, pool?.busyCount ?? 0));
  return { bytesWritten: meter.byteLength, activeTasks, totalTasks };
}

/** Returns the columns of a version as an Arrow schema, which converts rows that come as objects. */
export const arrowSchemaOfTable = ({ manifest, path }: ManifestFile): Schema =>
  arrowSchemaOf(decodeSchema(manifest.fields, path));

/** Removes the directories of a table that was not created. Other writers may have files in them. */
export async function removeEmptyRoot({ disk, root }: VersionsAt): Promise<void> {
  const inside = [dataDirectory(root), transactionsDirectory(root), versionsDirectory(root)];
  for (const directory of [...inside, root]) {
    await disk.removeEmptyDirectory(directory).catch(() => undefined);
  }
}

/** Rows of an insert that are written and not committed. */
interface WrittenInsert {
  readonly plan: ColumnPlan;
  readonly rows: WrittenRows;
  /** Schema of the input. */
  readonly schema: Schema;
  readonly options: InsertOptions;
}

async function commitOver(
  base: OpenLatest,
  { plan, rows, schema, options }: WrittenInsert,
  mode: InsertOptions["mode"],
): Promise<InsertedRows> {
  const isOverwrite = mode === "Overwrite";
  const verify = () => requireInPlace(base.table, rows);
  const { groups, signal } = options;
  // A message describes one insert.
  if (groups !== undefined && !isOverwrite && base.table.environment.commitMessage === undefined) {
    const { committed, transaction } = await groups.commit({
      base,
      fragments: rows.fragments,
      verify,
      signal,
    });
    return { committed, transactionId: transaction.uuid, rowCount: rows.rowCount };
  }
  const transaction = isOverwrite
    ? newTransaction(base.version, "overwrite", overwriteWith(plan, rows.fragments))
    : newTransaction(base.version, "append", Append.create({ fragments: rows.fragments }));
  const committed = await commitTransaction(base, transaction, {
    schemaMetadata: isOverwrite ? metadataBytes(schema) : undefined,
    logs: options.logs,
    signal,
    verify,
  });
  return { committed, transactionId: transaction.uuid, rowCount: rows.rowCount };
}

async function createWith(
  table: TableAt,
  anchor: TableAnchor,
  written: WrittenInsert,
): Promise<InsertedRows | null> {
  const { plan, rows, schema, options } = written;
  const transaction = newTransaction(0, "overwrite", overwriteWith(plan, rows.fragments));
  const committed = await commitCreation(table, anchor, transaction, {
    schemaMetadata: metadataBytes(schema),
    signal: options.signal,
    dataFormatVersion: options.newTable.version,
    stableRowIds: options.newTable.stableRowIds,
    scheme: options.newTable.naming,
    unshared: options.unshared,
    // Writing rows makes the directory.
    directoryExists: rows.fragments.length > 0,
    verify: async () => {
      await requireInPlace(table, rows);
      await options.beforeCreation?.();
    },
  });
  if (committed !== null) return { committed, transactionId: transaction.uuid, rowCount: rows.rowCount };
  return options.onCreated === "fail" ? null : insertIntoCreated(table, written);
}

/** Replaces the rows of a table that another writer created meanwhile, or appends to them. */
async function insertIntoCreated(table: TableAt, written: WrittenInsert): Promise<InsertedRows> {
  const { plan, schema, options } = written;
  const latest = await findLatestVersion(table);
  const created = latest && (await openVersion(table, latest));
  if (created === null) {
    throw new ConcurrentModificationError("the table was created by another writer and dropped again");
  }
  const { file } = created;
  const { version, stableRowIds = false } = options.newTable;
  if (options.onCreated === "overwrite") {
    if (fileVersionOf(file) !== version || (stableRowIds && !hasStableRowIds(file.manifest))) {
      throw new ConcurrentModificationError(
        "the table was created by another writer in another data format; please retry",
      );
    }
    return commitOver(created, written, "Overwrite");
  }
  const theirs = planAppend(decodeSchema(file.manifest.fields, file.path), schema, version);
  const fits =
    fileVersionOf(file) === version &&
    theirs.columns.length === plan.columns.length &&
    theirs.columns.every(({ target, conversion }, index) => {
      const ours = plan.columns[index];
      return (
        target.fieldId === ours.target.fieldId &&
        conversion === ours.conversion &&
        (target.nullable || !ours.target.nullable)
      );
    });
  if (!fits) {
    throw new ConcurrentModificationError(
      "the table was created by another writer with other columns; please retry",
    );
  }
  return commitOver(created, written, "Append");
}

/**
 * Checks that the files still exist: dropping the table while the rows were written removes them.
 * @throws TableReplacedError
 */
async function requireInPlace({ root }: VersionsAt, rows: WrittenRows): Promise<void> {
  if (!(await rows.areInPlace())) throw new TableReplacedError(root);
}

function overwriteWith(plan: ColumnPlan, fragments: DataFragment[]): Overwrite {
  return Overwrite.create({ fragments, schema: encodeSchema(plan.fields) });
}

function metadataBytes(schema: Schema): Map<string, Uint8Array> {
  const encoder = new TextEncoder();
  return new Map(Array.from(schema.metadata, ([key, value]) => [key, encoder.encode(value)]));
}

/** Returns the result of an insert that can't be null. */
export function requireInserted(inserted: InsertedRows | null): InsertedRows {
  if (inserted === null)
    throw new InternalError(
      "the insert lost every race against writers that create and drop the table; please retry",
    );
  return inserted;
}
