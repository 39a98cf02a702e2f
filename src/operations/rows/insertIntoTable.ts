/** InsertIntoTable: adds rows, or replaces all rows. A declared table gets its first version. */

import { requireStillTable } from "../../catalog/locations/tables.js";
import { refuseLogs } from "../../table/versions/bufferedRows.js";
import { insertRows, requireInserted } from "../../write/insert.js";
import type { OperationBody } from "../operation.js";
import { insertProgress } from "../progress.js";
import { inputBounds, optionalSchema, parseChoice } from "../requestValues.js";
import { anchorOfOpen, openTable } from "../snapshot.js";

export const insertIntoTable: OperationBody<"insertIntoTable"> = async (context, request, _access, data) => {
  const mode = parseChoice(request.mode, "mode", ["Append", "Overwrite"], "Append");
  const bounds = inputBounds(request);
  const onRows = insertProgress(request);
  const open = await openTable(context, request);
  const anchor = await anchorOfOpen(open);
  if (anchor.kind === "version") await refuseLogs(anchor.base, "none");
  const inserted = await insertRows(open.table, anchor, data, {
    mode,
    newTable: { version: context.newTableVersion, naming: context.newTableNaming },
    onCreated: mode === "Overwrite" ? "overwrite" : "append",
    beforeCreation: () => requireStillTable(context, open.entry),
    bounds,
    onRows,
    schema: optionalSchema(request.schema),
    groups: await context.appendGroups?.get(),
    pool: context.workers,
    signal: request.signal,
  });
  const { committed, transactionId, rowCount } = requireInserted(inserted);
  return { transactionId, version: committed.version, numInsertedRows: rowCount };
};
