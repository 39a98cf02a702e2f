/** CreateTableVersion: puts a staged manifest in place as a version, if that number is free. */

import { InternalError } from "../../errors.js";
import type { CreateTableVersionRequest, CreateTableVersionResponse } from "../../namespace.js";
import { isMainBranch } from "../../table/refs.js";
import { publishStagedVersion } from "../../table/stagedVersion.js";
import type { OperationContext } from "../context.js";
import { checkUnregistered } from "../findRefs.js";
import { anchorOfOpen, openTable } from "../snapshot.js";
import { stagedOf } from "./stagedOf.js";
import { versionOf } from "./versionOf.js";

export async function createTableVersion(
  context: OperationContext,
  request: CreateTableVersionRequest,
): Promise<CreateTableVersionResponse> {
  const staged = stagedOf(request);
  const open = await openTable(context, request);
  const { table, tableRoot } = open;
  const { branch } = request;
  if (request.unregisteredBranch === true && !isMainBranch(branch)) {
    await checkUnregistered(context, table.directory, branch);
  }
  const published = await publishStagedVersion(context, tableRoot, await anchorOfOpen(context, open), staged);
  const record = await versionOf(context, tableRoot, published);
  if (record === null) {
    throw new InternalError(`version ${staged.version} was removed right after it was created`);
  }
  return { transactionId: published.file.transaction?.uuid, version: record };
}
