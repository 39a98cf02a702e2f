/**
 * Updates the rows that a filter selects: reads them, changes them column by column, and writes them to new
 * fragments. Their old rows are marked as deleted. Other rows stay untouched.
 */

import type { Column } from "../../arrow/columns/column.js";
import type { ArrowInput, InputBatch } from "../../arrow/exchange/input.js";
import { arrowSchemaOf } from "../../arrow/types/logicalTypes.js";
import { runAsync } from "../../async/eventLoop.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { storedProjection } from "../../query/columns/projection.js";
import type { Filter } from "../../query/filter/filter.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { type ColumnPlan, checkVersion } from "../../rows/columnPlan.js";
import { decodeSchema, encodeFileSchema, type TableField } from "../../schema/schema.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import { stableIdsOf } from "../../table/fragments/rowOrigins.js";
import { concatRuns, pickRuns, type ValueRuns } from "../../table/fragments/rowSequences.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { planCopy } from "../copyPlan.js";
import { writeRows } from "../dataFiles.js";
import { fileVersionOf } from "../insert.js";
import type { PlannedAssignment } from "./assignments.js";
import { type CommittedRowChange, commitRowChange, type RowChange } from "./commitRowChange.js";
import { type MatchOptions, markSelected } from "./deleteMatching.js";
import type { DeletionMarks } from "./deletionFiles.js";
import { readRows } from "./readRows.js";

/** An update resolved on one version. */
interface ResolvedUpdate {
  readonly filter: Filter;
  readonly assignments: readonly PlannedAssignment[];
}

interface RowUpdate extends RowChange {
  readonly updatedRows: number;
}

/**
 * @param resolvedOn plans the filter and the assignments on a version; called again after another writer
 *   commits first
 * @throws TableSchemaValidationError if a column that is not nullable would hold nulls; InvalidInputError for
 *   a row for which an expression has no value; UnsupportedError for columns that this build does not write
 */
export function updateMatching(
  target: ChangeTarget<ReaderEnvironment>,
  resolvedOn: (fields: readonly TableField[], base: OpenLatest<ReaderEnvironment>) => Promise<ResolvedUpdate>,
  options: MatchOptions,
): Promise<CommittedRowChange<RowUpdate>> {
  const { signal } = options;
  return commitRowChange(
    target,
    async (base, marks, source): Promise<RowUpdate> => {
      const { manifest, path } = base.file;
      const fields = decodeSchema(manifest.fields, path);
      const version = fileVersionOf(base.file);
      const resolved = await resolvedOn(fields, base);
      const plan = planMoved(fields, resolved.assignments);
      checkVersion(plan, version);
      const moved = new MovedRows(base, source, fields, resolved, marks, options);
      const { root, disk } = base.table;
      const written = await writeRows(disk, root, plan, moved.input(), {
        version,
        descriptor: { fields: encodeFileSchema(fields), metadata: manifest.schemaMetadata },
        within: root,
        base: manifest,
        signal,
      });
      const fieldIds = resolved.assignments.map(({ field }) => field.id);
      return {
        written: [written],
        movedIds: moved.ids(),
        operation: { kind: "update", fieldIds },
        updatedRows: written.rowCount,
      };
    },
    signal,
  );
}

/** Plans the columns of moved rows: copied, except for blobs that get new values. */
function planMoved(fields: readonly TableField[], assignments: readonly PlannedAssignment[]): ColumnPlan {
  const plan = planCopy(fields, fields);
  const wrapped = new Set(assignments.filter(({ wrapsBlobs }) => wrapsBlobs).map(({ index }) => index));
  const columns = plan.columns.map((column) =>
    wrapped.has(column.sourceIndex) ? { ...column, conversion: "wrapBlob" as const } : column,
  );
  return { ...plan, columns };
}

/** Rows on their way to new fragments. Reading a row marks its old one as deleted. */
class MovedRows {
  readonly #base: OpenLatest<ReaderEnvironment>;
  readonly #source: FragmentSource;
  readonly #fields: readonly TableField[];
  readonly #resolved: ResolvedUpdate;
  readonly #marks: DeletionMarks;
  readonly #options: MatchOptions;
  readonly #ids: ValueRuns[] = [];
  readonly #isStable: boolean;

  constructor(
    base: OpenLatest<ReaderEnvironment>,
    source: FragmentSource,
    fields: readonly TableField[],
    resolved: ResolvedUpdate,
    marks: DeletionMarks,
    options: MatchOptions,
  ) {
    this.#base = base;
    this.#source = source;
    this.#fields = fields;
    this.#resolved = resolved;
    this.#marks = marks;
    this.#options = options;
    this.#isStable = hasStableRowIds(base.file.manifest);
  }

  input(): ArrowInput {
    return {
      schema: arrowSchemaOf(this.#fields),
      batches: this.#batches(),
      close: async () => undefined,
    };
  }

  /** Returns the stable ids of the rows read so far; null in a table without stable ids. */
  ids(): ValueRuns | null {
    return this.#isStable ? concatRuns(1, this.#ids) : null;
  }

  async *#batches(): AsyncGenerator<InputBatch, void, undefined> {
    const source = this.#source;
    const projection = storedProjection(this.#fields);
    const { filter } = this.#resolved;
    const { signal } = this.#options;
    for await (const selection of markSelected(this.#base, source, filter, this.#marks, this.#options)) {
      const { fragment, rows } = selection;
      if (this.#isStable) this.#ids.push(pickRuns(stableIdsOf(fragment, this.#base.path), rows));
      for await (const { columns, rowCount } of readRows(source, projection, selection, signal)) {
        yield { columns: await this.#changed(columns, rowCount), rowCount };
      }
    }
  }

  /** Evaluates the assignments on the values before the update. */
  async #changed(columns: readonly Column[], rowCount: number): Promise<Column[]> {
    const changed = [...columns];
    for (const assignment of this.#resolved.assignments) {
      changed[assignment.index] = await runAsync(
        assignment.evaluate(columns, rowCount),
        this.#options.signal,
      );
    }
    return changed;
  }
}
