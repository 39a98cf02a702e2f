/**
 * Inserts rows into a table: writes the stream to data files and publishes them with one commit. If other
 * writers commit meanwhile, an append is rebased where the conflict table allows it. The first insert into a
 * declared table creates it; later ones append.
 */

import type { Schema } from "apache-arrow";
import { countedInput } from "../arrow/exchange/countedInput.js";
import { type ArrowInput, type InputBounds, openInput } from "../arrow/exchange/input.js";
import { arrowSchemaOf } from "../arrow/types/logicalTypes.js";
import type { WorkerPool } from "../async/workerPool.js";
import { ConcurrentModificationError, InternalError, UnsupportedError } from "../errors.js";
import { isFileVersion, unsupportedFileVersion } from "../file/container/container.js";
import type { FileVersion } from "../file/container/page.js";
import { Append, type DataFragment, Overwrite } from "../format/table.js";
import type { RowsInput } from "../namespace/rows.js";
import { type ColumnPlan, checkVersion } from "../rows/columnPlan.js";
import { resolveField } from "../schema/fieldPaths.js";
import { decodeSchema, encodeFileSchema, encodeSchema } from "../schema/schema.js";
import { commitCreation, commitTransaction } from "../table/commit/commit.js";
import { withFiles } from "../table/commit/publication.js";
import { newTransaction } from "../table/commit/transaction.js";
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
import { type WrittenRows, writeRows } from "./dataFiles.js";
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
  /**
   * Called once the columns fit, before anything is written; returns true if it made the table's directory.
   * An error ends the insert.
   */
  readonly beforeRows?: () => Promise<boolean>;
  /**
   * Called under the table's lock once all rows are written, before the first version is committed. An error
   * ends the insert.
   */
  readonly beforeCreation?: () => Promise<void>;
  /** True if the directory is new and no other process knows it. */
  readonly unshared?: boolean;
  readonly bounds?: InputBounds;
  /** All columns of rows that come as objects. Default: the columns of the existing table. */
  readonly schema?: Schema;
  /** Called with the number of rows written so far. */
  readonly onRows?: (rowCount: number) => void;
  /** Threads that encode pages. Default: pages are encoded in line. */
  readonly pool?: WorkerPool;
  readonly signal?: AbortSignal;
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
  let inserted: InsertedRows | null = null;
  /**
   * True if a failed insert removes the table's directory. A directory that existed before, even an empty
   * one, belongs to the caller.
   */
  let isOurs = false;
  try {
    const plan =
      base === null || options.mode === "Overwrite"
        ? planNewSchema(input.schema)
        : planAppend(decodeSchema(base.file.manifest.fields, base.file.path), input.schema);
    checkVersion(plan, version);
    for (const path of options.key ?? []) resolveField(plan.fields, path);
    const isMade = (await options.beforeRows?.()) ?? options.unshared;
    isOurs = isNew && (isMade === true || (await table.disk.list(table.root))?.length !== 0);
    const rows = await writeRows(table.disk, table.root, plan, countedInput(input, options.onRows), {
      version,
      descriptor: { fields: encodeFileSchema(plan.fields), metadata: metadataBytes(input.schema) },
      within: isNew ? undefined : table.root,
      base: base?.file.manifest,
      maxDecodedBytes: options.bounds?.maxBatchBytes,
      memory: options.bounds?.memory,
      pool: options.pool,
      signal: options.signal,
    });
    inserted = await commitRows(table, anchor, plan, rows, input, options);
    return inserted;
  } finally {
    await input.close();
    if (inserted === null && isOurs) await removeEmptyRoot(table);
  }
}

/** Returns the columns of a version as an Arrow schema, which converts rows that come as objects. */
export const arrowSchemaOfTable = ({ manifest, path }: ManifestFile): Schema =>
  arrowSchemaOf(decodeSchema(manifest.fields, path));

/**
 * Removes the directories of a table that was not created. Other writers may be creating the table, so their
 * files stay. An empty directory that remains after a failure is not a table.
 */
async function removeEmptyRoot({ disk, root }: VersionsAt): Promise<void> {
  const inside = [dataDirectory(root), transactionsDirectory(root), versionsDirectory(root)];
  for (const directory of [...inside, root]) {
    await disk.removeEmptyDirectory(directory).catch(() => undefined);
  }
}

function commitRows(
  table: TableAt,
  anchor: TableAnchor,
  plan: ColumnPlan,
  rows: WrittenRows,
  input: ArrowInput,
  options: InsertOptions,
): Promise<InsertedRows | null> {
  return withFiles(
    () => rows.discard(),
    async () => {
      options.signal?.throwIfAborted();
      if (anchor.kind !== "version") {
        return createWith(table, anchor, plan, rows, input, options);
      }
      return options.mode === "Overwrite"
        ? overwrite(anchor.base, plan, rows, input, options)
        : append(anchor.base, rows, options);
    },
  );
}

async function append(base: OpenLatest, rows: WrittenRows, options: InsertOptions): Promise<InsertedRows> {
  const transaction = newTransaction(base.version, "append", Append.create({ fragments: rows.fragments }));
  const committed = await commitTransaction(base, transaction, {
    signal: options.signal,
    verify: () => requireInPlace(base.table, rows),
  });
  return { committed, transactionId: transaction.uuid, rowCount: rows.rowCount };
}

async function overwrite(
  base: OpenLatest,
  plan: ColumnPlan,
  rows: WrittenRows,
  input: ArrowInput,
  options: InsertOptions,
): Promise<InsertedRows> {
  const transaction = newTransaction(base.version, "overwrite", overwriteWith(plan, rows.fragments));
  const committed = await commitTransaction(base, transaction, {
    schemaMetadata: metadataBytes(input.schema),
    signal: options.signal,
    verify: () => requireInPlace(base.table, rows),
  });
  return { committed, transactionId: transaction.uuid, rowCount: rows.rowCount };
}

async function createWith(
  table: TableAt,
  anchor: TableAnchor,
  plan: ColumnPlan,
  rows: WrittenRows,
  input: ArrowInput,
  options: InsertOptions,
): Promise<InsertedRows | null> {
  const transaction = newTransaction(0, "overwrite", overwriteWith(plan, rows.fragments));
  const committed = await commitCreation(table, anchor, transaction, {
    schemaMetadata: metadataBytes(input.schema),
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
  if (options.onCreated === "fail") return null;
  return insertIntoCreated(table, plan, rows, input, options);
}

/**
 * Handles a table that another writer created while our files were written. Our rows replace its rows, or are
 * appended if the columns are equal.
 */
async function insertIntoCreated(
  table: TableAt,
  plan: ColumnPlan,
  rows: WrittenRows,
  input: ArrowInput,
  options: InsertOptions,
): Promise<InsertedRows> {
  const latest = await findLatestVersion(table);
  const created = latest && (await openVersion(table, latest));
  if (created === null) {
    throw new ConcurrentModificationError("the table was created by another writer and dropped again");
  }
  const { file } = created;
  if (options.onCreated === "overwrite") {
    const { version, stableRowIds = false } = options.newTable;
    if (fileVersionOf(file) !== version || (stableRowIds && !hasStableRowIds(file.manifest))) {
      throw new ConcurrentModificationError(
        "the table was created by another writer in another data format; please retry",
      );
    }
    return overwrite(created, plan, rows, input, options);
  }
  const theirs = planAppend(decodeSchema(file.manifest.fields, file.path), input.schema);
  const fits =
    fileVersionOf(file) === options.newTable.version &&
    theirs.columns.length === plan.columns.length &&
    theirs.columns.every(
      (column, index) =>
        column.target.fieldId === plan.columns[index].target.fieldId &&
        column.conversion === plan.columns[index].conversion &&
        (column.target.nullable || !plan.columns[index].target.nullable),
    );
  if (!fits) {
    throw new ConcurrentModificationError(
      "the table was created by another writer with other columns; please retry",
    );
  }
  return append(created, rows, options);
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

/**
 * Returns the version of data files that the table's manifest demands.
 * @throws UnsupportedError if the manifest names none, or one that this build does not write
 */
export function fileVersionOf(file: ManifestFile): FileVersion {
  const version = file.manifest.dataFormat?.version;
  if (version === undefined) {
    throw new UnsupportedError(`${file.path}: writing to tables without a data format is not supported`);
  }
  if (!isFileVersion(version)) throw unsupportedFileVersion(version, file.path);
  return version;
}

/** Returns the result of an insert that can't be null. */
export function requireInserted(inserted: InsertedRows | null): InsertedRows {
  if (inserted === null)
    throw new InternalError("an insert that appends to what others create came to nothing");
  return inserted;
}
