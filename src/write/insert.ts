/**
 * Rows into a table: the stream is written to data files first, then one commit makes them visible. Appending is
 * rebased over whatever was committed meanwhile where the conflict table allows it; a table that was only
 * declared is created by the first insert that gets there, and the others append.
 */

import type { Schema } from "apache-arrow";
import { type ArrowInput, openInput } from "../arrow/input.js";
import { ConcurrentModificationError, InternalError, UnsupportedError } from "../errors.js";
import { isFileVersion, unsupportedFileVersion } from "../file/container.js";
import type { FileVersion } from "../file/page.js";
import { Append, type DataFragment, Overwrite } from "../format/table.js";
import type { Disk } from "../io/disk.js";
import { PublishUncertainError } from "../io/publish.js";
import type { RowsInput } from "../namespace.js";
import {
  type CommittedVersion,
  commitCreation,
  commitTransaction,
  type TableEnvironment,
} from "../table/commit.js";
import { isSameManifest, type ManifestFile } from "../table/manifest.js";
import {
  dataDirectory,
  type NamingScheme,
  transactionsDirectory,
  versionsDirectory,
} from "../table/paths.js";
import { decodeSchema, encodeFileSchema, encodeSchema } from "../table/schema.js";
import { newTransaction } from "../table/transaction.js";
import { findLatestVersion, readManifestAt } from "../table/versions.js";
import { type ColumnPlan, checkVersion, planAppend, planNewSchema } from "./columnPlan.js";
import { type WrittenRows, writeRows } from "./dataFiles.js";

export interface InsertOptions {
  readonly mode: "Append" | "Overwrite";
  /** For a table that has no versions yet. */
  readonly newTable: { readonly version: FileVersion; readonly naming: NamingScheme };
  /** What to do where another writer creates the table first: fail by returning null, append, or replace its rows. */
  readonly onCreated: "fail" | "append" | "overwrite";
  /**
   * Called before a first version is committed, when all rows are written; what it throws ends the insert. Holds
   * the table's lock.
   */
  readonly beforeCreation?: () => Promise<void>;
  /** The directory is a new one that nobody else can know of. */
  readonly unshared?: boolean;
  /** Of one batch of IPC, uncompressed, and of an IPC file that comes in pieces. */
  readonly maxBatchBytes?: number;
  readonly signal?: AbortSignal;
}

export interface InsertedRows {
  readonly committed: CommittedVersion;
  readonly transactionId: string;
  readonly rowCount: number;
}

/** A version the rows are planned on; null where the insert creates the table. */
interface Base {
  readonly version: number;
  readonly file: ManifestFile;
}

/**
 * @param tableRoot directory of the table or branch
 * @param base the version the rows are planned on; null for a table without versions
 * @returns null where the table was created meanwhile and `onCreated` is `fail`
 */
export async function insertRows(
  environment: TableEnvironment,
  tableRoot: string,
  base: Base | null,
  data: RowsInput,
  options: InsertOptions,
): Promise<InsertedRows | null> {
  const version = base === null ? options.newTable.version : fileVersionOf(base.file);
  const input = await openInput(data, options.signal, options.maxBatchBytes);
  const rootBefore =
    base === null && options.unshared !== true ? await environment.disk.list(tableRoot) : null;
  let inserted: InsertedRows | null = null;
  try {
    const plan =
      base === null || options.mode === "Overwrite"
        ? planNewSchema(input.schema)
        : planAppend(decodeSchema(base.file.manifest.fields, base.file.path), input.schema);
    checkVersion(plan, version);
    const rows = await writeRows(environment.disk, tableRoot, plan, input, {
      version,
      descriptor: { fields: encodeFileSchema(plan.fields), metadata: metadataBytes(input.schema) },
      signal: options.signal,
    });
    inserted = await commitRows(environment, tableRoot, base, plan, rows, input, options);
    return inserted;
  } finally {
    await input.close();
    // A directory that was there and empty is the caller's; one that held a table and is empty is a dropped table's.
    if (inserted === null && rootBefore?.length !== 0)
      await removeEmptyRoot(environment.disk, tableRoot, base);
  }
}

/**
 * Takes away the directories of a table that came to nothing, or was dropped while its rows were written. Others
 * may be creating it at this moment: what they have put there stays, and what stays empty for a failure here is
 * no table either.
 */
export async function removeEmptyRoot(
  disk: Disk,
  tableRoot: string,
  base: { readonly file: Pick<ManifestFile, "path"> } | null,
): Promise<void> {
  if (base !== null && (await disk.stat(base.file.path).catch(() => null)) !== null) return;
  const inside = [dataDirectory(tableRoot), transactionsDirectory(tableRoot), versionsDirectory(tableRoot)];
  for (const directory of [...inside, tableRoot]) {
    await disk.removeEmptyDirectory(directory).catch(() => undefined);
  }
}

async function commitRows(
  environment: TableEnvironment,
  tableRoot: string,
  base: Base | null,
  plan: ColumnPlan,
  rows: WrittenRows,
  input: ArrowInput,
  options: InsertOptions,
): Promise<InsertedRows | null> {
  try {
    options.signal?.throwIfAborted();
    const inserted =
      base === null
        ? await createWith(environment, tableRoot, plan, rows, input, options)
        : options.mode === "Overwrite"
          ? await overwrite(environment, tableRoot, base, plan, rows, input, options)
          : await append(environment, tableRoot, base, rows, options);
    if (inserted === null) await rows.discard();
    return inserted;
  } catch (error) {
    // A version that may be there needs its files.
    if (!(error instanceof PublishUncertainError)) await rows.discard().catch(() => undefined);
    throw error;
  }
}

async function append(
  environment: TableEnvironment,
  tableRoot: string,
  base: Base,
  rows: WrittenRows,
  options: InsertOptions,
): Promise<InsertedRows> {
  const transaction = newTransaction(base.version, "append", Append.create({ fragments: rows.fragments }));
  const committed = await commitTransaction(environment, tableRoot, transaction, {
    signal: options.signal,
    verify: () => refuseReplaced(environment, tableRoot, base, rows),
  });
  return { committed, transactionId: transaction.uuid, rowCount: rows.rowCount };
}

async function overwrite(
  environment: TableEnvironment,
  tableRoot: string,
  base: Base,
  plan: ColumnPlan,
  rows: WrittenRows,
  input: ArrowInput,
  options: InsertOptions,
): Promise<InsertedRows> {
  const transaction = newTransaction(base.version, "overwrite", overwriteWith(plan, rows.fragments));
  const committed = await commitTransaction(environment, tableRoot, transaction, {
    schemaMetadata: metadataBytes(input.schema),
    signal: options.signal,
    verify: () => refuseReplaced(environment, tableRoot, base, rows),
  });
  return { committed, transactionId: transaction.uuid, rowCount: rows.rowCount };
}

async function createWith(
  environment: TableEnvironment,
  tableRoot: string,
  plan: ColumnPlan,
  rows: WrittenRows,
  input: ArrowInput,
  options: InsertOptions,
): Promise<InsertedRows | null> {
  const transaction = newTransaction(0, "overwrite", overwriteWith(plan, rows.fragments));
  const committed = await commitCreation(environment, tableRoot, transaction, {
    schemaMetadata: metadataBytes(input.schema),
    signal: options.signal,
    dataFormatVersion: options.newTable.version,
    scheme: options.newTable.naming,
    unshared: options.unshared,
    verify: async () => {
      await refuseReplaced(environment, tableRoot, null, rows);
      await options.beforeCreation?.();
    },
  });
  if (committed !== null) return { committed, transactionId: transaction.uuid, rowCount: rows.rowCount };
  if (options.onCreated === "fail") return null;
  return insertIntoCreated(environment, tableRoot, plan, rows, input, options);
}

/**
 * Another writer created the table while our files were written. They can replace its rows; they can be added to
 * them if its columns are ours.
 */
async function insertIntoCreated(
  environment: TableEnvironment,
  tableRoot: string,
  plan: ColumnPlan,
  rows: WrittenRows,
  input: ArrowInput,
  options: InsertOptions,
): Promise<InsertedRows> {
  const latest = await findLatestVersion(environment.disk, tableRoot);
  const file = latest && (await readManifestAt(environment, latest));
  if (latest === null || file === null) {
    throw new ConcurrentModificationError("the table was created by another writer and dropped again");
  }
  const created = { version: latest.version, file };
  if (options.onCreated === "overwrite") {
    if (fileVersionOf(file) !== options.newTable.version) {
      throw new ConcurrentModificationError(
        "the table was created by another writer in another data format; please retry",
      );
    }
    return overwrite(environment, tableRoot, created, plan, rows, input, options);
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
  return append(environment, tableRoot, created, rows, options);
}

/**
 * A table that was dropped while our rows were written took their files along, and one that was made anew under
 * its name counts its versions from 1 again: neither may be taken for the table the rows are meant for.
 * @throws ConcurrentModificationError
 */
async function refuseReplaced(
  environment: TableEnvironment,
  tableRoot: string,
  base: Base | null,
  rows: WrittenRows,
): Promise<void> {
  // A version that is gone while newer ones follow was cleaned up; the commit sees to those.
  const current = base && (await environment.manifests.read(environment.disk, base.file.path));
  const replaced = base !== null && current !== null && !isSameManifest(current, base.file);
  if (!replaced && (await rows.areInPlace())) return;
  throw new ConcurrentModificationError(
    `${tableRoot}: the table was dropped by another writer while the rows were written`,
  );
}

function overwriteWith(plan: ColumnPlan, fragments: DataFragment[]): Overwrite {
  return Overwrite.create({ fragments, schema: encodeSchema(plan.fields) });
}

function metadataBytes(schema: Schema): Map<string, Uint8Array> {
  const encoder = new TextEncoder();
  return new Map(Array.from(schema.metadata, ([key, value]) => [key, encoder.encode(value)]));
}

/**
 * The file version a table's manifest demands.
 * @throws UnsupportedError where it names none, or one that is not written
 */
export function fileVersionOf(file: ManifestFile): FileVersion {
  const version = file.manifest.dataFormat?.version;
  if (version === undefined) {
    throw new UnsupportedError(`${file.path}: writing to tables without a data format is not supported`);
  }
  if (!isFileVersion(version)) throw unsupportedFileVersion(version, file.path);
  return version;
}

/** The rows of an insert whose outcome can't be null. */
export function requireInserted(inserted: InsertedRows | null): InsertedRows {
  if (inserted === null)
    throw new InternalError("an insert that appends to what others create came to nothing");
  return inserted;
}
