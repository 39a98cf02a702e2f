/**
 * Writes files with new columns for existing rows: one file per fragment, with a value for every physical
 * row. The values of deleted rows are arbitrary. When a change is planned again on a newer version, the files
 * of unchanged fragments are reused.
 */

import { countedBatches } from "../../arrow/exchange/countedBatches.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { arrowSchemaOf } from "../../arrow/types/logicalTypes.js";
import { mapParallel } from "../../async/parallel.js";
import type { WorkerPool } from "../../async/workerPool.js";
import { ConcurrentModificationError, InternalError, UnsupportedError } from "../../errors.js";
import type { FileVersion } from "../../file/container/page.js";
import { MAX_BARE_FILE_ROWS, type WriterOptions } from "../../file/writing/writer.js";
import type { DataFile, DataFragment } from "../../format/table.js";
import { DROPPED_FIELD } from "../../format/table.js";
import type { ColumnPlan } from "../../rows/columnPlan.js";
import type { TableField } from "../../schema/schema.js";
import { encodeFileSchema } from "../../schema/schemaEncoder.js";
import { physicalRowCount } from "../../table/fragments/tableStatistics.js";
import type { VersionsAt } from "../../table/versions/versions.js";
import { type WrittenRows, writeRows } from "../dataFiles.js";
import { planAppend } from "../tableColumns.js";

/** Threads encode and write one file while this thread computes the values of another. */
const FRAGMENTS_AT_ONCE = 2;

/** Columns to write. */
export interface NewColumns extends Pick<WriterOptions, "lastPageBytes"> {
  /** Top-level fields, pruned to the leaves to write. */
  readonly fields: readonly TableField[];
  /** Ids of the fields to write. Default: all. */
  readonly fieldIds?: ReadonlySet<number>;
  /** Identifies the values, so that they are written once: equal texts mean equal values. */
  readonly key: string;
  /** Returns the values for all physical rows of a fragment, one column for each of the fields. */
  readonly rowsOf: (fragment: DataFragment) => AsyncIterable<InputBatch>;
}

export interface ColumnFilesOptions {
  readonly signal: AbortSignal | undefined;
  /** Threads that encode pages. Default: pages are encoded in line. */
  readonly pool?: WorkerPool;
  /** Called with the number of rows written, and the number that {@link ColumnFiles.begin} announced. */
  readonly onRows?: (done: number, total: number) => void;
}

export class ColumnFiles {
  readonly #table: VersionsAt;
  readonly #options: ColumnFilesOptions;
  #doneRows = 0;
  #totalRows = 0;
  readonly #written = new Map<string, { readonly rows: WrittenRows; readonly files: readonly DataFile[] }>();

  /** @param table the table or branch */
  constructor(table: VersionsAt, options: ColumnFilesOptions) {
    this.#table = table;
    this.#options = options;
  }

  /** Announces the fragments that a new plan gives columns to. */
  begin(fragments: readonly DataFragment[]): void {
    this.#doneRows = 0;
    this.#totalRows = physicalRowCount(fragments);
    this.#options.onRows?.(0, this.#totalRows);
  }

  /**
   * Adds the columns to fragments, in files of their own. If another file already has a column, that file no
   * longer names it.
   * @throws UnsupportedError for fragments with no rows, or with more rows than a file takes
   */
  async addTo(
    fragments: readonly DataFragment[],
    columns: NewColumns,
    version: FileVersion,
  ): Promise<DataFragment[]> {
    const { signal } = this.#options;
    const failures = new Map<number, unknown>();
    const addToOne = async (fragment: DataFragment, index: number): Promise<DataFragment> => {
      if (failures.size > 0) return fragment;
      try {
        return await this.#addToOne(fragment, columns, version);
      } catch (error) {
        failures.set(index, error);
        return fragment;
      }
    };
    const added = await mapParallel(fragments, FRAGMENTS_AT_ONCE, addToOne, signal);
    // The first fragment that fails counts, even if a later one failed sooner.
    if (failures.size > 0) throw failures.get(Math.min(...failures.keys()));
    return added;
  }

  async #addToOne(fragment: DataFragment, columns: NewColumns, version: FileVersion): Promise<DataFragment> {
    const { onRows } = this.#options;
    let told = 0;
    const tell = (rowCount: number): void => {
      this.#doneRows += rowCount - told;
      told = rowCount;
      onRows?.(this.#doneRows, this.#totalRows);
    };
    const newFiles = await this.#filesFor(fragment, columns, version, tell);
    tell(fragment.physicalRows);
    const { files: others } = withoutFields(fragment, new Set(newFiles.flatMap((file) => file.fields)));
    return { ...fragment, files: [...others, ...newFiles] };
  }

  async #filesFor(
    fragment: DataFragment,
    columns: NewColumns,
    version: FileVersion,
    onRows: (rowCount: number) => void,
  ): Promise<readonly DataFile[]> {
    if (fragment.physicalRows < 1 || fragment.physicalRows > MAX_BARE_FILE_ROWS) {
      throw new UnsupportedError(
        `fragment ${fragment.id}: columns can be written for 1 to ${MAX_BARE_FILE_ROWS} rows, not for ${fragment.physicalRows}`,
      );
    }
    // Deletions are part of the key: a file may lack the values of rows that were deleted when it was
    // written.
    const deletions = fragment.deletionFile && [
      fragment.deletionFile.readVersion,
      String(fragment.deletionFile.id),
    ];
    const paths = fragment.files.map((file) => file.path);
    const key = JSON.stringify([columns.key, fragment.id, paths, deletions]);
    const before = this.#written.get(key);
    if (before !== undefined) return before.files;
    const { disk, root } = this.#table;
    const plan = planColumns(columns, version);
    const { pool, signal } = this.#options;
    const rows = await writeRows(disk, root, plan, countedBatches(columns.rowsOf(fragment), onRows), {
      version,
      descriptor: { fields: encodeFileSchema(columns.fields), metadata: new Map() },
      within: root,
      fileRows: fragment.physicalRows,
      expectedRows: fragment.physicalRows,
      lastPageBytes: columns.lastPageBytes,
      ...{ pool, signal },
    });
    if (rows.fragments.length !== 1 || rows.rowCount !== fragment.physicalRows) {
      await rows.discard();
      throw new InternalError(
        `fragment ${fragment.id} has ${fragment.physicalRows} rows and got ${rows.rowCount} values`,
      );
    }
    const [{ files }] = rows.fragments;
    this.#written.set(key, { rows, files });
    return files;
  }

  /** @throws ConcurrentModificationError if the files were removed together with their table */
  async requireInPlace(): Promise<void> {
    for (const { rows } of this.#written.values()) {
      if (await rows.areInPlace()) continue;
      throw new ConcurrentModificationError(
        `${this.#table.root}: the table was dropped by another writer while columns were written`,
      );
    }
  }

  /** Takes over files for the same table or branch, to reuse them where they fit. */
  adopt(others: ColumnFiles): void {
    for (const [key, written] of others.#written) this.#written.set(key, written);
    others.#written.clear();
  }

  /** Removes the written files, except those that the fragments name. */
  async discard(fragments: readonly DataFragment[] = []): Promise<void> {
    const used = new Set(fragments.flatMap((fragment) => fragment.files.map((file) => file.path)));
    for (const { rows, files } of this.#written.values()) {
      if (!files.some(({ path }) => used.has(path))) await rows.discard();
    }
  }
}

/** Returns a fragment whose files no longer name some fields. */
export function withoutFields(fragment: DataFragment, ids: ReadonlySet<number>): DataFragment {
  const files = fragment.files.map((file) =>
    file.fields.some((id) => ids.has(id))
      ? { ...file, fields: file.fields.map((id) => (ids.has(id) ? DROPPED_FIELD : id)) }
      : file,
  );
  return { ...fragment, files };
}

function planColumns({ fields, fieldIds }: NewColumns, version: FileVersion): ColumnPlan {
  const plan = planAppend(fields, arrowSchemaOf(fields), version);
  if (fieldIds === undefined) return plan;
  return { ...plan, columns: plan.columns.filter((column) => fieldIds.has(column.target.fieldId)) };
}
