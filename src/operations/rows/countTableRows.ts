/** CountTableRows: live rows of a version, from its manifest alone. */

import { UnsupportedError } from "../../errors.js";
import type { CountTableRowsRequest } from "../../namespace.js";
import { liveRowCount } from "../../table/fragments/statistics.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { optionalString } from "../request.js";
import { openSnapshot } from "../snapshot.js";

export async function countTableRows(
  context: OperationContext,
  request: CountTableRowsRequest,
  access: Access,
): Promise<number> {
  const predicate = optionalString(request.predicate, "predicate");
  const snapshot = await openSnapshot(context, request, access);
  if (predicate !== undefined) {
    throw new UnsupportedError("predicate: predicates are not supported by this release");
  }
  if (snapshot === null) return 0;
  return snapshot.file.manifest.fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
}
