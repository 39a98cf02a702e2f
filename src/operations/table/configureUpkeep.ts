/** ConfigureUpkeep: sets the table's own thresholds for the option `upkeep`. Not in the namespace spec. */

import type { UpkeepThresholds } from "../../namespace/upkeep.js";
import { commitPlanned } from "../../table/commit/commit.js";
import { planConfig } from "../../write/columns/fieldMetadata.js";
import type { OperationBody } from "../operation.js";
import { optionalOf } from "../request.js";
import { openWritable } from "../snapshot.js";
import { OFF, storedThresholds, thresholdConfig } from "../upkeep/thresholds.js";

export const configureUpkeep: OperationBody<"configureUpkeep"> = async (context, request) => {
  const { smallFragments, deletedPercent, unindexedRows, versions } = request;
  const entries = thresholdConfig({
    smallFragments: optionalThreshold(smallFragments, "smallFragments"),
    deletedPercent: optionalThreshold(deletedPercent, "deletedPercent", 100),
    unindexedRows: optionalThreshold(unindexedRows, "unindexedRows"),
    versions: optionalThreshold(versions, "versions"),
  });
  const table = await openWritable(context, request);
  const { committed, plan } = await commitPlanned(
    table,
    ({ file }) => ({ transaction: planConfig(file, entries) }),
    { signal: request.signal },
  );
  const thresholds = storedThresholds(committed.file.manifest.config);
  return { transactionId: plan.transaction.uuid, version: committed.version, ...thresholds };
};

type Threshold = UpkeepThresholds["versions"];

/** Returns an integer from 0 to `most`, or `off`. */
function optionalThreshold(value: unknown, member: string, most = Number.MAX_SAFE_INTEGER): Threshold {
  const form = `an integer from 0 to ${most === Number.MAX_SAFE_INTEGER ? "2^53 - 1" : most}, or "off"`;
  return optionalOf<Threshold>(
    value,
    member,
    form,
    (threshold) =>
      threshold === OFF ||
      (Number.isSafeInteger(threshold) && Number(threshold) >= 0 && Number(threshold) <= most),
  );
}
