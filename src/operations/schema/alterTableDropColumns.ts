/** AlterTableDropColumns: removes columns, or members of columns, from the schema; their files stay. */

import type { AlterTableDropColumnsRequest, AlterTableDropColumnsResponse } from "../../namespace.js";
import { dropColumns } from "../../write/columns/changeColumns.js";
import type { OperationContext } from "../context.js";
import { requireStrings } from "../request.js";
import { openWritable } from "../snapshot.js";

export async function alterTableDropColumns(
  context: OperationContext,
  request: AlterTableDropColumnsRequest,
): Promise<AlterTableDropColumnsResponse> {
  const columns = requireStrings(request.columns, "columns");
  const { tableRoot, latest } = await openWritable(context, request);
  const target = { environment: context, tableRoot, directory: latest.directory, signal: request.signal };
  const { committed, transactionId } = await dropColumns(target, columns);
  return { transactionId, version: committed.version };
}
