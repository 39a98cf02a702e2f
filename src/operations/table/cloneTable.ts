/**
 * CloneTable: creates a table from a version of another one, whose files it shares. This operation is not in
 * the namespace spec. The first version of a clone has the number of the cloned version, as in LanceDB.
 */

import { claimLocation } from "../../catalog/locations/placement.js";
import { requireStillTable } from "../../catalog/locations/tables.js";
import { publishNewTable } from "../../catalog/tableRows.js";
import { InvalidInputError, TableAlreadyExistsError, TableVersionNotFoundError } from "../../errors.js";
import { Clone } from "../../format/table.js";
import { formatIdentifier } from "../../ident.js";
import { uriOn } from "../../io/disk/addresses.js";
import { commitCreation } from "../../table/commit/commit.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { requireWritable } from "../../table/versions/flags.js";
import { ABSENT, declaredAnchor } from "../../table/versions/identity.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { removeEmptyRoot } from "../../write/insert.js";
import type { Access } from "../access.js";
import type { OperationBody } from "../operation.js";
import { optionalId, requireTableId } from "../request.js";
import { optionalProperties } from "../requestValues.js";
import { isInPlace, requireSnapshot } from "../snapshot.js";
import { planCreation, publishFirst } from "./creationTarget.js";

export const cloneTable: OperationBody<"cloneTable"> = async (context, request, access) => {
  const id = requireTableId(request.id);
  const from = readSource(request.from);
  const { version, tag, signal } = request;
  const properties = optionalProperties(request.properties);
  await access.require("queryTable", from);
  const source = await requireSnapshot(context, { id: from, version, tag, signal }, accessTo(access, from));
  requireWritable(source.file.manifest, source.path);
  const exists = (cause?: unknown) =>
    new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`, { cause });

  const target = await planCreation(context, id);
  const { entry, location } = target;
  if (target.base !== null) throw exists();
  if (entry !== null && Object.keys(properties ?? {}).length > 0) {
    throw new InvalidInputError(
      `properties: table ${formatIdentifier(id)} keeps the properties of its declaration`,
    );
  }
  const isRoot = id.length === 1;
  const clone = Clone.create({
    isShallow: true,
    refVersion: source.version,
    refPath: uriOn(context.disk, source.table.root),
  });
  const transaction = newTransaction(source.version, "clone", clone);
  const isMade = isRoot && entry === null ? await claimLocation(context, location) : location.unshared;
  const verify = async () => {
    if (entry !== null) await requireStillTable(context, entry);
    // A cleanup of the source may have removed its files meanwhile.
    if (!(await isInPlace(source))) {
      throw new TableVersionNotFoundError(
        `version ${source.version} of table ${formatIdentifier(from)} was removed`,
      );
    }
    if (isRoot) await publishFirst(context, target, properties, signal);
  };
  const anchor = entry === null ? ABSENT : await declaredAnchor(target.table);
  let committed: OpenVersion | null = null;
  try {
    // Returns null if another writer was first.
    committed = await commitCreation(target.table, anchor, transaction, {
      dataFormatVersion: source.file.manifest.dataFormat?.version ?? context.newTableVersion,
      scheme: source.scheme,
      unshared: location.unshared,
      cloned: source,
      signal,
      verify,
    });
  } finally {
    if (committed === null && isMade) await removeEmptyRoot(target.table);
  }
  if (committed === null) throw exists();
  if (entry === null && !isRoot) {
    try {
      await publishNewTable(context, location, properties ?? {}, signal);
    } catch (error) {
      throw error instanceof TableAlreadyExistsError ? exists(error) : error;
    }
  }
  return {
    transactionId: transaction.uuid,
    location: uriOn(context.disk, location.directory),
    version: committed.version,
    properties: { ...properties },
  };
};

function readSource(from: unknown): readonly string[] {
  const id = [...optionalId(from)];
  if (id.length > 0) return id;
  throw new InvalidInputError('from: must be the id of a table, as in from: "t", or ["namespace", "t"]');
}

/** Returns the access to the source: a tag may lead to a branch that the request does not name. */
const accessTo = (access: Access, from: readonly string[]): Access => ({
  ...access,
  requireBranch: (branch) => access.require("queryTable", from, { branch: branch ?? undefined }),
});
