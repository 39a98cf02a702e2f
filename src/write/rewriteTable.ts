/** Replaces all rows of a table, in one file, under the same schema, settings and metadata. */

import type { Column } from "../arrow/columns/column.js";
import { arrowSchemaOf } from "../arrow/types/logicalTypes.js";
import { Overwrite } from "../format/table.js";
import type { LockLease } from "../io/disk/locks.js";
import type { ColumnPlan } from "../rows/columnPlan.js";
import { decodeSchema } from "../schema/schema.js";
import { commitSuccessor } from "../table/commit/commit.js";
import { withFiles } from "../table/commit/publication.js";
import { newTransaction } from "../table/commit/transaction.js";
import type { OpenLatest, OpenVersion } from "../table/versions/tableAt.js";
import { fileVersionOf, writeRows } from "./dataFiles.js";
import { planAppend } from "./tableColumns.js";

/** Maximum rows that are written uncompressed: choosing a compression takes longer than writing so few. */
const MAX_PLAIN_ROWS = 2_000;

/**
 * Commits rows that were computed from `base`, the latest version at that time. The caller holds the table's
 * lock.
 * @param columns of `rowCount` rows each, one for every top-level field of the schema, in order
 * @returns null if another writer committed first: the rows must be computed again
 */
export async function rewriteTable(
  base: OpenLatest,
  columns: readonly Column[],
  rowCount: number,
  lease: LockLease,
): Promise<OpenVersion | null> {
  const { disk, root } = base.table;
  const { manifest, path } = base.file;
  const version = fileVersionOf(base.file);
  const fields = decodeSchema(manifest.fields, path);
  const plan = planAppend(fields, arrowSchemaOf(fields), version);
  const columnPlan = rowCount <= MAX_PLAIN_ROWS ? uncompressed(plan) : plan;
  async function* batches() {
    if (rowCount > 0) yield { columns: [...columns], rowCount };
  }
  const rows = await writeRows(disk, root, columnPlan, batches(), {
    version,
    descriptor: { fields: manifest.fields, metadata: manifest.schemaMetadata },
    within: root,
    base: manifest,
  });
  return withFiles(
    () => rows.discard(),
    () => {
      const replacement = Overwrite.create({ fragments: rows.fragments, schema: manifest.fields });
      const transaction = newTransaction(base.version, "overwrite", replacement);
      return commitSuccessor(base, transaction, lease);
    },
  );
}

/** Plans the same columns without compression. The schema does not record this. */
function uncompressed(plan: ColumnPlan): ColumnPlan {
  const metadata = new Map([["lance-encoding:compression", "none"]]);
  const columns = plan.columns.map((column) => ({ ...column, target: { ...column.target, metadata } }));
  return { ...plan, columns };
}
