/** ConfigureLsmWrites: stores settings of LanceDB's log-structured writes. Not in the namespace spec. */

import { InvalidInputError } from "../../errors.js";
import type { LsmWriteSpec } from "../../namespace/upkeep.js";
import { isObject, shortly } from "../../optionMembers.js";
import { commitPlanned } from "../../table/commit/commit.js";
import { planWriteSpec, SPEC_TYPES } from "../../write/indexes/lsmWriteSpec.js";
import type { OperationBody } from "../operation.js";
import { isAbsent } from "../request.js";
import { optionalStringMap, requireString, requireStrings } from "../requestValues.js";
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

/**
 * Returns a checked copy of settings, because the caller may change its object; null if there are none.
 * @throws InvalidInputError naming the member
 */
function optionalSpec(spec: unknown): LsmWriteSpec | null {
  if (isAbsent(spec)) return null;
  if (!isObject(spec)) throw new InvalidInputError(`spec: must be an object, not ${shortly(spec)}`);
  const { specType, column, numBuckets, maintainedIndexes, writerConfigDefaults } = spec as Readonly<
    Record<string, unknown>
  >;
  const type = SPEC_TYPES.find((each) => each === specType);
  if (type === undefined) throw invalid("specType", "bucket, identity or unsharded", specType);
  const names = isAbsent(maintainedIndexes)
    ? null
    : requireStrings(maintainedIndexes, "spec.maintainedIndexes");
  return {
    specType: type,
    ...(type !== "unsharded" && { column: requireString(column, "spec.column") }),
    ...(type === "bucket" && { numBuckets: requireBuckets(numBuckets) }),
    ...(names !== null && { maintainedIndexes: names }),
    writerConfigDefaults: { ...optionalStringMap(writerConfigDefaults, "spec.writerConfigDefaults") },
  };
}

function requireBuckets(count: unknown): number {
  if (Number.isInteger(count) && Number(count) >= 1 && Number(count) <= MAX_BUCKETS) return Number(count);
  throw invalid("numBuckets", `in [1, ${MAX_BUCKETS}]`, count);
}

const invalid = (member: string, form: string, value: unknown): InvalidInputError =>
  new InvalidInputError(`spec.${member}: must be ${form}, not ${shortly(value)}`);
