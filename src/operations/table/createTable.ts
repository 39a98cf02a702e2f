/** CreateTable: a new table of the given rows. */

import { findTable, locateTable, refuseDeregistered } from "../../catalog/rootTables.js";
import { TableAlreadyExistsError, UnsupportedError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { CreateTableRequest, CreateTableResponse, RowsInput } from "../../namespace.js";
import { readManifestAt } from "../../table/versions.js";
import { insertRows } from "../../write/insert.js";
import type { OperationContext } from "../context.js";
import { optionalStringMap, parseChoice, requireTableId } from "../request.js";

export async function createTable(
  context: OperationContext,
  request: CreateTableRequest,
  data: RowsInput,
): Promise<CreateTableResponse> {
  const id = requireTableId(request.id);
  const mode = parseChoice(request.mode, "mode", ["Create", "ExistOk", "Overwrite"], "Create");
  const properties = optionalStringMap(request.properties, "properties");
  const location = await locateTable(context.disk, context.root, id);
  if (properties !== undefined && Object.keys(properties).length > 0) {
    throw new UnsupportedError("properties: properties of root tables are not supported by this release");
  }
  const exists = () => new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);

  const found = await findTable(context.disk, location);
  if (found === null) await refuseDeregistered(context.disk, location);
  const latest = found?.latest ?? null;
  const file = latest && (await readManifestAt(context, latest));
  const asFound = (version: number) => ({ location: location.directory, version, numInsertedRows: 0 });
  if (latest !== null && file !== null && mode !== "Overwrite") {
    if (mode === "Create") throw exists();
    return asFound(latest.version);
  }
  const base = latest !== null && file !== null ? { version: latest.version, file } : null;
  const inserted = await insertRows(context, location.directory, base, data, {
    mode: "Overwrite",
    newTable: { version: context.newTableVersion, naming: context.newTableNaming },
    onCreated: mode === "Overwrite" ? "overwrite" : "fail",
    signal: request.signal,
  });
  if (inserted === null) {
    const winner = mode === "ExistOk" ? (await findTable(context.disk, location))?.latest : undefined;
    if (winner === undefined || winner === null) throw exists();
    return asFound(winner.version);
  }
  return {
    transactionId: inserted.transactionId,
    location: location.directory,
    version: inserted.committed.version,
    numInsertedRows: inserted.rowCount,
  };
}
