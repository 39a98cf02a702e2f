/** DropTableIndex: removes an index from later versions. Its files stay until no version needs them. */

import { CreateIndex, type Transaction } from "../../format/table.js";
import { commitPlanned } from "../../table/commit/commit.js";
import { newTransaction } from "../../table/commit/transaction.js";
import type { OperationBody } from "../operation.js";
import { requireString } from "../requestValues.js";
import { openWritable } from "../snapshot.js";
import { requireIndex } from "./recordedIndex.js";

export const dropTableIndex: OperationBody<"dropTableIndex"> = async (context, request) => {
  const name = requireString(request.indexName, "indexName");
  const table = await openWritable(context, request);
  // A concurrent compaction may have replaced the segments.
  const mustSee = ({ rewrite }: Transaction): boolean => (rewrite?.rewrittenIndices.length ?? 0) > 0;
  const { committed, plan } = await commitPlanned(
    table,
    (base) => {
      const { segments } = requireIndex(base.file, name, table.entry.id);
      const removal = CreateIndex.create({ removedIndices: [...segments] });
      return { transaction: newTransaction(base.version, "createIndex", removal) };
    },
    { signal: request.signal, mustSee },
  );
  return { transactionId: plan.transaction.uuid, version: committed.version };
};
