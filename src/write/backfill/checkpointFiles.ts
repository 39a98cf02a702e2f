/**
 * Files in the table's directory with values that a backfill has computed and not committed yet:
 *
 *   _tiltyard/checkpoints/<key>-<source>-<first>-<last>.lance   complete
 *   _tiltyard/checkpoints/<key>-<uuid>.tmp                      being written
 *
 * `key` and `source` are digests of 32 hex digits: of the work, and of the content of the fragment. They keep
 * values of different inputs apart. The file has two columns: the physical offsets of the rows, ascending
 * from `first` to `last`, and their values. A damaged or malformed file counts as absent, and its rows are
 * computed again. A finished job removes its files; a cleanup removes those of abandoned jobs.
 */

import { Field as ArrowField, Schema, Uint32 } from "apache-arrow";
import type { FixedColumn } from "../../arrow/columns/column.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { arrowFieldFromLogical, type LogicalField } from "../../arrow/types/logicalTypes.js";
import { concatWords } from "../../bytes/concatWords.js";
import { bytesOf } from "../../bytes/view.js";
import { ConcurrentModificationError, NamespaceError } from "../../errors.js";
import { isMissing } from "../../io/disk/errno.js";
import { join } from "../../platform/native.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { planNewColumns } from "../../rows/columnPlan.js";
import { planLeaves } from "../../rows/leafPlan.js";
import { columnsOfFile, openColumns } from "../../rows/openColumns.js";
import { STREAMED } from "../../rows/readAhead.js";
import { readColumns } from "../../rows/readColumns.js";
import { writeColumns } from "../../rows/writeColumns.js";
import { checkpointsDirectory } from "../../table/versions/paths.js";
import type { TableAt } from "../../table/versions/tableAt.js";
import { haveSameType } from "../functionOutputs.js";
import type { ComputedPart, ComputedRows } from "./computedRows.js";

/** A cleanup took a file for one of an abandoned backfill and removed it. Its rows must be computed again. */
export class CheckpointGoneError extends ConcurrentModificationError {}

/** A part that is saved in a file. */
export interface SavedPart extends ComputedPart {
  /** Name of the file. */
  readonly name: string;
  readonly offsets: Uint32Array;
  remove(): Promise<void>;
}

/** Offsets of the first and the last row of a range of a fragment. */
export interface OffsetSpan {
  readonly first: number;
  readonly last: number;
}

const NAME = /^([0-9a-f]{32})-([0-9a-f]{32})-(\d{1,10})-(\d{1,10})\.lance$/;
const FILE_VERSION = "2.2";
/** Attempts to write a file that cleanups remove meanwhile. */
const MAX_WRITES = 3;
const BATCH_ROWS = 8192;
const BATCH_BYTES = 16 * 1024 * 1024;

export class CheckpointFiles {
  readonly #table: TableAt<ReaderEnvironment>;
  readonly #directory: string;
  readonly #key: string;
  readonly #value: LogicalField;
  readonly #hold: () => Promise<void>;

  /** @param hold called before a file is written; throws if the table was replaced and must get no file */
  constructor(
    table: TableAt<ReaderEnvironment>,
    key: string,
    value: LogicalField,
    hold: () => Promise<void>,
  ) {
    this.#table = table;
    this.#directory = checkpointsDirectory(table.root);
    this.#key = key;
    this.#value = value;
    this.#hold = hold;
  }

  /**
   * Saves rows; the part survives a power cut when this resolves.
   * @throws CheckpointGoneError if cleanups keep removing the file
   */
  async save(source: string, rows: readonly ComputedRows[]): Promise<SavedPart> {
    const offsets = concatWords(rows.map((each) => each.offsets));
    for (let attempt = 1; ; attempt++) {
      await this.#hold();
      try {
        const name = await this.#write(source, rows, offsets);
        return this.#part(name, offsets);
      } catch (error) {
        if (!isMissing(error)) throw error;
        if (attempt < MAX_WRITES) continue;
        throw new CheckpointGoneError(`${this.#directory}: files were removed while they were written`, {
          cause: error,
        });
      }
    }
  }

  /** @returns name of the file */
  async #write(source: string, rows: readonly ComputedRows[], offsets: Uint32Array): Promise<string> {
    const { disk, root } = this.#table;
    await disk.makeDirectory(this.#directory, root);
    const schema = new Schema([
      new ArrowField("offset", new Uint32(), false),
      new ArrowField("value", arrowFieldFromLogical(this.#value, "value").type, true),
    ]);
    const [first, last] = [offsets[0], offsets[offsets.length - 1]];
    const name = `${this.#key}-${source}-${first}-${last}.lance`;
    const path = join(this.#directory, name);
    // A disk without renames shows no file before it is complete.
    const isDirect = disk.hasRename === false;
    const temporary = isDirect ? path : join(this.#directory, `${this.#key}-${crypto.randomUUID()}.tmp`);
    if (isDirect) await disk.remove(path);
    try {
      const { workers: pool } = this.#table.environment;
      await writeColumns(disk, temporary, planNewColumns(schema), batchesOf(rows), {
        version: FILE_VERSION,
        pool,
      });
      if (!isDirect) await disk.rename(temporary, path);
      await disk.syncDirectory(this.#directory);
      return name;
    } catch (error) {
      // The caller gets the first error; a file that can't be removed is an orphan.
      await disk.remove(temporary).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Returns the parts that earlier runs saved, ascending and without overlaps. Removes useless files.
   * @param span offsets of the first and the last row; parts that extend beyond them belong to other tasks.
   *   Default: the whole fragment
   */
  async recover(source: string, physicalRows: number, span?: OffsetSpan): Promise<SavedPart[]> {
    const savedParts: SavedPart[] = [];
    for (const name of await this.#names()) {
      const [, , ofSource, first, last] = NAME.exec(name) ?? [];
      if (ofSource !== source) continue;
      if (span !== undefined && (Number(first) < span.first || Number(last) > span.last)) continue;
      const path = join(this.#directory, name);
      const offsets = await this.#soundOffsets(path);
      const fits =
        offsets !== null &&
        offsets[0] === Number(first) &&
        offsets[offsets.length - 1] === Number(last) &&
        Number(last) < physicalRows;
      if (fits) savedParts.push(this.#part(name, offsets));
      else await this.#table.disk.remove(path);
    }
    // If two runs computed the same rows, the longer part wins.
    savedParts.sort((a, b) => a.first - b.first || b.last - a.last);
    const kept: SavedPart[] = [];
    for (const part of savedParts) {
      if (part.first > (kept.at(-1)?.last ?? -1)) kept.push(part);
      else await part.remove();
    }
    return kept;
  }

  /** Removes the files of the job: all, or the unfinished ones. */
  async removeAll(which: "all" | "temporary"): Promise<void> {
    const { disk } = this.#table;
    for (const name of await this.#names()) {
      if (which === "all" || name.endsWith(".tmp")) await disk.remove(join(this.#directory, name));
    }
    await disk.removeEmptyDirectory(this.#directory).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }

  async #names(): Promise<string[]> {
    const entries = (await this.#table.disk.list(this.#directory)) ?? [];
    return entries
      .filter(({ name, kind }) => kind === "file" && name.startsWith(`${this.#key}-`))
      .map(({ name }) => name);
  }

  #part(name: string, offsets: Uint32Array): SavedPart {
    const path = join(this.#directory, name);
    return {
      name,
      first: offsets[0],
      last: offsets[offsets.length - 1],
      rowCount: offsets.length,
      offsets,
      rows: () => this.#readThere(path),
      remove: () => this.#table.disk.remove(path),
    };
  }

  /** @throws CheckpointGoneError */
  async *#readThere(path: string): AsyncGenerator<ComputedRows> {
    try {
      yield* this.#read(path);
    } catch (error) {
      if ((await this.#table.disk.stat(path)) !== null) throw error;
      throw new CheckpointGoneError(`${path}: removed while it was needed`, { cause: error });
    }
  }

  /** Returns the offsets of a file that is readable to its end; null for any other. */
  async #soundOffsets(path: string): Promise<Uint32Array | null> {
    const parts: Uint32Array[] = [];
    let last = -1;
    try {
      for await (const { offsets } of this.#read(path)) {
        for (const offset of offsets) {
          if (offset <= last) return null;
          last = offset;
        }
        parts.push(offsets);
      }
    } catch (error) {
      if (!(error instanceof NamespaceError) && !isMissing(error)) throw error;
      return null;
    }
    return parts.length === 0 ? null : concatWords(parts);
  }

  async *#read(path: string): AsyncGenerator<ComputedRows> {
    const source = this.#table.environment;
    const file = await source.openDataFileOnce(path);
    const { fields, file: columns } = columnsOfFile(file);
    const [offset, value, ...others] = fields;
    const isOffset = offset?.type.kind === "int" && offset.type.bits === 32 && !offset.nullable;
    if (!isOffset || value === undefined || others.length > 0 || !haveSameType(value, this.#value)) return;
    const plan = planLeaves([[offset], [value]]);
    const stored = await openColumns([columns], plan.leaves);
    const span = { stored, start: 0, end: file.rowCount, skipped: null };
    const options = { batchRows: BATCH_ROWS, batchBytes: BATCH_BYTES, readAhead: STREAMED };
    for await (const { columns: read } of readColumns(source, plan, [span], options)) {
      const { values, length } = read[0] as FixedColumn;
      yield { offsets: new Uint32Array(values.slice().buffer, 0, length), column: read[1], memory: null };
    }
  }
}

async function* batchesOf(rows: readonly ComputedRows[]): AsyncGenerator<InputBatch> {
  for (const { offsets, column } of rows) {
    const values = bytesOf(offsets);
    const length = offsets.length;
    const offset: FixedColumn = { kind: "fixed", length, validity: null, byteWidth: 4, values };
    yield { columns: [offset, column], rowCount: length };
  }
}
