/** AlterTableDropColumns: drops columns or struct members from the schema. Their files stay. */

import { dropColumns } from "../../write/columns/changeColumns.js";
import type { OperationBody } from "../operation.js";
import { requireStrings } from "../requestValues.js";
import { openWritable } from "../snapshot.js";

export const alterTableDropColumns: OperationBody<"alterTableDropColumns"> = async (context, request) => {
  const columns = requireStrings(request.columns, "columns");
  const table = await openWritable(context, request);
  const { committed, transactionId } = await dropColumns(table, columns, request.signal);
  return { transactionId, version: committed.version };
};
