/** ConfigureLsmWrites: stores settings of LanceDB's log-structured writes. Not in the namespace spec. */

import { InvalidInputError } from "../../errors.js";
import type { LsmWriteSpec } from "../../namespace/upkeep.js";
import { isObject, shortly } from "../../optionMembers.js";
import { commitPlanned } from "../../table/commit/commit.js";
import { planWriteSpec, SPEC_TYPES } from "../../write/indexes/lsmWriteSpec.js";
import type { OperationBody } from "../operation.js";
import { isAbsent } from "../request.js";
import { openWritable } from "../snapshot.js";

const MAX_BUCKETS = 1024;

export const configureLsmWrites: OperationBody<"configureLsmWrites"> = async (context, request) => {
  const asked = optionalSpec(request.spec);
  const table = await openWritable(context, request, "empty");
  const { committed, plan } = await commitPlanned(table, ({ file }) => planWriteSpec(file, asked), {
    logs: "empty",
    signal: request.signal,
  });
  const { transaction, spec } = plan;
  return { transactionId: transaction.uuid, version: committed.version, ...(spec !== null && { spec }) };
};

/** Returns checked settings; null if there are none. @throws InvalidInputError naming the member */
function optionalSpec(spec: unknown): LsmWriteSpec | null {
  if (isAbsent(spec)) return null;
  if (!isObject(spec)) throw new InvalidInputError(`spec: must be an object, not ${shortly(spec)}`);
  const { specType, column, numBuckets, maintainedIndexes, writerConfigDefaults } = spec as Readonly<
    Record<string, unknown>
  >;
  const invalid = (member: string, form: string, value: unknown) =>
    new InvalidInputError(`spec.${member}: must be ${form}, not ${shortly(value)}`);
  if (!SPEC_TYPES.some((type) => type === specType)) {
    throw invalid("specType", "bucket, identity or unsharded", specType);
  }
  if (specType !== "unsharded" && typeof column !== "string") throw invalid("column", "a path", column);
  const isCount =
    Number.isInteger(numBuckets) && Number(numBuckets) >= 1 && Number(numBuckets) <= MAX_BUCKETS;
  if (specType === "bucket" && !isCount) throw invalid("numBuckets", `in [1, ${MAX_BUCKETS}]`, numBuckets);
  const isText = (value: unknown) => typeof value === "string";
  if (maintainedIndexes != null && !(Array.isArray(maintainedIndexes) && maintainedIndexes.every(isText))) {
    throw invalid("maintainedIndexes", "a list of names", maintainedIndexes);
  }
  if (writerConfigDefaults != null) {
    const isMap = isObject(writerConfigDefaults) && Object.values(writerConfigDefaults).every(isText);
    if (!isMap) throw invalid("writerConfigDefaults", "an object of strings", writerConfigDefaults);
  }
  return spec as LsmWriteSpec;
}
