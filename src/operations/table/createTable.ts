/**
 * CreateTable: creates a table from the given rows. In the root, the catalog row comes before the first version, which
 * decides. In a child namespace, the row comes last and decides, so that a failed creation leaves nothing visible.
 */

import { claimPlace, planPlace } from "../../catalog/places/placement.js";
import {
  type FoundTable,
  findTable,
  readTableProperties,
  requireKnown,
} from "../../catalog/places/tables.js";
import { readCatalog } from "../../catalog/rows/catalogTable.js";
import { publishClaimed, publishNewTable, republishTable } from "../../catalog/tableRows.js";
import { ConcurrentModificationError, InvalidInputError, TableAlreadyExistsError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { CreateTableRequest, CreateTableResponse, RowsInput } from "../../namespace.js";
import { hasStableRowIds } from "../../table/versions/flags.js";
import { ABSENT, anchorOf, declaredAnchor } from "../../table/versions/identity.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { tableAt } from "../../table/versions/tableAt.js";
import { insertRows } from "../../write/insert.js";
import type { OperationContext } from "../context.js";
import { inputBounds, optionalBoolean, optionalProperties, parseChoice, requireTableId } from "../request.js";

export async function createTable(
  context: OperationContext,
  request: CreateTableRequest,
  data: RowsInput,
): Promise<CreateTableResponse> {
  const id = requireTableId(request.id);
  const mode = parseChoice(request.mode, "mode", ["Create", "ExistOk", "Overwrite"], "Create");
  const properties = optionalProperties(request.properties);
  const stableRowIds = optionalBoolean(request.stableRowIds, "stableRowIds") ?? false;
  const bounds = inputBounds(request);
  const { signal } = request;
  const isRoot = id.length === 1;
  const exists = (cause?: unknown) =>
    new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`, { cause });

  const catalog = isRoot ? undefined : await readCatalog(context);
  const found = await findTable(context, id, "latest", catalog);
  const place =
    found === null ? await planPlace(context, id, undefined, catalog) : { ...found, unshared: false };
  const asFound = async (table: FoundTable, version: number): Promise<CreateTableResponse> => ({
    location: table.directory,
    version,
    numInsertedRows: 0,
    properties: await readTableProperties(context, table),
  });
  const at = tableAt(context, place.directory);
  const latest = found?.latest ?? null;
  const base = latest && (await openVersion(at, latest));
  if (found !== null && base !== null && mode !== "Overwrite") {
    if (mode === "Create") throw exists();
    return asFound(found, base.version);
  }
  if (base !== null && stableRowIds && !hasStableRowIds(base.file.manifest)) {
    throw new InvalidInputError(
      `stableRowIds: table ${formatIdentifier(id)} exists without them; drop it, and create it anew`,
    );
  }
  if (found !== null && latest === null && properties !== undefined && Object.keys(properties).length > 0) {
    throw new InvalidInputError(
      `properties: table ${formatIdentifier(id)} was declared, and keeps the properties of then`,
    );
  }
  // A catalog row left behind by a former table of that name must not pass on its properties.
  const publish = () =>
    found === null
      ? publishClaimed(context, place, properties ?? {}, signal)
      : republishTable(context, place, properties, signal);
  const anchor = base !== null ? anchorOf(base) : found !== null ? await declaredAnchor(at) : ABSENT;
  const beforeCreation = async () => {
    if (found !== null) await requireKnown(context, found);
    if (isRoot) await publish();
  };
  const inserted = await insertRows(at, anchor, data, {
    mode: "Overwrite",
    newTable: { version: context.newTableVersion, naming: context.newTableNaming, stableRowIds },
    onCreated: mode === "Overwrite" ? "overwrite" : "fail",
    unshared: place.unshared,
    beforeRows: isRoot && found === null ? () => claimPlace(context, place) : undefined,
    beforeCreation,
    bounds,
    signal,
  });
  const winner = async () => (mode === "ExistOk" ? await findTable(context, id) : null);
  if (inserted === null) {
    const other = await winner();
    if (other?.latest == null) throw exists();
    return asFound(other, other.latest.version);
  }
  try {
    if (found === null && !isRoot) await publishNewTable(context, place, properties ?? {}, signal);
    // The rows are committed; the properties of the replaced table follow.
    else if (anchor.kind === "version" && properties !== undefined)
      await republishTable(context, place, properties, signal);
  } catch (error) {
    if (!(error instanceof TableAlreadyExistsError)) throw error;
    const other = await winner();
    if (other?.latest != null) return asFound(other, other.latest.version);
    if (mode === "Create") throw exists(error);
    throw new ConcurrentModificationError(
      `table ${formatIdentifier(id)} was created by another writer; please retry`,
      { cause: error },
    );
  }
  return {
    transactionId: inserted.transactionId,
    location: place.directory,
    version: inserted.committed.version,
    numInsertedRows: inserted.rowCount,
    properties:
      found === null || properties !== undefined
        ? { ...properties }
        : await readTableProperties(context, found),
  };
}
