/** CreateTableBranch: starts a branch from a version of a branch, or from a tag. */

import { InvalidInputError, InvalidTableStateError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { type BranchSource, createBranch } from "../../table/commit/branchCreation.js";
import { checkNewBranchName } from "../../table/refs/branches.js";
import { checkTagName } from "../../table/refs/refNames.js";
import { requireTag } from "../findRefs.js";
import type { OperationBody } from "../operation.js";
import { optionalString, optionalVersion, requireTableId } from "../request.js";
import { requireString } from "../requestValues.js";
import { openAtAnyVersion } from "../snapshot.js";

export const createTableBranch: OperationBody<"createTableBranch"> = async (context, request, access) => {
  const name = requireString(request.name, "name");
  checkNewBranchName(name, []);
  const fromBranch = optionalString(request.fromBranch, "fromBranch");
  const version = optionalVersion(request.fromVersion, "fromVersion");
  const fromTag = optionalString(request.fromTag, "fromTag");
  if (fromTag !== undefined && (fromBranch !== undefined || version !== undefined)) {
    throw new InvalidInputError("fromTag: cannot be given together with fromBranch or fromVersion");
  }
  if (fromTag !== undefined) checkTagName(fromTag);
  const id = requireTableId(request.id);
  const requireSource = (branch: string | undefined) => access.require("createTableBranch", id, { branch });
  if (fromTag === undefined) await requireSource(fromBranch);
  const open = await openAtAnyVersion(context, { id, branch: fromBranch });
  const { entry, table, latest } = open;
  let source: BranchSource = { branch: table.branch, version };
  if (fromTag !== undefined) {
    const tag = await requireTag(open, fromTag);
    await requireSource(tag.branch ?? undefined);
    source = tag;
  } else if (latest === null && version === undefined) {
    throw new InvalidTableStateError(
      `table ${formatIdentifier(entry.id)} is only declared: it has no version to make a branch from`,
    );
  }
  const transactionId = await createBranch(table, name, source, request.signal);
  return { transactionId };
};
