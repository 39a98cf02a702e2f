/** DescribeTableVersion: returns the record of one version. */

import { TableVersionNotFoundError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { DescribeTableVersionRequest, DescribeTableVersionResponse } from "../../namespace/versions.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { optionalVersion, requireTableId } from "../request.js";
import { openSnapshot } from "../snapshot.js";
import { versionOf } from "./versionOf.js";

export async function describeTableVersion(
  context: OperationContext,
  request: DescribeTableVersionRequest,
  access: Access,
): Promise<DescribeTableVersionResponse> {
  const snapshot = await openSnapshot(context, request, access);
  const version = snapshot && (await versionOf(snapshot.table, snapshot));
  if (version === null) {
    throw new TableVersionNotFoundError(
      `table ${formatIdentifier(requireTableId(request.id))} has no ${optionalVersion(request.version) === undefined ? "versions yet" : `version ${request.version}`}`,
    );
  }
  return { version };
}
