/** DeleteFromTable: deletes the rows that a predicate selects. Creates a version even if it selects none. */

import { deleteMatching } from "../../write/changes/deleteMatching.js";
import { filterOf } from "../filter.js";
import { textOfFilter } from "../filterText.js";
import type { OperationBody } from "../operation.js";
import { rowProgress } from "../progress.js";
import { openWritable } from "../snapshot.js";

export const deleteFromTable: OperationBody<"deleteFromTable"> = async (context, request) => {
  const { predicate, params, signal } = request;
  const text = textOfFilter(predicate, "predicate");
  const onRows = rowProgress(request);
  const table = await openWritable(context, request);
  const { committed, transactionId, change } = await deleteMatching(
    table,
    (base) => filterOf(base, predicate, params, "predicate", signal),
    text,
    { signal, onRows },
  );
  return { transactionId, version: committed.version, numDeletedRows: change.deletedRows };
};
