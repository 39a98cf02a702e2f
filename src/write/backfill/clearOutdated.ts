/** Clears outdated values of a computed column in one version, so that a backfill fills their rows. */

import { type DataFragment, UPDATE_MODE, Update } from "../../format/table.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import { newTransaction } from "../../table/commit/transaction.js";
import type { OpenLatest, OpenVersion } from "../../table/versions/tableAt.js";
import type { ColumnFiles } from "../columns/columnFiles.js";
import { commitColumnFiles } from "../columns/commitColumnFiles.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { type BackfillRun, resolvedAsAsked } from "./backfillWork.js";
import { withoutUnusedFiles, withoutValues } from "./clearDependents.js";
import { mustSee } from "./commitValues.js";
import { readFittingRecord } from "./fittingRecord.js";
import { OUTDATED_PROPERTY, outdatedRows } from "./outdatedRows.js";

/** @returns the committed version, null if all values fit; and the version in which they were checked */
export async function clearOutdated(
  run: BackfillRun,
): Promise<{ readonly version: number | null; readonly fitting: OpenVersion | null }> {
  const { target, control, signal } = run;
  let latest = null as OpenVersion | null;
  const done = await commitColumnFiles(
    target,
    async (base, files) => {
      latest = base;
      const { field } = await resolvedAsAsked(run, base);
      const updatedFragments = await conflictIfRemoved(base, () =>
        changedFragments(base, field, files, signal),
      );
      if (updatedFragments.length === 0) return null;
      const update = Update.create({
        updatedFragments,
        fieldsModified: fieldIdsOf(field),
        updateMode: UPDATE_MODE.rewriteColumns,
      });
      const transactionProperties = new Map([[OUTDATED_PROPERTY, String(field.id)]]);
      return { transaction: { ...newTransaction(base.version, "update", update), transactionProperties } };
    },
    { signal, verify: () => control.hold(), mustSee },
  );
  return { version: done?.committed.version ?? null, fitting: done?.committed ?? latest };
}

async function changedFragments(
  base: OpenLatest<ReaderEnvironment>,
  field: TableField,
  files: ColumnFiles,
  signal: AbortSignal,
): Promise<DataFragment[]> {
  const marks = await outdatedRows(base, field, await readFittingRecord(base, field), signal);
  const changed: DataFragment[] = [];
  for (const fragment of base.file.manifest.fragments) {
    const rows = marks.get(fragment.id);
    if (rows === undefined) continue;
    const gone = { field, rows, rowsKey: rows === "all" ? rows : rows.join() };
    changed.push(withoutUnusedFiles(await withoutValues(base, fragment, gone, { files, signal })));
  }
  return changed;
}
