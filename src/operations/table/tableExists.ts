/** TableExists: checks that a table, or a version of it, exists. */

import type { OperationBody } from "../operation.js";
import { isAbsent, optionalString, optionalVersion } from "../request.js";
import { openAtAnyVersion, openSnapshot } from "../snapshot.js";

export const tableExists: OperationBody<"tableExists"> = async (context, request, access) => {
  const namesVersion =
    optionalVersion(request.version) !== undefined ||
    optionalString(request.tag, "tag") !== undefined ||
    !isAbsent(request.asOf);
  if (namesVersion) await openSnapshot(context, request, access);
  else await openAtAnyVersion(context, request);
};
