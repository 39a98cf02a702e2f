/**
 * Merges rows into a table by key:
 *
 *   write the source ─ join its keys with the table's ─ write new rows, mark removed ones ─ commit
 *
 * The source is read once. If another writer changes the table meanwhile, the written source stays, and the
 * other steps run again on that writer's version.
 */

import { countedBatches } from "../../arrow/exchange/countedBatches.js";
import { type ArrowInput, type InputBounds, openInput } from "../../arrow/exchange/input.js";
import { runAsync, type Steps } from "../../async/eventLoop.js";
import { mapParallel } from "../../async/parallel.js";
import { countOnes } from "../../bytes/bits.js";
import { ConcurrentModificationError, CorruptFileError, InternalError } from "../../errors.js";
import { Field } from "../../format/file.js";
import type { RowsInput } from "../../namespace/rows.js";
import { isSameBytes } from "../../platform/native.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { encodeSchema } from "../../schema/schemaEncoder.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import { withFiles } from "../../table/commit/publication.js";
import { stableIdsOf } from "../../table/fragments/rowOrigins.js";
import { concatRuns, pickRuns, type ValueRuns } from "../../table/fragments/rowSequences.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import { TableReplacedError } from "../../table/versions/identity.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { commitRowChange, type RowChange } from "../changes/commitRowChange.js";
import type { DeletionMarks } from "../changes/deletionFiles.js";
import type { WrittenRows } from "../dataFiles.js";
import { arrowSchemaOfTable } from "../insert.js";
import { type MergePlan, type MergeRequest, planMerge } from "./clauses.js";
import { type FragmentRows, joinByKey, PairLists, type RowPairs } from "./join.js";
import { withKeyMemory } from "./keyMemory.js";
import { hasBit, STEP_ROWS, setBit } from "./marks.js";
import { type MergeFiles, replacements, wantedRows } from "./mergedRows.js";
import { SourceRows } from "./sourceRows.js";

/** Fragments whose rows are marked at the same time. */
const MARKED_AT_ONCE = 8;

export interface MergeOptions {
  readonly bounds?: InputBounds;
  /** Called with the number of source rows read so far. */
  readonly onRows?: (rowCount: number) => void;
  readonly signal?: AbortSignal;
  /** Called right before the merge is committed; an error ends the merge. */
  readonly verify?: () => Promise<void>;
  /** Bytes of keys in memory. Default: 256 MiB, less if other merges run (keyMemory.ts). */
  readonly maxKeyBytes?: number;
}

export interface MergedRows {
  readonly version: number;
  readonly transactionId: string;
  readonly updatedRows: number;
  readonly insertedRows: number;
  /** Without the updated rows. */
  readonly deletedRows: number;
}

interface MergeChange extends RowChange {
  readonly updatedRows: number;
  readonly insertedRows: number;
  readonly deletedRows: number;
}

/**
 * @throws errors of {@link planMerge} and of inserts; InvalidInputError if several source rows would replace
 *   the same row; ConcurrentModificationError if other writers changed the table's columns, or keep changing
 *   the same rows
 */
export async function mergeInsert(
  target: ChangeTarget<ReaderEnvironment>,
  data: RowsInput,
  request: MergeRequest,
  options: MergeOptions,
): Promise<MergedRows> {
  const { bounds, signal } = options;
  const input = await openInput(data, signal, bounds, {
    tableSchema: async () => {
      const base = await openVersion(target.table, target.latest);
      return base && arrowSchemaOfTable(base.file);
    },
  });
  const batches = countedBatches(input.batches, options.onRows);
  const merge = new Merge({ schema: input.schema, batches }, request, options);
  try {
    return await withFiles(
      () => merge.discard(),
      async () => {
        const { committed, transactionId, change } = await commitRowChange(
          target,
          (base, marks) => merge.plan(base, marks),
          { signal, verify: options.verify, logs: request.logs },
        );
        await merge.discardUnused(change.written);
        const { updatedRows, insertedRows, deletedRows } = change;
        return { version: committed.version, transactionId, updatedRows, insertedRows, deletedRows };
      },
    );
  } finally {
    await input.close();
  }
}

/** A running merge: its written source, and its plan for the current columns of the table. */
class Merge {
  readonly #input: Pick<ArrowInput, "schema" | "batches">;
  readonly #request: MergeRequest;
  readonly #options: MergeOptions;
  #planned: {
    readonly fields: readonly TableField[];
    readonly plan: MergePlan;
    readonly source: SourceRows;
  } | null = null;

  constructor(input: Pick<ArrowInput, "schema" | "batches">, request: MergeRequest, options: MergeOptions) {
    this.#input = input;
    this.#request = request;
    this.#options = options;
  }

  /** Plans the commit over a version; called again after another writer commits first. */
  async plan(base: OpenLatest<ReaderEnvironment>, marks: DeletionMarks): Promise<MergeChange> {
    const { fields, plan, source } = await this.#sourceFor(base);
    const { signal, maxKeyBytes } = this.#options;
    const files: MergeFiles = { base, fields, source, signal };
    const isStable = hasStableRowIds(base.file.manifest);
    const isWhole = source.sourceFields.length === fields.length;
    const wanted = new Uint8Array((source.rowCount + 7) >>> 3);
    const written: WrittenRows[] = [];
    const movedIds: ValueRuns[] = [];
    let updatedRows = 0;
    const replace = async (pairs: RowPairs): Promise<void> => {
      updatedRows += pairs.sourceRows.length;
      const rest = isWhole && !isStable ? await runAsync(unmarked(pairs, wanted), signal) : pairs;
      if (rest.sourceRows.length === 0) return;
      written.push(await replacements(files, rest));
      if (isStable) movedIds.push(...idsOf(base, rest));
    };
    try {
      const joined = await withKeyMemory((bytes) =>
        joinByKey(base, fields, source, this.#request, plan, {
          maxKeyBytes: maxKeyBytes ?? bytes,
          signal,
          onPairs: replace,
        }),
      );
      await markRemoved(base, joined.removed, marks);
      const insertedRows = this.#request.insert ? markLacking(joined.matched, wanted, source.rowCount) : 0;
      written.push(...(await wantedRows(files, wanted)));
      return {
        written,
        movedIds: isStable ? concatRuns(1, movedIds) : null,
        operation: { kind: "update", fieldIds: encodeSchema(fields).map(({ id }) => id) },
        addsMissing: insertedRows > 0,
        updatedRows,
        insertedRows,
        deletedRows: joined.removedBySource,
      };
    } catch (error) {
      for (const each of written) await each.discard().catch(() => undefined);
      if (!(error instanceof CorruptFileError) || (await source.written.areInPlace())) throw error;
      // Whoever replaced this table also removed the source's files.
      throw new TableReplacedError(base.table.root);
    }
  }

  /** Returns the rows of the source, which the first call writes. */
  async #sourceFor(base: OpenLatest<ReaderEnvironment>) {
    const { manifest, path } = base.file;
    const fields = decodeSchema(manifest.fields, path);
    if (this.#planned !== null) {
      // Source columns are recognised by their field objects, so equal schemas keep the old plan.
      if (isSameSchema(fields, this.#planned.fields)) return this.#planned;
      throw new ConcurrentModificationError(
        `${base.table.root}: another writer changed the columns while rows were merged; please retry`,
      );
    }
    const names = new Set(this.#input.schema.fields.map(({ name }) => name));
    const plan = await planMerge(this.#request, fields, names, this.#options.signal);
    const source = await SourceRows.write(base, this.#input, fields, plan.sourceFields, this.#options);
    this.#planned = { fields, plan, source };
    return this.#planned;
  }

  /** Removes the files of the source. */
  async discard(): Promise<void> {
    await this.#planned?.source.written.discard();
  }

  /** Removes source files that were not committed. If that fails, they are orphans. */
  async discardUnused(committed: readonly WrittenRows[]): Promise<void> {
    const fragments = committed.flatMap((written) => written.fragments);
    const used = new Set(fragments.flatMap(({ files }) => files.map(({ path }) => path)));
    await this.#planned?.source.written.discard(used).catch(() => undefined);
  }
}

export async function markRemoved(
  base: OpenLatest,
  removed: FragmentRows,
  marks: DeletionMarks,
): Promise<void> {
  const fragments = base.file.manifest.fragments.filter(({ id }) => removed.has(id));
  await mapParallel(fragments, MARKED_AT_ONCE, async (fragment) => {
    const rows = removed.get(fragment.id);
    if (rows !== undefined) await marks.mark(fragment, rows);
  });
}

/** True if two versions have the same columns, with the same ids and metadata. */
export function isSameSchema(fields: readonly TableField[], others: readonly TableField[]): boolean {
  const encoded = (each: readonly TableField[]) => encodeSchema(each).map((field) => Field.encode(field));
  const [a, b] = [encoded(fields), encoded(others)];
  return a.length === b.length && a.every((bytes, index) => isSameBytes(bytes, b[index]));
}

/** Marks the source rows of pairs, and returns the pairs whose rows were marked before. */
function* unmarked({ sourceRows, fragmentIds, targetRows }: RowPairs, marks: Uint8Array): Steps<RowPairs> {
  const again = new PairLists();
  for (let start = 0; start < sourceRows.length; start += STEP_ROWS) {
    const end = Math.min(sourceRows.length, start + STEP_ROWS);
    for (let index = start; index < end; index++) {
      const row = sourceRows[index];
      if (hasBit(marks, row)) again.add(row, fragmentIds[index], targetRows[index]);
      else setBit(marks, row);
    }
    yield;
  }
  return again.pairs;
}

/** Marks the rows that match no row of the table, and returns their number. */
function markLacking(matched: Uint8Array, marks: Uint8Array, rowCount: number): number {
  for (let byte = 0; byte < marks.length; byte++) {
    const rows = Math.min(8, rowCount - 8 * byte);
    marks[byte] |= ~matched[byte] & ((1 << rows) - 1);
  }
  return rowCount - countOnes(matched, 0, rowCount);
}

/** Returns ids of the replaced rows, in the order of the pairs. */
function idsOf({ file }: OpenLatest, { fragmentIds, targetRows }: RowPairs): ValueRuns[] {
  const byId = new Map(file.manifest.fragments.map((fragment) => [fragment.id, fragment]));
  const ids: ValueRuns[] = [];
  for (let start = 0; start < fragmentIds.length; ) {
    const fragment = byId.get(fragmentIds[start]);
    if (fragment === undefined)
      throw new InternalError(`rows lie in fragment ${fragmentIds[start]}, which the version lacks`);
    let end = start;
    while (end < fragmentIds.length && fragmentIds[end] === fragment.id) end++;
    ids.push(pickRuns(stableIdsOf(fragment, file.path), targetRows.subarray(start, end)));
    start = end;
  }
  return ids;
}
