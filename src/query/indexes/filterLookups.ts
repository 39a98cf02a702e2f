/** Looks up the rows of a filter in one version by indexes, in place of an evaluation for all rows. */

import type { Column } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import { isPending } from "../../async/pending.js";
import type { BoundExpression } from "../../expression/expression.js";
import type { ValueType } from "../../expression/values/types.js";
import type { DataFragment } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import type { OpenIndex } from "../../indexes/kind.js";
import type { TableField } from "../../schema/schema.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { ColumnSource } from "../columns/columnReads.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import type { RowsOfFragment } from "../scan/rowPlaces.js";
import { IndexedRows } from "./indexedRows.js";
import { type IndexUse, planIndexUse, type RowIdentityColumn } from "./indexUse.js";
import { type Predicate, type PredicateTest, predicateOf } from "./predicates.js";
import {
  type IndexSegment,
  indexesOf,
  noteUnread,
  openedIndexSegment,
  openIndexSegment,
  type UsableIndex,
} from "./tableIndexes.js";
import type { ReaderEnvironment } from "./versionSource.js";

/** Maximum number of rows that {@link FilterLookups.findFew} finds. */
const FEW_ROWS = 64;

/** A column of a key, and the values that keys have in it. */
export interface KeyValues {
  readonly path: string;
  readonly type: ValueType;
  readonly values: Column;
}

/** A filter whose tests can be looked up. */
interface LookedUp {
  readonly version: OpenVersion<ReaderEnvironment>;
  readonly predicate: Predicate;
  /** Types of the columns that a scan would read. */
  readonly types: readonly ValueType[];
  readonly isForced: boolean;
  readonly optionsOf: (ask: PredicateTest) => readonly UsableIndex[] | RowIdentityColumn;
}

export class FilterLookups {
  readonly #filter: LookedUp;
  /** The latest plan. A query of more than a few rows asks for it twice: for {@link findFew}, and to read. */
  #latest: {
    readonly fragments: readonly DataFragment[];
    readonly wantedRows: number;
    readonly use: Promise<IndexUse | null>;
  } | null = null;

  private constructor(filter: LookedUp) {
    this.#filter = filter;
  }

  /**
   * Prepares the look-up of a filter.
   * @param inputs sources of the expression's columns
   * @param isForced true to use indexes even if a scan should be faster
   * @returns null if no part of the filter can be looked up
   * @throws CorruptFileError
   */
  static *of(
    version: OpenVersion<ReaderEnvironment>,
    expression: BoundExpression,
    inputs: readonly ColumnSource[],
    fields: readonly TableField[],
    isForced: boolean,
  ): Steps<FilterLookups | null> {
    const predicate = yield* predicateOf(yield* expression.condition());
    if (predicate === null) return null;
    const indexesWith = indexOptions(version, fields);
    const options = inputs.map((input, position): readonly UsableIndex[] | RowIdentityColumn => {
      if (input.kind === "stored") return indexesWith(formatFieldPath(expression.paths[position]));
      const which = input.kind === "system" ? input.which : null;
      return which === "_rowid" || which === "_rowaddr" || which === "_rowoffset" ? which : [];
    });
    if (options.every((option) => option.length === 0)) return null;
    const optionsOf = ({ column }: PredicateTest) => options[column.index];
    return new FilterLookups({ version, predicate, types: expression.inputTypes, isForced, optionsOf });
  }

  /**
   * Prepares the look-up of rows by key. It finds the rows that have one of the keys, and maybe others.
   * @param parts columns of the key
   * @returns null if no index has one of the columns
   * @throws CorruptFileError
   */
  static ofKeys(
    version: OpenVersion<ReaderEnvironment>,
    parts: readonly KeyValues[],
    fields: readonly TableField[],
  ): FilterLookups | null {
    const options = indexOptions(version, fields);
    const indexed = parts
      .map(({ type, values, path }) => ({ type, values, indexes: options(path) }))
      .filter(({ indexes }) => indexes.length > 0);
    if (indexed.length === 0) return null;
    const asks = indexed.map(
      ({ type, values }, index): PredicateTest => ({
        kind: "ask",
        column: { kind: "column", type, index, isTop: true },
        test: { kind: "in", values },
        isNegated: false,
      }),
    );
    const predicate: Predicate = { kind: "within", part: { kind: "and", parts: asks } };
    const optionsOf = ({ column }: PredicateTest) => indexed[column.index].indexes;
    return new FilterLookups({
      version,
      predicate,
      types: parts.map(({ type }) => type),
      isForced: false,
      optionsOf,
    });
  }

  /**
   * Plans which look-ups run. Loads what the indexes keep in memory.
   * @param wantedRows maximum number of wanted rows
   * @returns null to scan everything
   * @throws CorruptFileError
   */
  plan(fragments: readonly DataFragment[], wantedRows: number): Promise<IndexUse | null> {
    const latest = this.#latest;
    if (latest?.fragments === fragments && latest.wantedRows === wantedRows) return latest.use;
    const { version, predicate, types, isForced, optionsOf } = this.#filter;
    const use = planIndexUse({
      predicate,
      types,
      isForced,
      optionsOf,
      fragments,
      hasStableIds: hasStableRowIds(version.file.manifest),
      wantedRows,
      opened: (index, segment) => openedIndexSegment(version, version.table.environment, index, segment),
      open: (index, segment) => this.#open(index, segment, null),
    });
    this.#latest = { fragments, wantedRows, use };
    return use;
  }

  /**
   * Searches the indexes.
   * @param observed source that counts reads; null without counting
   */
  find(
    use: IndexUse,
    source: FragmentSource,
    observed: FragmentSource | null,
    signal: AbortSignal | undefined,
  ): Promise<IndexedRows> {
    const { file, path } = this.#filter.version;
    const { fragments, nextRowId } = file.manifest;
    const reopen = (index: UsableIndex, segment: IndexSegment) => this.#open(index, segment, observed);
    const hasStableIds = hasStableRowIds(file.manifest);
    const input = { fragments, hasStableIds, nextRowId, path, reopen: observed && reopen };
    return IndexedRows.find(use, input, source, signal);
  }

  /**
   * Searches the indexes if they find the rows exactly, and few are expected. This takes less time than the
   * streams of {@link find}, which are made for many rows.
   * @param isIndexedOnly true to leave out fragments that no index covers
   * @returns rows by fragment, without empty fragments; null if other rows must be read
   */
  async findFew(
    source: FragmentSource,
    fragments: readonly DataFragment[],
    isIndexedOnly: boolean,
    signal: AbortSignal | undefined,
  ): Promise<RowsOfFragment[] | null> {
    const use = await this.plan(fragments, Number.POSITIVE_INFINITY);
    if (use === null) return null;
    const rowCount = use.parts.reduce(
      (sum, { isExact, rows }) => sum + (isExact ? rows : Number.POSITIVE_INFINITY),
      0,
    );
    const isCovered = ({ id }: DataFragment) => use.parts.some(({ fragmentIds }) => fragmentIds.has(id));
    if (rowCount > FEW_ROWS || (!isIndexedOnly && !fragments.every(isCovered))) return null;
    const indexed = await this.find(use, source, null, signal);
    if (!indexed.areExact) return null;
    const parts: RowsOfFragment[] = [];
    for (const fragment of fragments) {
      const finding = indexed.rowsIn(source, fragment);
      const rows = isPending(finding) ? await finding : finding;
      if (rows.length > 0) parts.push({ fragment, rows });
    }
    return parts;
  }

  #open(
    index: UsableIndex,
    segment: IndexSegment,
    observed: FragmentSource | null,
  ): Promise<OpenIndex | null> {
    const { version } = this.#filter;
    const { environment } = version.table;
    const readerEnvironment = observed === null ? environment : { ...environment, handles: observed.handles };
    return openIndexSegment(version, readerEnvironment, index, segment, observed !== null);
  }
}

/** Returns a function that lists the indexes on a column that may answer filters. */
function indexOptions(
  { file, table }: OpenVersion<ReaderEnvironment>,
  fields: readonly TableField[],
): (path: string) => readonly UsableIndex[] {
  const { usable, unread } = indexesOf(file, fields);
  return (path) => {
    noteUnread(table, unread.get(path)?.filter(({ family }) => family !== "words") ?? []);
    // Full-text indexes answer no filter.
    return usable.get(path)?.filter(({ kind }) => kind.name !== "FTS") ?? [];
  };
}
