/** AlterTableDropColumns: drops columns or struct members from the schema. Their files stay. */

import type { AlterTableDropColumnsRequest, AlterTableDropColumnsResponse } from "../../namespace/schema.js";
import { dropColumns } from "../../write/columns/changeColumns.js";
import type { OperationContext } from "../context.js";
import { requireStrings } from "../request.js";
import { openWritable } from "../snapshot.js";

export async function alterTableDropColumns(
  context: OperationContext,
  request: AlterTableDropColumnsRequest,
): Promise<AlterTableDropColumnsResponse> {
  const columns = requireStrings(request.columns, "columns");
  const table = await openWritable(context, request);
  const { committed, transactionId } = await dropColumns(table, columns, request.signal);
  return { transactionId, version: committed.version };
}
