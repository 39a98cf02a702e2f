/** ConfigureCleanup: sets the table's own rule for cleanups after commits. Not in the namespace spec. */

import { cleanupConfig, DEFAULT_OLDER_THAN_MS } from "../../table/cleanup/cleanupRule.js";
import { commitPlanned } from "../../table/commit/commit.js";
import { planConfig } from "../../write/columns/fieldMetadata.js";
import type { OperationBody } from "../operation.js";
import { optionalCount } from "../request.js";
import { openWritable } from "../snapshot.js";

/** Default number of versions from one cleanup to the next, as in Lance. */
const DEFAULT_INTERVAL = 20;

export const configureCleanup: OperationBody<"configureCleanup"> = async (context, request) => {
  const asked = {
    olderThanMs: optionalCount(request.olderThanMs, "olderThanMs"),
    retainVersions: optionalCount(request.retainVersions, "retainVersions", 1),
    interval: optionalCount(request.interval, "interval", 1),
  };
  const isOff = Object.values(asked).every((value) => value === undefined);
  const { olderThanMs = DEFAULT_OLDER_THAN_MS, retainVersions, interval = DEFAULT_INTERVAL } = asked;
  const settings = isOff
    ? {}
    : { olderThanMs, interval, ...(retainVersions !== undefined && { retainVersions }) };
  const table = await openWritable(context, request);
  const { committed, plan } = await commitPlanned(
    table,
    ({ file }) => ({ transaction: planConfig(file, cleanupConfig(settings)) }),
    { signal: request.signal },
  );
  return { transactionId: plan.transaction.uuid, version: committed.version, ...settings };
};
