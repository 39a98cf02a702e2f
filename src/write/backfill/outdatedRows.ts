/**
 * Finds rows whose value of a computed column no longer fits its inputs. Tiltyard's changes clear such values
 * at once. Other writers leave them: LanceDB's update copies the old value. The marks come from the
 * transactions since the values last fitted:
 *
 *     update of rows, merge       all rows of the new fragments, if it changed an input or moved marked rows
 *     change of columns in place  all rows of each fragment in which the file of an input changed
 *     compaction                  marks follow the rows; their order stays
 *     restore, branch             the marks of the version that it returns to
 *     new value of the column     unmarks the fragment, unless a backfill of Tiltyard filled its nulls
 *
 * Values fit in the version that gave the table the column, in a version that replaced all rows, and in the
 * version that a backfill recorded (fittingRecord.ts). If versions since then are gone, all rows of fragments
 * outside the record are marked. Fragments with the signature of their inputs (refreshSignatures.ts) have no
 * marks.
 */

import { decodeRoaring } from "../../bytes/roaring.js";
import { CorruptFileError } from "../../errors.js";
import type { DataFragment, Rewrite, Transaction, Update } from "../../format/table.js";
import { parseFieldPath } from "../../ident.js";
import { unskipped } from "../../rows/rowPositions.js";
import { declarationOf } from "../../schema/computedFields.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { WRITER } from "../../table/commit/apply.js";
import { operationOf, readTransaction } from "../../table/commit/transaction.js";
import { readDeletions } from "../../table/fragments/deletions.js";
import { isMainBranch } from "../../table/refs/refNames.js";
import { openVersion } from "../../table/versions/openVersion.js";
import {
  branchAt,
  type OpenVersion,
  type TableAt,
  type TableEnvironment,
} from "../../table/versions/tableAt.js";
import { findVersion } from "../../table/versions/versions.js";
import { recordedFragments } from "./refreshSignatures.js";
import { areStored, filesWith } from "./storedFields.js";

/** Offsets of rows of a fragment, ascending, or all of them. */
export type MarkedRows = Uint32Array | "all";
/** By fragment id: the marked rows. */
export type Marks = ReadonlyMap<number, MarkedRows>;

/** Property of a transaction that clears all outdated values of a column: the id of the column's field. */
export const OUTDATED_PROPERTY = "tiltyard.outdated";

/** A version in which all values of a column fit. */
export interface FittingVersion {
  readonly version: number;
  /** True if the column and its inputs have the same values in a fragment as in that version. */
  knows(fragment: DataFragment): Promise<boolean>;
}

/**
 * Returns the rows of a version whose values are outdated. It may include rows without a value.
 * @throws CorruptFileError; the signal's reason
 */
export async function outdatedRows(
  open: OpenVersion,
  field: TableField,
  fitting: FittingVersion | null,
  signal?: AbortSignal,
): Promise<Marks> {
  const { table, file, version } = open;
  const { fields, fragments } = file.manifest;
  const ids = new Set(fieldIdsOf(field));
  if (!fragments.some(({ files }) => areStored(files, ids))) return NO_MARKS;
  const recorded = await recordedFragments(open, field);
  const unrecorded = new Set<number>();
  for (const fragment of fragments) {
    if (areStored(fragment.files, ids) && !(await recorded.has(fragment))) unrecorded.add(fragment.id);
  }
  if (unrecorded.size === 0) return NO_MARKS;
  const inputs = inputNamesOf(decodeSchema(fields, file.path), field);
  const history = new History({ ids, fieldId: field.id, inputs, fitting, signal });
  const marks = (await history.marksOf(table, version)) ?? NO_MARKS;
  return new Map([...marks].filter(([id]) => unrecorded.has(id)));
}

/** Makes the record of a version in which all values fit. */
export function fittingVersion({ file, version }: OpenVersion, field: TableField): FittingVersion {
  const { fields, fragments } = file.manifest;
  const ids = relevantIds(decodeSchema(fields, file.path), field);
  const fittingTexts = new Map(fragments.map((fragment) => [fragment.id, textOfFiles(fragment, ids)]));
  return { version, knows: async (fragment) => fittingTexts.get(fragment.id) === textOfFiles(fragment, ids) };
}

/** Returns the ids of the fields of a computed column and of its inputs. */
export function relevantIds(fields: readonly TableField[], field: TableField): Set<number> {
  const names = new Set([field.name, ...inputNamesOf(fields, field)]);
  return new Set(fields.filter(({ name }) => names.has(name)).flatMap(fieldIdsOf));
}

/** Returns the names of the columns that a column is computed from, directly or through computed ones. */
function inputNamesOf(fields: readonly TableField[], field: TableField): Set<string> {
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

/** A version, and ids of the fields of the inputs in it. */
interface Step {
  readonly open: OpenVersion;
  readonly transaction: Transaction | null;
  readonly inputIds: ReadonlySet<number>;
}

const NO_MARKS: Marks = new Map();

/** A computed column, and what is known of its values. */
interface Watched {
  /** Ids of the column's fields, and of its top-level field. */
  readonly ids: ReadonlySet<number>;
  readonly fieldId: number;
  /** Names of the columns that it is computed from. */
  readonly inputs: ReadonlySet<string>;
  readonly fitting: FittingVersion | null;
  readonly signal: AbortSignal | undefined;
}

class History {
  readonly #watched: Watched;
  /** Versions whose marks are being looked up for a copy of them. */
  readonly #copied = new Set<string>();

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** Returns the marks of a version; null if the version does not exist. */
  async marksOf(table: TableAt<TableEnvironment>, version: number): Promise<Marks | null> {
    let oldest: Step | null = null;
    let marks: Marks | null = null;
    for (let number = version; marks === null; number--) {
      const step = await this.#step(table, number);
      if (step === null) {
        if (oldest === null) return null;
        marks = await this.#unknown(oldest);
      } else {
        oldest = step;
        marks = await this.#oldFragments(step);
      }
    }
    let before = oldest as Step;
    while (before.open.version < version) {
      const step = await this.#step(table, before.open.version + 1);
      // A cleanup removed it meanwhile.
      if (step === null) return this.marksOf(table, version);
      marks = await this.#after(before, step, marks);
      before = step;
    }
    return marks;
  }

  async #step(table: TableAt<TableEnvironment>, version: number): Promise<Step | null> {
    this.#watched.signal?.throwIfAborted();
    const entry = version < 1 ? null : await findVersion(table, version);
    const open = entry && (await openVersion(table, entry));
    if (open === null) return null;
    const fields = decodeSchema(open.file.manifest.fields, open.path);
    const inputs = fields.filter(({ name }) => this.#watched.inputs.has(name));
    return {
      open,
      transaction: await readTransaction(table, open.file),
      inputIds: new Set(inputs.flatMap(fieldIdsOf)),
    };
  }

  /** Returns the marks of a version; null if they depend on the version before it. */
  async #oldFragments(step: Step): Promise<Marks | null> {
    const { open, transaction } = step;
    const { manifest } = open.file;
    if (!manifest.fields.some(({ id }) => id === this.#watched.fieldId)) return NO_MARKS;
    const operation = transaction && operationOf(transaction);
    if (operation?.kind === "overwrite") return NO_MARKS;
    if (operation?.kind === "restore") return this.#takenOver(step, open.table, operation.value.version);
    if (operation?.kind === "clone") {
      const { branchName, refName, refVersion } = operation.value;
      // The files of another table's versions may lie anywhere.
      if (branchName === undefined) return null;
      const source = branchAt(open.table, isMainBranch(refName) ? null : refName);
      return this.#takenOver(step, source, refVersion);
    }
    if (this.#watched.fitting?.version !== open.version) return null;
    for (const fragment of manifest.fragments)
      if (!(await this.#watched.fitting.knows(fragment))) return null;
    return NO_MARKS;
  }

  /** Returns the marks of a version that is a copy of another one. */
  async #takenOver(step: Step, source: TableAt<TableEnvironment>, version: number): Promise<Marks> {
    const copied = JSON.stringify([source.root, version]);
    // Damaged transactions may form a circle.
    if (this.#copied.has(copied)) return this.#unknown(step);
    this.#copied.add(copied);
    const marks = await this.marksOf(source, version);
    this.#copied.delete(copied);
    return marks ?? this.#unknown(step);
  }

  /** Returns the marks of a version whose history is gone. */
  async #unknown({ open }: Step): Promise<Marks> {
    const marks = new Map<number, MarkedRows>();
    for (const fragment of open.file.manifest.fragments) {
      if (
        areStored(fragment.files, this.#watched.ids) &&
        (await this.#watched.fitting?.knows(fragment)) !== true
      )
        marks.set(fragment.id, "all");
    }
    return marks;
  }

  /** Returns the marks of a version from those of the version before it. */
  async #after(before: Step, { open, transaction, inputIds }: Step, marks: Marks): Promise<Marks> {
    const { manifest } = open.file;
    const { ids, fieldId } = this.#watched;
    const isOurs = manifest.writerVersion?.library === WRITER.library;
    const operation = transaction === null ? null : operationOf(transaction);
    const takesAway = transaction?.transactionProperties.get(OUTDATED_PROPERTY) === String(fieldId);
    const update = operation?.kind === "update" ? operation.value : null;
    const oldFragments = new Map(
      before.open.file.manifest.fragments.map((fragment) => [fragment.id, fragment]),
    );
    const moved = operation?.kind === "rewrite" ? await this.#moved(before, operation.value, marks) : null;
    const next = new Map<number, MarkedRows>();
    const mark = (id: number, rows: MarkedRows | undefined): void => {
      if (rows !== undefined) next.set(id, rows);
    };
    for (const fragment of manifest.fragments) {
      const { id } = fragment;
      const old = oldFragments.get(id);
      if (!areStored(fragment.files, ids)) continue;
      if (old === undefined) {
        if (operation?.kind === "append") continue;
        if (moved !== null) mark(id, moved.get(id));
        else if (update === null || movesOutdated(update, marks)) mark(id, "all");
        else if (!isOurs && changesAny(update, inputIds)) mark(id, "all");
      } else if (old === fragment) {
        mark(id, marks.get(id));
      } else if (textOfFiles(old, ids) !== textOfFiles(fragment, ids) && (!isOurs || takesAway)) {
        // The fragment has new values, or lost its outdated ones.
      } else if (!isOurs && textOfFiles(old, before.inputIds) !== textOfFiles(fragment, inputIds)) {
        mark(id, union(marks.get(id), changedOffsets(update, fragment, open.path)));
      } else {
        mark(id, marks.get(id));
      }
    }
    return next;
  }

  /** Returns the marks of the fragments that a compaction made. */
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
        const positions = rows.positions.filter((position) => position >= start && position < end);
        if (positions.length > 0)
          moved.set(
            id,
            Uint32Array.from(positions, (position) => position - start),
          );
        start = end;
      }
    }
    return moved;
  }

  /** Returns positions of the marked rows among the live rows; null if a file of deletions is gone. */
  async #positionsOf(
    { open }: Step,
    fragments: readonly DataFragment[],
    marks: Marks,
  ): Promise<{ readonly positions: readonly number[]; readonly liveRows: number } | null> {
    const { manifest } = open.file;
    const positions: number[] = [];
    let liveRows = 0;
    for (const { id } of fragments) {
      this.#watched.signal?.throwIfAborted();
      const fragment = manifest.fragments.find((each) => each.id === id);
      if (fragment === undefined) return null;
      let deleted: Uint32Array | null;
      try {
        deleted = await readDeletions(open.table, manifest, fragment);
      } catch (error) {
        // A cleanup has removed it, or it is damaged.
        if (error instanceof CorruptFileError) return null;
        throw error;
      }
      const isMarked = rowTest(marks.get(id));
      for (const row of unskipped(0, fragment.physicalRows, deleted ?? new Uint32Array(0))) {
        if (isMarked(row)) positions.push(liveRows);
        liveRows++;
      }
    }
    return { positions, liveRows };
  }
}

/** Returns a test for marked rows; call it with ascending rows. */
function rowTest(marked: MarkedRows | undefined): (row: number) => boolean {
  if (marked === undefined) return () => false;
  if (marked === "all") return () => true;
  let next = 0;
  return (row) => {
    while (next < marked.length && marked[next] < row) next++;
    return marked[next] === row;
  };
}

/** True if an update may have moved marked rows to new fragments. */
const movesOutdated = ({ removedFragmentIds, updatedFragments }: Update, marks: Marks): boolean =>
  [...removedFragmentIds, ...updatedFragments.map(({ id }) => id)].some((id) => marks.has(id));

/** True if an update may have changed values of some fields. Old writers don't record the changed fields. */
const changesAny = ({ fieldsForPreservingFragBitmap: changed }: Update, ids: ReadonlySet<number>): boolean =>
  changed.length === 0 || changed.some((id) => ids.has(id));

/** Names the files that hold some fields of a fragment: equal texts mean equal values. */
const textOfFiles = ({ files }: DataFragment, ids: ReadonlySet<number>): string =>
  JSON.stringify(filesWith(files, ids));

/** Returns the rows that a change in place gave other values; all if the change does not record them. */
function changedOffsets(update: Update | null, { id, physicalRows }: DataFragment, path: string): MarkedRows {
  const bitmap = update?.updatedOffsetBitmaps.get(id);
  return bitmap === undefined ? "all" : decodeRoaring(bitmap, physicalRows, { path, byteOffset: 0 });
}

function union(first: MarkedRows | undefined, second: MarkedRows): MarkedRows {
  if (first === undefined) return second;
  if (first === "all" || second === "all") return "all";
  return Uint32Array.from(new Set([...first, ...second])).sort();
}
