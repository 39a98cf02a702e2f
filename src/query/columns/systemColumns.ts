/**
 * System columns: every row has them besides the columns of its table. No file stores them as columns. They
 * are made from the addresses of rows and from the manifest.
 *
 *     _rowid                         the address; with stable row ids, the id that a row keeps when it moves
 *     _rowaddr                       the address: fragment id in the upper 32 bits, physical row in the lower
 *     _rowoffset                     the row's index among the live rows of the version
 *     _row_created_at_version        the version that added the row
 *     _row_last_updated_at_version   the version that last changed it
 *
 * Only tables with stable row ids record these versions. Other tables refuse both columns.
 */

import { Field, Uint64 } from "apache-arrow";
import type { FixedColumn } from "../../arrow/columns/column.js";
import { lazyModule } from "../../async/lazy.js";
import { lowerBound } from "../../bytes/search.js";
import { CorruptFileError, InvalidInputError } from "../../errors.js";
import { type TypedField, UINT64 } from "../../expression/values/types.js";
import type { DataFragment, Manifest } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import type { ValueRuns } from "../../table/fragments/rowSequences.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { FragmentSource } from "./fragmentColumns.js";
import { addressWords, wordPairs } from "./rowAddresses.js";

/** The first system column that a manifest stores loads this module. */
const sequences = lazyModule(() => import("./systemRuns.js"));

const NAMES = [
  "_rowid",
  "_rowaddr",
  "_rowoffset",
  "_row_created_at_version",
  "_row_last_updated_at_version",
] as const;

const ROW_VERSIONS: ReadonlySet<string> = new Set([
  "_row_created_at_version",
  "_row_last_updated_at_version",
]);

export type SystemColumn = (typeof NAMES)[number];

/** The columns as fields that expressions may name. */
export const SYSTEM_FIELDS: readonly TypedField[] = NAMES.map((name) => ({
  name,
  type: UINT64,
  children: [],
}));

/** Returns the column of exactly this name. */
export const systemColumn = (name: string): SystemColumn | undefined =>
  NAMES.find((column) => column === name);

/**
 * Returns a path with its column spelled as in the schema. A name matches in any case, unless another column
 * has it exactly. A path that the schema does not have is returned unchanged.
 * @throws InvalidInputError for a name that may mean several columns
 */
export function spelledPath(
  segments: readonly string[],
  fields: readonly { readonly name: string }[],
  label: string,
): readonly string[] {
  const [first, ...members] = segments;
  if (fields.some(({ name }) => name === first) || systemColumn(first) !== undefined) return segments;
  const all = [...new Set([...fields.map(({ name }) => name), ...NAMES])];
  const folded = first.toLowerCase();
  const matches = all.filter((name) => name.toLowerCase() === folded);
  if (matches.length > 1) {
    const names = matches.join(", ");
    throw new InvalidInputError(`${label}: ${formatFieldPath([first])} may mean any of the columns ${names}`);
  }
  return matches.length === 0 ? segments : [matches[0], ...members];
}

export const systemField = (name: string): Field => new Field(name, new Uint64(), true);

/** Values of runs of rows, looked up by physical row. */
interface RunTable extends ValueRuns {
  /** First row of each run. */
  readonly starts: Uint32Array;
}

/** Facts about the rows of a fragment, each read when first needed. */
interface FragmentNumbers {
  readonly fragment: DataFragment;
  /** Live rows of the fragments before this one; null before they are counted. */
  firstOffset: number | null;
  /** Sorted physical offsets; undefined before they are read. */
  deleted: Uint32Array | null | undefined;
  readonly runs: Map<SystemColumn, RunTable>;
}

/** Makes system columns from the addresses of rows. It caches the facts about each fragment. */
export class RowNumbers {
  readonly #source: FragmentSource;
  readonly #manifest: Manifest;
  /** Path of the manifest, for errors. */
  readonly #path: string;
  readonly #byId = new Map<number, FragmentNumbers>();
  /** True if ids differ from addresses. */
  readonly hasStableIds: boolean;

  constructor(source: FragmentSource, manifest: Manifest, path: string) {
    this.#source = source;
    this.#manifest = manifest;
    this.#path = path;
    this.hasStableIds = hasStableRowIds(manifest);
  }

  /**
   * The values of a system column for some rows, in their order.
   * @param addresses in the form that {@link addressWords} reads
   * @throws CorruptFileError if the manifest lacks an entry that it must have; InvalidInputError for row
   *   versions if the table does not record them
   */
  async column(which: SystemColumn, addresses: FixedColumn): Promise<FixedColumn> {
    if (ROW_VERSIONS.has(which) && !this.hasStableIds) {
      throw new InvalidInputError(
        `column ${which}: only tables with stable row ids record the versions of rows; create the table with stableRowIds: true`,
      );
    }
    if (which === "_rowaddr" || (which === "_rowid" && !this.hasStableIds)) return addresses;
    const addressWordPairs = addressWords(addresses);
    const words = new Uint32Array(addressWordPairs.length);
    if (which !== "_rowoffset" && sequences.current === undefined) await sequences.get();
    let facts: FragmentNumbers | null = null;
    let fragmentId = -1;
    for (let start = 0; start < addressWordPairs.length; ) {
      if (facts === null || addressWordPairs[start + 1] !== fragmentId) {
        fragmentId = addressWordPairs[start + 1];
        facts = this.#fragment(fragmentId);
        if (which === "_rowoffset") await this.#countBefore(facts);
      }
      let end = start + 2;
      while (end < addressWordPairs.length && addressWordPairs[end + 1] === fragmentId) end += 2;
      if (which === "_rowoffset") fillOffsets(facts, addressWordPairs, words, start, end);
      else fillRuns(this.#runs(facts, which), addressWordPairs, words, start, end);
      start = end;
    }
    return wordPairs(words);
  }

  #fragment(id: number): FragmentNumbers {
    if (this.#byId.size === 0) {
      for (const fragment of this.#manifest.fragments) {
        const runs = new Map<SystemColumn, RunTable>();
        this.#byId.set(fragment.id, { fragment, firstOffset: null, deleted: undefined, runs });
      }
    }
    const facts = this.#byId.get(id);
    if (facts === undefined) throw new CorruptFileError(this.#path, 0, `there is no fragment ${id}`);
    return facts;
  }

  async #countBefore(wanted: FragmentNumbers): Promise<void> {
    if (wanted.firstOffset === null) {
      let live = 0;
      for (const facts of this.#byId.values()) {
        if (facts.firstOffset === null) facts.firstOffset = live;
        if (facts === wanted) break;
        const { deletionFile } = facts.fragment;
        // Old writers do not record the number of deleted rows.
        if (deletionFile?.numDeletedRows === 0) await this.#readDeleted(facts);
        live =
          facts.firstOffset +
          (facts.deleted == null
            ? liveRowCount(facts.fragment)
            : facts.fragment.physicalRows - facts.deleted.length);
      }
    }
    await this.#readDeleted(wanted);
  }

  async #readDeleted(facts: FragmentNumbers): Promise<void> {
    if (facts.deleted !== undefined) return;
    const { fragment } = facts;
    facts.deleted = fragment.deletionFile === undefined ? null : await this.#source.readDeletions(fragment);
  }

  #runs(facts: FragmentNumbers, which: SystemColumn): RunTable {
    let table = facts.runs.get(which);
    if (table === undefined) {
      table = runTable(sequences.made.systemRuns(facts.fragment, which, this.#path));
      facts.runs.set(which, table);
    }
    return table;
  }
}

function fillOffsets(
  { deleted, firstOffset }: FragmentNumbers,
  addressWordPairs: Uint32Array,
  words: Uint32Array,
  start: number,
  end: number,
): void {
  const first = firstOffset ?? 0;
  const deletedRows = deleted ?? new Uint32Array(0);
  let before = 0;
  let lastRow = -1;
  for (let index = start; index < end; index += 2) {
    const row = addressWordPairs[index];
    if (row <= lastRow) before = lowerBound(deletedRows, row);
    else while (before < deletedRows.length && deletedRows[before] < row) before++;
    lastRow = row;
    const offset = first + row - before;
    words[index] = offset;
    words[index + 1] = offset / 2 ** 32;
  }
}

function fillRuns(
  { starts, values, counts, step }: RunTable,
  addressWordPairs: Uint32Array,
  words: Uint32Array,
  start: number,
  end: number,
): void {
  let run = 0;
  for (let index = start; index < end; index += 2) {
    const row = addressWordPairs[index];
    if (row < starts[run] || row >= starts[run] + counts[run]) {
      const isNext =
        run + 1 < starts.length && row >= starts[run + 1] && row < starts[run + 1] + counts[run + 1];
      run = isNext ? run + 1 : Math.max(0, lowerBound(starts, row + 1) - 1);
    }
    const value = values[run] + step * (row - starts[run]);
    words[index] = value;
    words[index + 1] = value / 2 ** 32;
  }
}

function runTable(runs: ValueRuns): RunTable {
  const starts = new Uint32Array(runs.counts.length);
  for (let run = 1; run < starts.length; run++) starts[run] = starts[run - 1] + runs.counts[run - 1];
  return { ...runs, starts };
}
