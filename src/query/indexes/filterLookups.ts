/** Looks up the rows of a filter in one version by indexes, in place of an evaluation for all rows. */

import type { Steps } from "../../async/eventLoop.js";
import type { BoundExpression } from "../../expression/expression.js";
import type { DataFragment } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import type { OpenIndex } from "../../indexes/kind.js";
import type { TableField } from "../../schema/schema.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { ColumnSource } from "../columns/columnReads.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { IndexedRows } from "./indexedRows.js";
import { type IndexUse, planIndexUse, type RowIdentityColumn } from "./indexUse.js";
import { type Predicate, type PredicateTest, predicateOf } from "./predicates.js";
import {
  type IndexSegment,
  indexesOf,
  noteUnread,
  openIndexSegment,
  type UsableIndex,
} from "./tableIndexes.js";
import type { ReaderEnvironment } from "./versionSource.js";

/** A filter whose tests can be looked up. */
interface LookedUp {
  readonly version: OpenVersion<ReaderEnvironment>;
  readonly predicate: Predicate;
  readonly expression: BoundExpression;
  readonly isForced: boolean;
  readonly optionsOf: (ask: PredicateTest) => readonly UsableIndex[] | RowIdentityColumn;
}

export class FilterLookups {
  readonly #filter: LookedUp;

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
    const { usable, unread } = indexesOf(version.file, fields);
    const options = inputs.map((input, position): readonly UsableIndex[] | RowIdentityColumn => {
      if (input.kind === "stored") {
        const path = formatFieldPath(expression.paths[position]);
        noteUnread(version.table, unread.get(path)?.filter(({ family }) => family !== "words") ?? []);
        // Full-text indexes answer no filter.
        return usable.get(path)?.filter(({ kind }) => kind.name !== "FTS") ?? [];
      }
      const which = input.kind === "system" ? input.which : null;
      return which === "_rowid" || which === "_rowaddr" || which === "_rowoffset" ? which : [];
    });
    if (options.every((option) => option.length === 0)) return null;
    const optionsOf = ({ column }: PredicateTest) => options[column.index];
    return new FilterLookups({ version, predicate, expression, isForced, optionsOf });
  }

  /**
   * Plans which look-ups run. Loads what the indexes keep in memory.
   * @param wantedRows maximum number of wanted rows
   * @returns null to scan everything
   * @throws CorruptFileError
   */
  plan(fragments: readonly DataFragment[], wantedRows: number): Promise<IndexUse | null> {
    const { version, expression } = this.#filter;
    return planIndexUse({
      ...this.#filter,
      fragments,
      hasStableIds: hasStableRowIds(version.file.manifest),
      types: expression.inputTypes,
      wantedRows,
      open: (index, segment) => this.#open(index, segment, null),
    });
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
