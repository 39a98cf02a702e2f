/** DescribeTableVersion: returns the record of one version. */

import { TableVersionNotFoundError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { OperationBody } from "../operation.js";
import { optionalVersion, requireTableId } from "../request.js";
import { openSnapshot } from "../snapshot.js";
import { describeOpenVersion } from "./versionOf.js";

export const describeTableVersion: OperationBody<"describeTableVersion"> = async (
  context,
  request,
  access,
) => {
  const snapshot = await openSnapshot(context, request, access);
  const version = snapshot && (await describeOpenVersion(snapshot));
  if (version === null) {
    throw new TableVersionNotFoundError(
      `table ${formatIdentifier(requireTableId(request.id))} has no ${optionalVersion(request.version) === undefined ? "versions yet" : `version ${request.version}`}`,
    );
  }
  return { version };
};
