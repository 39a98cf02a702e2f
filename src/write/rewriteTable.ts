/**
 * Makes the next version of a table that is rewritten as a whole at every change: the new rows replace all
 * earlier ones, in one file, under the same schema. The table's settings and metadata stay.
 */

import type { Schema } from "apache-arrow";
import type { Column } from "../arrow/columns/column.js";
import type { ArrowInput } from "../arrow/exchange/input.js";
import { arrowSchemaOf } from "../arrow/types/logicalTypes.js";
import { Overwrite } from "../format/table.js";
import type { LockLease } from "../io/lock/lease.js";
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
  const schema = arrowSchemaOf(fields);
  const plan = planAppend(fields, schema, version);
  const columnPlan = rowCount <= MAX_PLAIN_ROWS ? uncompressed(plan) : plan;
  const rows = await writeRows(disk, root, columnPlan, inputOf(schema, columns, rowCount), {
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

function inputOf(schema: Schema, columns: readonly Column[], rowCount: number): ArrowInput {
  return {
    schema,
    batches: (async function* () {
      if (rowCount > 0) yield { columns: [...columns], rowCount };
    })(),
    close: async () => undefined,
  };
}
