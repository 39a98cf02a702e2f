/** Updates the rows that a filter selects: writes changed copies, and marks the old rows as deleted. */

import type { InputBatch } from "../../arrow/exchange/input.js";
import { runAsync } from "../../async/eventLoop.js";
import type { FileVersion } from "../../file/container/page.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { storedProjection } from "../../query/columns/projection.js";
import type { Filter } from "../../query/filter/filter.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import type { ColumnPlan } from "../../rows/columnPlan.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import type { ChangeTarget } from "../../table/commit/commit.js";
import { stableIdsOf } from "../../table/fragments/rowOrigins.js";
import { concatRuns, pickRuns, type ValueRuns } from "../../table/fragments/rowSequences.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { fileVersionOf, writeTableRows } from "../dataFiles.js";
import { planCopy } from "../tableColumns.js";
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
      const resolved = await resolvedOn(fields, base);
      const plan = planMoved(fields, resolved.assignments, fileVersionOf(base.file));
      const ids: ValueRuns[] = [];
      const isStable = hasStableRowIds(manifest);
      const batches = movedBatches(base, source, fields, resolved, marks, options, isStable ? ids : null);
      const written = await writeTableRows(base, fields, plan, batches, { base: manifest, signal });
      const fieldIds = resolved.assignments.map(({ field }) => field.id);
      return {
        written: [written],
        movedIds: isStable ? concatRuns(1, ids) : null,
        operation: { kind: "update", fieldIds },
        updatedRows: written.rowCount,
      };
    },
    { signal },
  );
}

/** Plans the columns of moved rows: copied, except for blobs that get new values. */
function planMoved(
  fields: readonly TableField[],
  assignments: readonly PlannedAssignment[],
  version: FileVersion,
): ColumnPlan {
  const plan = planCopy(fields, fields, version);
  const wrapped = new Set(assignments.filter(({ wrapsBlobs }) => wrapsBlobs).map(({ index }) => index));
  const columns = plan.columns.map((column) =>
    wrapped.has(column.sourceIndex) ? { ...column, conversion: "wrapBlob" as const } : column,
  );
  return { ...plan, columns };
}

/** Yields the rows with their new values, marks the old ones as deleted, and notes their stable ids. */
async function* movedBatches(
  base: OpenLatest<ReaderEnvironment>,
  source: FragmentSource,
  fields: readonly TableField[],
  { filter, assignments }: ResolvedUpdate,
  marks: DeletionMarks,
  options: MatchOptions,
  ids: ValueRuns[] | null,
): AsyncGenerator<InputBatch> {
  const { signal } = options;
  const projection = storedProjection(fields);
  for await (const selection of markSelected(base, source, filter, marks, options)) {
    ids?.push(pickRuns(stableIdsOf(selection.fragment, base.path), selection.rows));
    for await (const { columns, rowCount } of readRows(source, projection, selection, signal)) {
      const changed = [...columns];
      // Expressions see the values before the update.
      for (const { index, evaluate } of assignments) {
        changed[index] = await runAsync(evaluate(columns, rowCount), signal);
      }
      yield { columns: changed, rowCount };
    }
  }
}
