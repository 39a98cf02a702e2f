/**
 * Takes away the values of a computed column that no longer fit their inputs, in one version, so that a backfill computes
 * these rows like others that have no value.
 */

import { type DataFile, DataFragment, UPDATE_MODE, Update } from "../../format/table.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { fieldIdsOf } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import { type ChangeTarget, commitPlanned } from "../../table/commit/commit.js";
import { withFiles } from "../../table/commit/publication.js";
import { newTransaction } from "../../table/commit/transaction.js";
import type { OpenLatest } from "../../table/versions/tableAt.js";
import { ColumnFiles } from "../columns/columnFiles.js";
import { whileThere } from "../whileThere.js";
import { mustSee } from "./commitValues.js";
import { readFittingRecord } from "./fittingRecord.js";
import { OUTDATED_PROPERTY, outdatedRows } from "./outdatedRows.js";
import { withoutValues } from "./outdatedValues.js";

export interface TakeOutdatedOptions {
  /** The column on a version; rejects where that is not what was meant when the work began. */
  readonly fieldOn: (base: OpenLatest) => Promise<TableField>;
  /** Called right before the version is published. */
  readonly hold: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** @returns the version that was committed; null where all values fit */
export async function takeOutdated(
  target: ChangeTarget<ReaderEnvironment>,
  { fieldOn, hold, signal }: TakeOutdatedOptions,
): Promise<number | null> {
  const files = new ColumnFiles(target.at, { signal, pool: target.at.environment.workers });
  const verify = async (): Promise<void> => {
    await files.requireInPlace();
    await hold();
  };
  return withFiles(
    async () => files.discard(),
    async () => {
      const committed = await commitPlanned(
        target,
        async (base) => {
          const field = await fieldOn(base);
          const updatedFragments = await whileThere(base, () => changedFragments(base, field, files, signal));
          if (updatedFragments.length === 0) return null;
          const update = Update.create({
            updatedFragments,
            fieldsModified: fieldIdsOf(field),
            updateMode: UPDATE_MODE.rewriteColumns,
          });
          const transactionProperties = new Map([[OUTDATED_PROPERTY, String(field.id)]]);
          return {
            transaction: { ...newTransaction(base.version, "update", update), transactionProperties },
          };
        },
        { signal, verify, mustSee },
      );
      // A file that can't be removed is an orphan that nothing refers to.
      await files.discard(committed?.committed.file.manifest.fragments).catch(() => undefined);
      return committed?.committed.version ?? null;
    },
  );
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
    const without = await withoutValues(base, fragment, field, rows, { files, signal });
    changed.push(DataFragment.create({ ...without, files: without.files.filter(isOfUse) }));
  }
  return changed;
}

/** Whether a file has a column that is still in a schema. */
const isOfUse = ({ fields }: DataFile): boolean => fields.length === 0 || fields.some((id) => id >= 0);
