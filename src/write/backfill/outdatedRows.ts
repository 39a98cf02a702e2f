/**
 * Finds rows whose value of a computed column no longer fits its inputs. Changes of ours take such values away at once, and
 * other writers leave them: LanceDB's update copies the old value along. So the transactions since the values were last known
 * to fit are gone through, and those that gave inputs other values mark the rows:
 *
 *     update of rows, merge         all rows of the new fragments, if it changed an input, or rows that were marked
 *     change of columns in place    the rows of the fragments whose files of an input are others
 *     compaction                    marks follow the rows; their order stays
 *     restore, branch               the marks of the version that it goes back to
 *     a new value of the column     unmarks the fragment, unless it is by a backfill of ours, which fills nulls
 *
 * Values fit in the version that gave the table the column, in one that replaced all rows, and in the one of the record that a
 * backfill leaves (fittingRecord.ts). Where versions in between are gone, the fragments that no record knows are marked whole.
 */

import { decodeRoaring } from "../../bytes/roaring.js";
import { CorruptFileError } from "../../errors.js";
import type { DataFragment, Rewrite, Transaction, Update } from "../../format/table.js";
import { parseFieldPath } from "../../ident.js";
import { declarationOf } from "../../schema/computedFields.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { WRITER } from "../../table/commit/apply.js";
import { operationOf, readTransaction } from "../../table/commit/transaction.js";
import { readDeletions } from "../../table/fragments/deletions.js";
import { isMainBranch } from "../../table/refs/refs.js";
import { openVersion } from "../../table/versions/openVersion.js";
import {
  branchAt,
  type OpenVersion,
  type TableAt,
  type TableEnvironment,
} from "../../table/versions/tableAt.js";
import { findVersion } from "../../table/versions/versions.js";
import { areStored } from "./storedFields.js";

/** Offsets of rows of a fragment, ascending, or all of them. */
export type MarkedRows = Uint32Array | "all";
/** The marked rows by the id of their fragment. */
export type Marks = ReadonlyMap<number, MarkedRows>;

/** In the properties of a transaction that takes all outdated values of a column away: the id of the column's field. */
export const OUTDATED_PROPERTY = "tiltyard.outdated";

/** The record of a version in which all values of a column fit. */
export interface FittingVersion {
  readonly version: number;
  /** Whether a fragment is as it was in that version, as far as the column and its inputs go. */
  knows(fragment: DataFragment): Promise<boolean>;
}

/**
 * @param field the computed column, as the version declares it
 * @param fitting what the last backfill recorded
 * @throws CorruptFileError; the signal's reason
 */
export async function outdatedRows(
  { at, file, version }: OpenVersion,
  field: TableField,
  fitting: FittingVersion | null,
  signal?: AbortSignal,
): Promise<Marks> {
  const columns = columnsBehind(decodeSchema(file.manifest.fields, file.path), field);
  return (await new History(columns, fitting, signal).marksOf(at, version)) ?? NO_MARKS;
}

/** Names of the columns that a column is computed from, directly or through computed ones. */
export function inputNamesOf(fields: readonly TableField[], field: TableField): Set<string> {
  const names = new Set<string>();
  const open = [field];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const path of declarationOf(next)?.inputs ?? []) {
      const [name] = parseFieldPath(path);
      if (name === field.name || names.has(name)) continue;
      names.add(name);
      const input = fields.find((each) => each.name === name);
      if (input !== undefined) open.push(input);
    }
  }
  return names;
}

interface ColumnsBehind {
  /** Of the computed column. */
  readonly ids: ReadonlySet<number>;
  readonly fieldId: number;
  readonly inputs: ReadonlySet<string>;
}

const columnsBehind = (fields: readonly TableField[], field: TableField): ColumnsBehind => ({
  ids: new Set(fieldIdsOf(field)),
  fieldId: field.id,
  inputs: inputNamesOf(fields, field),
});

/** A version, and ids of the fields of the inputs in it. */
interface Step {
  readonly open: OpenVersion;
  readonly transaction: Transaction | null;
  readonly inputIds: ReadonlySet<number>;
}

const NO_MARKS: Marks = new Map();

class History {
  readonly #columns: ColumnsBehind;
  readonly #fitting: FittingVersion | null;
  readonly #signal: AbortSignal | undefined;

  constructor(columns: ColumnsBehind, fitting: FittingVersion | null, signal: AbortSignal | undefined) {
    this.#columns = columns;
    this.#fitting = fitting;
    this.#signal = signal;
  }

  /** Null where the version is not there. */
  async marksOf(at: TableAt<TableEnvironment>, version: number): Promise<Marks | null> {
    let oldest: Step | null = null;
    let marks: Marks | null = null;
    for (let number = version; marks === null; number--) {
      const step = await this.#step(at, number);
      if (step === null) {
        if (oldest === null) return null;
        marks = await this.#unknown(oldest);
      } else {
        oldest = step;
        marks = await this.#known(step);
      }
    }
    let before = oldest as Step;
    while (before.open.version < version) {
      const step = await this.#step(at, before.open.version + 1);
      // A cleanup has removed it since.
      if (step === null) return this.marksOf(at, version);
      marks = await this.#after(before, step, marks);
      before = step;
    }
    return marks;
  }

  async #step(at: TableAt<TableEnvironment>, version: number): Promise<Step | null> {
    this.#signal?.throwIfAborted();
    const entry = version < 1 ? null : await findVersion(at, version);
    const open = entry && (await openVersion(at, entry));
    if (open === null) return null;
    const fields = decodeSchema(open.file.manifest.fields, open.path);
    const inputs = fields.filter(({ name }) => this.#columns.inputs.has(name));
    return {
      open,
      transaction: await readTransaction(at, open.file),
      inputIds: new Set(inputs.flatMap(fieldIdsOf)),
    };
  }

  /** The marks of a version, where they are known without the version before it; else null. */
  async #known(step: Step): Promise<Marks | null> {
    const { open, transaction } = step;
    const { manifest } = open.file;
    if (!manifest.fields.some(({ id }) => id === this.#columns.fieldId)) return NO_MARKS;
    const operation = transaction && operationOf(transaction);
    if (operation?.kind === "overwrite") return NO_MARKS;
    if (operation?.kind === "restore") {
      return (await this.marksOf(open.at, operation.value.version)) ?? this.#unknown(step);
    }
    if (operation?.kind === "clone") {
      const { branchName, refName, refVersion } = operation.value;
      // The files of another table's versions may lie anywhere.
      if (branchName === undefined) return null;
      const source = branchAt(open.at, isMainBranch(refName) ? null : refName);
      return (await this.marksOf(source, refVersion)) ?? this.#unknown(step);
    }
    if (this.#fitting?.version !== open.version) return null;
    for (const fragment of manifest.fragments) if (!(await this.#fitting.knows(fragment))) return null;
    return NO_MARKS;
  }

  /** The marks of a version whose history is not there. */
  async #unknown({ open }: Step): Promise<Marks> {
    const marks = new Map<number, MarkedRows>();
    for (const fragment of open.file.manifest.fragments) {
      if (areStored(fragment.files, this.#columns.ids) && (await this.#fitting?.knows(fragment)) !== true)
        marks.set(fragment.id, "all");
    }
    return marks;
  }

  /** The marks of a version, from those of the version before it. */
  async #after(before: Step, { open, transaction, inputIds }: Step, marks: Marks): Promise<Marks> {
    const { manifest } = open.file;
    const { ids, fieldId } = this.#columns;
    const isOurs = manifest.writerVersion?.library === WRITER.library;
    const operation = transaction === null ? null : operationOf(transaction);
    const takesAway = transaction?.transactionProperties.get(OUTDATED_PROPERTY) === String(fieldId);
    const update = operation?.kind === "update" ? operation.value : null;
    const known = new Map(before.open.file.manifest.fragments.map((fragment) => [fragment.id, fragment]));
    const moved = operation?.kind === "rewrite" ? await this.#moved(before, operation.value, marks) : null;
    const next = new Map<number, MarkedRows>();
    const mark = (id: number, rows: MarkedRows | undefined): void => {
      if (rows !== undefined) next.set(id, rows);
    };
    for (const fragment of manifest.fragments) {
      const { id } = fragment;
      const old = known.get(id);
      if (!areStored(fragment.files, ids)) continue;
      if (old === undefined) {
        if (operation?.kind === "append") continue;
        if (moved !== null) mark(id, moved.get(id));
        else if (update === null || movesOutdated(update, marks)) mark(id, "all");
        else if (!isOurs && changesAny(update, inputIds)) mark(id, "all");
      } else if (old === fragment) {
        mark(id, marks.get(id));
      } else if (filesOf(old, ids) !== filesOf(fragment, ids) && (!isOurs || takesAway)) {
        next.delete(id);
      } else if (!isOurs && filesOf(old, before.inputIds) !== filesOf(fragment, inputIds)) {
        mark(id, union(marks.get(id), changedOffsets(update, fragment, open.path)));
      } else {
        mark(id, marks.get(id));
      }
    }
    return next;
  }

  /** Marks of the fragments that a compaction made. */
  async #moved(before: Step, { groups }: Rewrite, marks: Marks): Promise<Map<number, MarkedRows>> {
    const moved = new Map<number, MarkedRows>();
    for (const { oldFragments, newFragments } of groups) {
      const marked = oldFragments.filter(({ id }) => marks.has(id));
      if (marked.length === 0) continue;
      const rows =
        marked.length === oldFragments.length && marked.every(({ id }) => marks.get(id) === "all")
          ? null
          : await this.#positionsOf(before, oldFragments, marks);
      const rowCount = newFragments.reduce((sum, { physicalRows }) => sum + physicalRows, 0);
      let start = 0;
      for (const { id, physicalRows } of newFragments) {
        if (rows === null || rows.liveRows !== rowCount) {
          moved.set(id, "all");
          continue;
        }
        const end = start + physicalRows;
        const own = rows.positions.filter((position) => position >= start && position < end);
        if (own.length > 0)
          moved.set(
            id,
            Uint32Array.from(own, (position) => position - start),
          );
        start = end;
      }
    }
    return moved;
  }

  /** Positions of the marked rows among the live ones of some fragments; null where files are gone that tell. */
  async #positionsOf(
    { open }: Step,
    fragments: readonly DataFragment[],
    marks: Marks,
  ): Promise<{ readonly positions: readonly number[]; readonly liveRows: number } | null> {
    const { manifest } = open.file;
    const positions: number[] = [];
    let liveRows = 0;
    for (const { id } of fragments) {
      this.#signal?.throwIfAborted();
      const fragment = manifest.fragments.find((each) => each.id === id);
      if (fragment === undefined) return null;
      let deleted: Uint32Array | null;
      try {
        deleted = await readDeletions(open.at, manifest, fragment);
      } catch (error) {
        // A cleanup has removed it, or it is damaged.
        if (error instanceof CorruptFileError) return null;
        throw error;
      }
      const isMarked = rowTest(marks.get(id));
      let nextDeleted = 0;
      for (let row = 0; row < fragment.physicalRows; row++) {
        if (deleted !== null && deleted[nextDeleted] === row) {
          nextDeleted++;
          continue;
        }
        if (isMarked(row)) positions.push(liveRows);
        liveRows++;
      }
    }
    return { positions, liveRows };
  }
}

/** Tells for ascending rows whether they are marked. */
function rowTest(marked: MarkedRows | undefined): (row: number) => boolean {
  if (marked === undefined) return () => false;
  if (marked === "all") return () => true;
  let next = 0;
  return (row) => {
    while (next < marked.length && marked[next] < row) next++;
    return marked[next] === row;
  };
}

/** Whether rows that an update moved to new fragments may be marked ones. */
const movesOutdated = ({ removedFragmentIds, updatedFragments }: Update, marks: Marks): boolean =>
  [...removedFragmentIds, ...updatedFragments.map(({ id }) => id)].some((id) => marks.has(id));

/** Whether an update gave any of some fields other values. Writers of old tell nothing. */
const changesAny = ({ fieldsForPreservingFragBitmap: changed }: Update, ids: ReadonlySet<number>): boolean =>
  changed.length === 0 || changed.some((id) => ids.has(id));

/** The files that hold some fields, as text. */
const filesOf = ({ files }: DataFragment, ids: ReadonlySet<number>): string =>
  JSON.stringify(
    files.flatMap(({ path, baseId, fields }) => {
      const own = fields.filter((id) => ids.has(id));
      return own.length === 0 ? [] : [[path, baseId ?? null, own]];
    }),
  );

/** Rows of a fragment that a change of columns in place gave other values; all where it does not tell. */
function changedOffsets(update: Update | null, { id, physicalRows }: DataFragment, path: string): MarkedRows {
  const bitmap = update?.updatedOffsetBitmaps.get(id);
  return bitmap === undefined ? "all" : decodeRoaring(bitmap, physicalRows, { path, byteOffset: 0 });
}

function union(first: MarkedRows | undefined, second: MarkedRows): MarkedRows {
  if (first === undefined) return second;
  if (first === "all" || second === "all") return "all";
  return Uint32Array.from(new Set([...first, ...second])).sort();
}
