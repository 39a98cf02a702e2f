/** RestoreTable: commits the content of an older version as the new latest version. Nothing is lost. */

import { InvalidInputError, TableVersionNotFoundError } from "../../errors.js";
import { Restore } from "../../format/table.js";
import { formatIdentifier } from "../../ident.js";
import type { RestoreTableRequest } from "../../namespace/tables.js";
import { commitTransaction } from "../../table/commit/commit.js";
import { newTransaction } from "../../table/commit/transaction.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { findVersion } from "../../table/versions/versions.js";
import { requireTag } from "../findRefs.js";
import type { OperationBody } from "../operation.js";
import { requireTableId } from "../request.js";
import { type OpenTable, openTable, requestedPoint } from "../snapshot.js";
import { versionAtMoment } from "../versionAtMoment.js";

export const restoreTable: OperationBody<"restoreTable"> = async (context, request) => {
  const { version: number, tag, asOf } = request;
  const wanted = requestedPoint({ version: number, tag, asOf });
  if (Object.values(wanted).every((value) => value === undefined)) {
    throw new InvalidInputError("version: is required; or name the version by tag or asOf");
  }
  const open = await openTable(context, request);
  const { table, latest } = open;
  const base = latest && (await openVersion(table, latest));
  const version = base && (await versionToRestore(open, wanted, request));
  if (base === null || version === null || (await findVersion(table, version)) === null) {
    throw new TableVersionNotFoundError(
      `table ${formatIdentifier(requireTableId(request.id))} has no version ${version ?? "to restore"}`,
    );
  }
  const transaction = newTransaction(base.version, "restore", Restore.create({ version }));
  const committed = await commitTransaction(base, transaction, { signal: request.signal });
  return { transactionId: transaction.uuid, version: committed.version };
};

/** @throws InvalidInputError for a tag of another branch, whose versions this branch does not have */
async function versionToRestore(
  { entry, table, latest }: OpenTable,
  { version, tag, asOf }: ReturnType<typeof requestedPoint>,
  request: RestoreTableRequest,
): Promise<number | null> {
  if (asOf !== undefined) return (await versionAtMoment(table, latest, asOf, request)).version;
  if (tag === undefined) return version ?? null;
  const target = await requireTag({ table, entry }, tag);
  if (target.branch === table.branch) return target.version;
  throw new InvalidInputError(
    `tag: ${tag} names a version of ${nameOf(target.branch)}, which ${nameOf(table.branch)} cannot restore`,
  );
}

const nameOf = (branch: string | null): string => (branch === null ? "main" : `branch ${branch}`);
