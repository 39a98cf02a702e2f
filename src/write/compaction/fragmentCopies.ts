/**
 * Copies fragments for a compaction: merges groups of neighbours, without their deleted rows, into new files
 * with all their columns. Rows are read and written batch by batch. When a compaction is planned again on a
 * newer version, copies of unchanged groups are reused.
 */

import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { leafOf } from "../../arrow/columns/spine.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import { ConcurrentModificationError, InternalError, UnsupportedError } from "../../errors.js";
import type { FileColumn } from "../../file/container/page.js";
import { DataFragment } from "../../format/table.js";
import { isSameBytes } from "../../platform/native.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { storedProjection } from "../../query/columns/projection.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { scanColumns } from "../../query/scan/scan.js";
import { STREAMED } from "../../rows/readAhead.js";
import { decodeSchema } from "../../schema/schema.js";
import { stableIdsOf } from "../../table/fragments/rowOrigins.js";
import {
  concatRuns,
  decodeRowVersions,
  encodeRowIds,
  encodeRowVersions,
  splitRuns,
  UNKNOWN_ROW_VERSION,
  uniformRuns,
  type ValueRuns,
  withoutRows,
} from "../../table/fragments/rowSequences.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { VersionsAt } from "../../table/versions/versions.js";
import { absentColumns } from "../absentColumns.js";
import { fileVersionOf, type WrittenRows, writeTableRows } from "../dataFiles.js";
import { planCopy } from "../tableColumns.js";
import type { CompactionGroup } from "./compactionPlan.js";

/** Maximum rows of a batch. */
const BATCH_ROWS = 16_384;
/** Maximum bytes of the files of a small fragment, whose pages are not worth a thread. */
const SMALL_FRAGMENT_BYTES = 256 * 1024;
/** Maximum rows of a small fragment: more rows may decode to many bytes, which should not be copied again. */
const SMALL_FRAGMENT_ROWS = 4096;

interface Copy {
  readonly group: CompactionGroup;
  readonly files: readonly WrittenRows[];
  /** The new fragments, without ids. */
  readonly fragments: readonly DataFragment[];
}

export class FragmentCopies {
  readonly #table: VersionsAt;
  readonly #signalNow: () => AbortSignal | undefined;
  readonly #copied: (rowCount: number) => void;
  #copies: Copy[] = [];

  /**
   * @param signalNow returns the signal that ends the work; called for each group
   * @param copied called with the number of rows after each copy, even a reused one
   */
  constructor(
    table: VersionsAt,
    signalNow: () => AbortSignal | undefined,
    copied: (rowCount: number) => void = () => undefined,
  ) {
    this.#table = table;
    this.#signalNow = signalNow;
    this.#copied = copied;
  }

  /**
   * Copies a group to new fragments, in order. They have no ids yet.
   * @throws UnsupportedError for columns that this build does not read or write, CorruptFileError
   */
  async copy(base: OpenVersion<ReaderEnvironment>, group: CompactionGroup): Promise<readonly DataFragment[]> {
    this.#signalNow()?.throwIfAborted();
    let copy = this.#copies.find((each) => hasSameRows(each.group, group));
    if (copy === undefined) {
      copy = await this.#write(base, group);
      this.#copies.push(copy);
    } else {
      for (const rowCount of group.rowCounts) this.#copied(rowCount);
    }
    return copy.fragments;
  }

  async #write(base: OpenVersion<ReaderEnvironment>, group: CompactionGroup): Promise<Copy> {
    const { manifest, path } = base.file;
    const signal = this.#signalNow();
    const schema = decodeSchema(manifest.fields, path);
    const version = fileVersionOf(base.file);
    const absent = new Set(absentColumns(schema, group.fragments, version));
    const fields = schema.filter((field) => !absent.has(field));
    const plan = planCopy(schema, fields, version);
    const source = versionSource(base, true);
    const sequences = hasStableRowIds(manifest) ? await sequencesOf(source, group, path) : null;
    const projection = storedProjection(fields);
    const mayBeTransient = plan.columns.every(({ target }) => isCopied(target));
    async function* scan(): AsyncGenerator<InputBatch> {
      for (const { isSmall, fragments } of runsOf(group.fragments)) {
        const isTransient = isSmall && mayBeTransient;
        const wanted = { fragments, projection };
        const how = { batchRows: BATCH_ROWS, readAhead: STREAMED, isTransient, signal };
        const scanned = scanColumns(source, { ...wanted, ...how });
        for await (const { columns, rowCount } of scanned) {
          yield { columns, rowCount, isTransient };
        }
      }
    }
    const rows = new RowFeed(scan(), this.#copied);
    const files: WrittenRows[] = [];
    const fragments: DataFragment[] = [];
    try {
      for (const [index, rowCount] of group.rowCounts.entries()) {
        const written = await writeTableRows(base, schema, plan, rows.take(rowCount), {
          pool: base.table.environment.workers,
          expectedRows: rowCount,
          scratch: base.table.environment.scratch,
          signal,
        });
        files.push(written);
        if (written.fragments.length !== 1 || written.rowCount !== rowCount) {
          throw new InternalError(`${written.rowCount} rows in a copy that should have ${rowCount}`);
        }
        fragments.push({ ...written.fragments[0], ...sequences?.[index] });
      }
      if (!(await rows.isAtEnd())) throw new InternalError("more rows than a copy should have");
      return { group, files, fragments };
    } catch (error) {
      for (const written of files) await written.discard().catch(() => undefined);
      throw error;
    } finally {
      await rows.close();
    }
  }

  /** Removes copies of all groups except these: the fragments of other groups have changed. */
  async retain(groups: readonly CompactionGroup[]): Promise<void> {
    const isWanted = (copy: Copy): boolean => groups.some((group) => hasSameRows(copy.group, group));
    const unwanted = this.#copies.filter((copy) => !isWanted(copy));
    this.#copies = this.#copies.filter((copy) => !unwanted.includes(copy));
    for (const { files } of unwanted) {
      // A file that can't be removed is an orphan that nothing refers to.
      for (const written of files) await written.discard().catch(() => undefined);
    }
  }

  /** @throws ConcurrentModificationError if the files were removed together with their table */
  async requireInPlace(): Promise<void> {
    for (const { files } of this.#copies) {
      for (const written of files) {
        if (await written.areInPlace()) continue;
        throw new ConcurrentModificationError(
          `${this.#table.root}: files of a compaction were removed by another writer while it ran`,
        );
      }
    }
  }

  /** Removes the copies, except those whose files the fragments name. */
  async discard(fragments: readonly DataFragment[] = []): Promise<void> {
    const used = new Set(fragments.flatMap((fragment) => fragment.files.map((file) => file.path)));
    for (const copy of this.#copies) {
      if (copy.fragments.some((fragment) => fragment.files.some((file) => used.has(file.path)))) continue;
      for (const written of copy.files) await written.discard();
    }
  }
}

/** True if two groups, maybe of different versions, have the same fragments. */
function hasSameRows({ fragments }: CompactionGroup, otherGroup: CompactionGroup): boolean {
  const others = otherGroup.fragments;
  if (fragments.length !== others.length || fragments.some(({ id }, index) => id !== others[index].id)) {
    return false;
  }
  return fragments.every((fragment, index) =>
    isSameBytes(DataFragment.encode(fragment), DataFragment.encode(others[index])),
  );
}

/** Consecutive fragments, and whether they are small. */
interface FragmentRun {
  readonly isSmall: boolean;
  readonly fragments: DataFragment[];
}

/** Splits fragments into runs of small ones, which share one buffer, and of large ones, for threads. */
function runsOf(fragments: readonly DataFragment[]): FragmentRun[] {
  const runs: FragmentRun[] = [];
  for (const fragment of fragments) {
    const isSmall = isSmallFragment(fragment);
    if (runs.at(-1)?.isSmall === isSmall) runs.at(-1)?.fragments.push(fragment);
    else runs.push({ isSmall, fragments: [fragment] });
  }
  return runs;
}

/** A length of 0 means that no writer recorded it. */
const isSmallFragment = ({ files, physicalRows }: DataFragment): boolean =>
  physicalRows <= SMALL_FRAGMENT_ROWS &&
  files.reduce((sum, { fileSizeBytes }) => sum + fileSizeBytes, 0) <= SMALL_FRAGMENT_BYTES;

/** True if readers copy a column's values out of memory that is reused. */
const isCopied = ({ layout, blobs }: FileColumn): boolean =>
  blobs === undefined && leafOf(layout).kind !== "dictionary";

/** Cuts a stream of batches into pieces of requested sizes. */
class RowFeed {
  readonly #batches: AsyncIterator<InputBatch>;
  readonly #taken: (rowCount: number) => void;
  /** Part of the current batch that no piece has taken. */
  #rest: InputBatch | null = null;

  /** @param taken called with the number of rows of each piece, when the next one is requested */
  constructor(batches: AsyncIterable<InputBatch>, taken: (rowCount: number) => void) {
    this.#batches = batches[Symbol.asyncIterator]();
    this.#taken = taken;
  }

  async *take(rowCount: number): AsyncGenerator<InputBatch> {
    for (let left = rowCount; left > 0; ) {
      const batch = await this.#next();
      if (batch === null) return;
      const count = Math.min(left, batch.rowCount);
      if (count < batch.rowCount) this.#rest = part(batch, count, batch.rowCount - count);
      left -= count;
      yield part(batch, 0, count);
      this.#taken(count);
    }
  }

  async isAtEnd(): Promise<boolean> {
    this.#rest = await this.#next();
    return this.#rest === null;
  }

  async close(): Promise<void> {
    await this.#batches.return?.();
  }

  async #next(): Promise<InputBatch | null> {
    const rest = this.#rest;
    this.#rest = null;
    if (rest !== null) return rest;
    const { value, done } = await this.#batches.next();
    return done === true ? null : value;
  }
}

const part = (batch: InputBatch, start: number, rowCount: number): InputBatch => ({
  columns:
    rowCount === batch.rowCount
      ? [...batch.columns]
      : batch.columns.map((column) => sliceColumn(column, start, rowCount)),
  rowCount,
  isTransient: batch.isTransient,
});

/** Row ids and row versions of each new fragment. */
type Sequences = Pick<
  DataFragment,
  "inlineRowIds" | "inlineCreatedAtVersions" | "inlineLastUpdatedAtVersions"
>;

async function sequencesOf(
  source: FragmentSource,
  { fragments, rowCounts }: CompactionGroup,
  path: string,
): Promise<Sequences[]> {
  const ids: ValueRuns[] = [];
  const created: (ValueRuns | null)[] = [];
  const updated: (ValueRuns | null)[] = [];
  const liveRows: number[] = [];
  for (const fragment of fragments) {
    const { id, physicalRows } = fragment;
    const rowIds = stableIdsOf(fragment, path);
    if (
      fragment.externalCreatedAtVersions !== undefined ||
      fragment.externalLastUpdatedAtVersions !== undefined
    ) {
      throw new UnsupportedError(
        `fragment ${id}: row versions in files of their own are not supported by this release`,
      );
    }
    const deleted = (await source.readDeletions(fragment)) ?? new Uint32Array(0);
    const live = (runs: ValueRuns): ValueRuns => withoutRows(runs, deleted);
    const versions = (bytes: Uint8Array | undefined): ValueRuns | null =>
      bytes === undefined ? null : live(decodeRowVersions(bytes, physicalRows, path));
    ids.push(live(rowIds));
    created.push(versions(fragment.inlineCreatedAtVersions));
    updated.push(versions(fragment.inlineLastUpdatedAtVersions));
    liveRows.push(physicalRows - deleted.length);
  }
  const versionsOf = (parts: readonly (ValueRuns | null)[]): (Uint8Array | undefined)[] => {
    if (parts.every((runs) => runs === null)) return rowCounts.map(() => undefined);
    const versionRuns = parts.map((runs, index) => runs ?? uniformRuns(UNKNOWN_ROW_VERSION, liveRows[index]));
    return splitRuns(concatRuns(0, versionRuns), rowCounts).map(encodeRowVersions);
  };
  const idPieces = splitRuns(concatRuns(1, ids), rowCounts).map(encodeRowIds);
  const createdPieces = versionsOf(created);
  const updatedPieces = versionsOf(updated);
  return rowCounts.map((_, index) => ({
    inlineRowIds: idPieces[index],
    inlineCreatedAtVersions: createdPieces[index],
    inlineLastUpdatedAtVersions: updatedPieces[index],
  }));
}
