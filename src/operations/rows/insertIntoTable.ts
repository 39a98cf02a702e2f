/** InsertIntoTable: adds rows or replaces all; makes a table of one that was only declared. */

import type { InsertIntoTableRequest, InsertIntoTableResponse, RowsInput } from "../../namespace.js";
import { readManifestAt } from "../../table/versions.js";
import { insertRows, requireInserted } from "../../write/insert.js";
import type { OperationContext } from "../context.js";
import { optionalCount, parseChoice } from "../request.js";
import { openTable } from "../snapshot.js";

export async function insertIntoTable(
  context: OperationContext,
  request: InsertIntoTableRequest,
  data: RowsInput,
): Promise<InsertIntoTableResponse> {
  const mode = parseChoice(request.mode, "mode", ["Append", "Overwrite"], "Append");
  const maxBatchBytes = optionalCount(request.maxBatchBytes, "maxBatchBytes", 1);
  const { tableRoot, latest } = await openTable(context, request);
  const file = latest && (await readManifestAt(context, latest));
  const base = latest !== null && file !== null ? { version: latest.version, file } : null;
  const inserted = await insertRows(context, tableRoot, base, data, {
    mode,
    newTable: { version: context.newTableVersion, naming: context.newTableNaming },
    onCreated: mode === "Overwrite" ? "overwrite" : "append",
    maxBatchBytes,
    signal: request.signal,
  });
  const { committed, transactionId, rowCount } = requireInserted(inserted);
  return { transactionId, version: committed.version, numInsertedRows: rowCount };
}
