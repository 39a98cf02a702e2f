/**
 * Files with columns for rows that are in a table already: one for every fragment that gets them, with a value for
 * every physical row; those of deleted rows mean nothing. When a change is planned again on a newer version, the files of
 * fragments that are as they were are used again.
 */

import type { ArrowInput, InputBatch } from "../../arrow/exchange/input.js";
import { arrowSchemaOf } from "../../arrow/types/logicalTypes.js";
import { ConcurrentModificationError, InternalError, UnsupportedError } from "../../errors.js";
import type { FileVersion } from "../../file/container/page.js";
import { MAX_BARE_FILE_ROWS } from "../../file/writing/writer.js";
import type { DataFile, DataFragment } from "../../format/table.js";
import type { Disk } from "../../io/disk/disk.js";
import { encodeFileSchema, type TableField } from "../../schema/schema.js";
import { type ColumnPlan, checkVersion, planAppend } from "../columnPlan.js";
import { type WrittenRows, writeRows } from "../dataFiles.js";

/** Columns to write. */
export interface NewColumns {
  /** Top-level fields, of which only those to write have leaves. */
  readonly fields: readonly TableField[];
  /** Fields to write; all where it is not given. */
  readonly fieldIds?: ReadonlySet<number>;
  /** What is written, so that it is not written twice: the same text means the same values. */
  readonly key: string;
  /** Values for all physical rows of a fragment, a column for each of the fields. */
  readonly rowsOf: (fragment: DataFragment) => AsyncIterable<InputBatch>;
}

export class ColumnFiles {
  readonly #disk: Disk;
  readonly #tableRoot: string;
  readonly #signal: AbortSignal | undefined;
  readonly #written = new Map<string, { readonly rows: WrittenRows; readonly files: readonly DataFile[] }>();

  /** @param tableRoot directory of the table or branch */
  constructor(disk: Disk, tableRoot: string, signal: AbortSignal | undefined) {
    this.#disk = disk;
    this.#tableRoot = tableRoot;
    this.#signal = signal;
  }

  /**
   * The fragments with the columns, in files of their own. Where a column is in another file already, that file
   * no longer names it.
   * @throws UnsupportedError for fragments of more rows than a file takes
   */
  async addTo(
    fragments: readonly DataFragment[],
    columns: NewColumns,
    version: FileVersion,
  ): Promise<DataFragment[]> {
    const added: DataFragment[] = [];
    for (const fragment of fragments) {
      this.#signal?.throwIfAborted();
      const own = await this.#filesFor(fragment, columns, version);
      const moved = new Set(own.flatMap((file) => file.fields));
      const others = fragment.files.map((old) =>
        old.fields.some((id) => moved.has(id))
          ? { ...old, fields: old.fields.map((id) => (moved.has(id) ? DROPPED_FIELD : id)) }
          : old,
      );
      added.push({ ...fragment, files: [...others, ...own] });
    }
    return added;
  }

  async #filesFor(
    fragment: DataFragment,
    columns: NewColumns,
    version: FileVersion,
  ): Promise<readonly DataFile[]> {
    if (fragment.physicalRows < 1 || fragment.physicalRows > MAX_BARE_FILE_ROWS) {
      throw new UnsupportedError(
        `fragment ${fragment.id}: columns can be written for 1 to ${MAX_BARE_FILE_ROWS} rows, not for ${fragment.physicalRows}`,
      );
    }
    // Rows that are deleted may not have their values in the file.
    const deletions = fragment.deletionFile && [
      fragment.deletionFile.readVersion,
      String(fragment.deletionFile.id),
    ];
    const paths = fragment.files.map((file) => file.path);
    const key = JSON.stringify([columns.key, fragment.id, paths, deletions]);
    const before = this.#written.get(key);
    if (before !== undefined) return before.files;
    const plan = planColumns(columns, version);
    const rows = await writeRows(this.#disk, this.#tableRoot, plan, inputOf(columns, fragment), {
      version,
      descriptor: { fields: encodeFileSchema(columns.fields), metadata: new Map() },
      within: this.#tableRoot,
      fileRows: fragment.physicalRows,
      signal: this.#signal,
    });
    if (rows.fragments.length !== 1 || rows.rowCount !== fragment.physicalRows) {
      await rows.discard();
      throw new InternalError(
        `fragment ${fragment.id}: ${rows.rowCount} values for ${fragment.physicalRows} rows`,
      );
    }
    const [{ files }] = rows.fragments;
    this.#written.set(key, { rows, files });
    return files;
  }

  /** @throws ConcurrentModificationError where files are gone, with the table they were written to */
  async requireInPlace(): Promise<void> {
    for (const { rows } of this.#written.values()) {
      if (await rows.areInPlace()) continue;
      throw new ConcurrentModificationError(
        `${this.#tableRoot}: the table was dropped by another writer while columns were written`,
      );
    }
  }

  /** Removes what was written but for the files that the fragments name. */
  async discard(fragments: readonly DataFragment[] = []): Promise<void> {
    const used = new Set(fragments.flatMap((fragment) => fragment.files.map((file) => file.path)));
    for (const { rows, files } of this.#written.values()) {
      if (!files.some(({ path }) => used.has(path))) await rows.discard();
    }
  }
}

/** Stands in a file's list of fields for one that is elsewhere. */
const DROPPED_FIELD = -2;

function planColumns({ fields, fieldIds }: NewColumns, version: FileVersion): ColumnPlan {
  const plan = planAppend(fields, arrowSchemaOf(fields));
  checkVersion(plan, version);
  if (fieldIds === undefined) return plan;
  return { ...plan, columns: plan.columns.filter((column) => fieldIds.has(column.target.fieldId)) };
}

function inputOf({ fields, rowsOf }: NewColumns, fragment: DataFragment): ArrowInput {
  return { schema: arrowSchemaOf(fields), batches: rowsOf(fragment), close: async () => undefined };
}
