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
  unreadSegmentsOf,
} from "./tableIndexes.js";
import type { ReaderEnvironment } from "./versionSource.js";

export class FilterLookups {
  readonly #version: OpenVersion<ReaderEnvironment>;
  readonly #predicate: Predicate;
  readonly #expression: BoundExpression;
  readonly #isForced: boolean;
  readonly #optionsOf: (ask: PredicateTest) => readonly UsableIndex[] | RowIdentityColumn;

  private constructor(
    version: OpenVersion<ReaderEnvironment>,
    predicate: Predicate,
    expression: BoundExpression,
    isForced: boolean,
    optionsOf: (ask: PredicateTest) => readonly UsableIndex[] | RowIdentityColumn,
  ) {
    this.#version = version;
    this.#predicate = predicate;
    this.#expression = expression;
    this.#isForced = isForced;
    this.#optionsOf = optionsOf;
  }

  /**
   * Prepares the look-up of a filter.
   * @param inputs sources of the expression's columns
   * @param fields of the version
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
    const indexes = indexesOf(version.file, fields);
    const unread = unreadSegmentsOf(version.file, fields);
    const options = inputs.map((input, position): readonly UsableIndex[] | RowIdentityColumn => {
      if (input.kind === "stored") {
        const path = formatFieldPath(expression.paths[position]);
        noteUnread(version.table, unread.get(path)?.filter(({ family }) => family !== "words") ?? []);
        // Full-text indexes answer no filter.
        return indexes.get(path)?.filter(({ kind }) => kind.name !== "FTS") ?? [];
      }
      const which = input.kind === "system" ? input.which : null;
      return which === "_rowid" || which === "_rowaddr" || which === "_rowoffset" ? which : [];
    });
    if (options.every((option) => option.length === 0)) return null;
    return new FilterLookups(version, predicate, expression, isForced, ({ column }) => options[column.index]);
  }

  /**
   * Plans which look-ups run. Loads what the indexes keep in memory.
   * @param wantedRows maximum number of wanted rows
   * @returns null to scan everything
   * @throws CorruptFileError
   */
  plan(fragments: readonly DataFragment[], wantedRows: number): Promise<IndexUse | null> {
    return planIndexUse({
      predicate: this.#predicate,
      fragments,
      hasStableIds: hasStableRowIds(this.#version.file.manifest),
      types: this.#expression.inputTypes,
      wantedRows,
      isForced: this.#isForced,
      optionsOf: this.#optionsOf,
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
    const { file, path } = this.#version;
    const input = {
      fragments: file.manifest.fragments,
      hasStableIds: hasStableRowIds(file.manifest),
      nextRowId: file.manifest.nextRowId,
      path,
      reopen:
        observed === null
          ? null
          : (index: UsableIndex, segment: IndexSegment) => this.#open(index, segment, observed),
    };
    return IndexedRows.find(use, input, source, signal);
  }

  #open(
    index: UsableIndex,
    segment: IndexSegment,
    observed: FragmentSource | null,
  ): Promise<OpenIndex | null> {
    const { environment } = this.#version.table;
    const readerEnvironment = observed === null ? environment : { ...environment, handles: observed.handles };
    return openIndexSegment(this.#version, readerEnvironment, index, segment, observed !== null);
  }
}
