/** CreateTableVersion: publishes a staged manifest under a free version number. */

import { isMainBranch } from "../../table/refs/refNames.js";
import { publishStagedVersion } from "../../table/staging/stagedVersion.js";
import { checkUnregistered } from "../findRefs.js";
import type { OperationBody } from "../operation.js";
import { anchorOfOpen, openTable } from "../snapshot.js";
import { stagedOf } from "./stagedOf.js";
import { versionOfFile } from "./versionOf.js";

export const createTableVersion: OperationBody<"createTableVersion"> = async (context, request, access) => {
  const staged = stagedOf(request, access);
  const open = await openTable(context, request);
  const { branch } = request;
  if (request.unregisteredBranch === true && !isMainBranch(branch)) {
    await checkUnregistered(open.table, branch);
  }
  const anchor = await anchorOfOpen(open);
  const { file } = await publishStagedVersion(open.table, anchor, staged);
  // The version is not read again: it may be gone, or belong to a table that replaced this one.
  return { transactionId: file.transaction?.uuid, version: versionOfFile(file, staged) };
};
