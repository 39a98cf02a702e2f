/**
 * CreateTable: creates a table from rows. In the root, the catalog row comes first and the first version is
 * the commit point. In a child namespace, the row comes last and is the commit point, so a failed creation
 * leaves nothing visible.
 */

import { claimLocation } from "../../catalog/locations/placement.js";
import {
  findTable,
  readTableProperties,
  requireStillTable,
  type TableEntry,
} from "../../catalog/locations/tables.js";
import { publishNewTable, republishTable } from "../../catalog/tableRows.js";
import { ConcurrentModificationError, InvalidInputError, TableAlreadyExistsError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { uriOn } from "../../io/disk/addresses.js";
import type { CreateTableResponse } from "../../namespace/tables.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import { ABSENT, anchorOf, declaredAnchor } from "../../table/versions/identity.js";
import { insertRows } from "../../write/insert.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { insertProgress } from "../progress.js";
import { optionalBoolean, requireTableId } from "../request.js";
import {
  inputBounds,
  optionalProperties,
  optionalSchema,
  optionalStringMap,
  parseChoice,
} from "../requestValues.js";
import { type CreationTarget, planCreation, publishFirst } from "./creationTarget.js";
import { newTableSettings } from "./newTableSettings.js";

export const createTable: OperationBody<"createTable"> = async (context, request, _access, data) => {
  const id = requireTableId(request.id);
  const mode = parseChoice(request.mode, "mode", ["Create", "ExistOk", "Overwrite"], "Create");
  const properties = optionalProperties(request.properties);
  const newTable = newTableSettings(
    context,
    optionalStringMap(request.storageOptions, "storageOptions"),
    optionalBoolean(request.stableRowIds, "stableRowIds"),
  );
  optionalBoolean(request.vendCredentials, "vendCredentials");
  const bounds = inputBounds(request);
  const onRows = insertProgress(request);
  const { signal } = request;
  const isRoot = id.length === 1;
  const name = formatIdentifier(id);
  const exists = (cause?: unknown) => new TableAlreadyExistsError(`table ${name} already exists`, { cause });

  const target = await planCreation(context, id);
  const { entry, location, table, base } = target;
  if (entry !== null && base !== null && mode !== "Overwrite") {
    if (mode === "Create") throw exists();
    return answerOfExisting(context, entry, base.version);
  }
  checkTarget(target, name, newTable.stableRowIds, properties);
  const anchor = base !== null ? anchorOf(base) : entry !== null ? await declaredAnchor(table) : ABSENT;
  const inserted = await insertRows(table, anchor, data, {
    mode: "Overwrite",
    newTable,
    onCreated: mode === "Overwrite" ? "overwrite" : "fail",
    // The new table has no write spec, so nobody reads rows of the logs.
    logs: "any",
    unshared: location.unshared,
    beforeRows: isRoot && entry === null ? () => claimLocation(context, location) : undefined,
    beforeCreation: async () => {
      if (entry !== null) await requireStillTable(context, entry);
      if (isRoot) await publishFirst(context, target, properties, signal);
    },
    bounds,
    onRows,
    schema: optionalSchema(request.schema),
    pool: context.workers,
    signal,
  });
  const winner = async () => (mode === "ExistOk" ? await findTable(context, id) : null);
  if (inserted === null) {
    const winningEntry = await winner();
    if (winningEntry?.latest == null) throw exists();
    return answerOfExisting(context, winningEntry, winningEntry.latest.version);
  }
  try {
    if (entry === null && !isRoot) await publishNewTable(context, location, properties ?? {}, signal);
    // The rows are committed; the properties of the replaced table follow.
    else if (anchor.kind === "version" && properties !== undefined)
      await republishTable(context, location, properties, signal);
  } catch (error) {
    if (!(error instanceof TableAlreadyExistsError)) throw error;
    const winningEntry = await winner();
    if (winningEntry?.latest != null)
      return answerOfExisting(context, winningEntry, winningEntry.latest.version);
    if (mode === "Create") throw exists(error);
    throw new ConcurrentModificationError(`table ${name} was created by another writer; please retry`, {
      cause: error,
    });
  }
  return {
    transactionId: inserted.transactionId,
    location: uriOn(context.disk, location.directory),
    version: inserted.committed.version,
    numInsertedRows: inserted.rowCount,
    properties:
      entry === null || properties !== undefined
        ? { ...properties }
        : await readTableProperties(context, entry),
  };
};

/**
 * Checks that the request suits an existing or declared table.
 * @throws InvalidInputError for settings that an existing or declared table can't get
 */
function checkTarget(
  { entry, base }: CreationTarget,
  name: string,
  stableRowIds: boolean,
  properties: Readonly<Record<string, string>> = {},
): void {
  if (base !== null && stableRowIds && !hasStableRowIds(base.file.manifest)) {
    throw new InvalidInputError(`stableRowIds: table ${name} has none; drop the table and create it again`);
  }
  if (entry !== null && entry.latest === null && Object.keys(properties).length > 0) {
    throw new InvalidInputError(`properties: table ${name} keeps the properties of its declaration`);
  }
}

async function answerOfExisting(
  context: OperationContext,
  entry: TableEntry,
  version: number,
): Promise<CreateTableResponse> {
  return {
    location: uriOn(context.disk, entry.directory),
    version,
    numInsertedRows: 0,
    properties: await readTableProperties(context, entry),
  };
}
