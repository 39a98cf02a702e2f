/** Reads the members of a query that describe its vector search, and plans it. The first search loads it. */

import { InvalidInputError } from "../../errors.js";
import type { QueryTableRequest } from "../../namespace/queries.js";
import { shortly } from "../../optionMembers.js";
import type { ReaderEnvironment } from "../../query/indexes/versionSource.js";
import { vectorIndexesOn } from "../../query/vector/vectorIndexes.js";
import {
  planVectorSearch,
  type RequestedSearch,
  type VectorSearch,
} from "../../query/vector/vectorSearch.js";
import type { TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { optionalBoolean, optionalCount, optionalOf, optionalString } from "../request.js";
import { isNumberList } from "../requestValues.js";

/** Maximum number of values in all vectors of a request. */
const MAX_NUMBERS = 2 ** 24;
/** Maximum number of vectors of a request. */
const MAX_VECTORS = 1024;

/**
 * Returns the vector search of a request; null if it has none.
 * @throws InvalidInputError naming the member
 */
export function readVectorSearch(request: QueryTableRequest): RequestedSearch | null {
  const { vector } = request;
  if (vector === undefined || vector === null) return null;
  const nprobes = optionalCount(request.nprobes, "nprobes", 1);
  const minimum = optionalCount(request.minimumNprobes, "minimumNprobes", 1);
  const maximum = optionalCount(request.maximumNprobes, "maximumNprobes");
  if (nprobes !== undefined && (minimum !== undefined || maximum !== undefined)) {
    throw new InvalidInputError("nprobes: cannot be given together with minimumNprobes or maximumNprobes");
  }
  if (minimum !== undefined && maximum !== undefined && maximum !== 0 && maximum < minimum) {
    throw new InvalidInputError(
      `maximumNprobes: must be at least minimumNprobes, ${minimum}, not ${maximum}`,
    );
  }
  return {
    vectors: readVectors(vector),
    column: optionalString(request.vectorColumn, "vectorColumn"),
    distanceType: optionalString(request.distanceType, "distanceType"),
    lowerBound: optionalBound(request.lowerBound, "lowerBound"),
    upperBound: optionalBound(request.upperBound, "upperBound"),
    leastProbes: nprobes ?? minimum,
    mostProbes: nprobes ?? maximum,
    refineFactor: optionalCount(request.refineFactor, "refineFactor", 1),
    beam: optionalCount(request.ef, "ef", 1),
    usesIndex: !(optionalBoolean(request.bypassVectorIndex, "bypassVectorIndex") ?? false),
    isIndexedOnly: optionalBoolean(request.fastSearch, "fastSearch") ?? false,
  };
}

/** Plans a search in a version. @throws InvalidInputError for a column or a vector that do not fit */
export const plannedSearch = (
  snapshot: OpenVersion<ReaderEnvironment>,
  fields: readonly TableField[],
  search: RequestedSearch,
): Promise<Omit<VectorSearch, "postfilter">> =>
  planVectorSearch(fields, search, (column, metric) => vectorIndexesOn(snapshot, column, metric, fields));

const optionalBound = (value: unknown, member: string): number | undefined =>
  optionalOf(value, member, "a number", (bound) => typeof bound === "number" && !Number.isNaN(bound));

function readVectors(value: unknown): readonly Float64Array[] {
  if (isNumberList(value)) return checkedCount(listsIn(value) ?? [value], "vector");
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
    const { singleVector, multiVector } = value as Readonly<Record<string, unknown>>;
    const one = singleVector ?? undefined;
    const several = multiVector ?? undefined;
    if (one !== undefined && several === undefined) return checkedCount([one], "vector.singleVector");
    if (several !== undefined && one === undefined && Array.isArray(several)) {
      return checkedCount(several, "vector.multiVector");
    }
  }
  throw new InvalidInputError(
    `vector: must be a list of numbers, a typed array, or a list of these, not ${shortly(value)}`,
  );
}

/** Returns the items of a list of lists; null if an item is not a list. */
const listsIn = (value: ArrayLike<unknown>): readonly unknown[] | null =>
  Array.isArray(value) && value.length > 0 && isNumberList(value[0]) ? value : null;

function checkedCount(vectors: readonly unknown[], label: string): Float64Array[] {
  if (vectors.length > MAX_VECTORS) {
    throw new InvalidInputError(`${label}: at most ${MAX_VECTORS} vectors, not ${vectors.length}`);
  }
  let numbers = 0;
  return vectors.map((vector, index) => {
    const name = vectors.length === 1 ? label : `${label}[${index}]`;
    if (!isNumberList(vector)) {
      throw new InvalidInputError(`${name}: must be a list of numbers, not ${shortly(vector)}`);
    }
    numbers += vector.length;
    if (numbers > MAX_NUMBERS) throw new InvalidInputError(`vector: has more than ${MAX_NUMBERS} numbers`);
    return numbersIn(vector, name);
  });
}

/** Returns a copy, because the caller may change its array. */
function numbersIn(vector: ArrayLike<unknown>, name: string): Float64Array {
  if (vector.length === 0) throw new InvalidInputError(`${name}: has no numbers`);
  const numbers = new Float64Array(vector.length);
  for (let index = 0; index < numbers.length; index++) {
    const number = vector[index];
    if (typeof number !== "number" || !Number.isFinite(number)) {
      throw new InvalidInputError(`${name}[${index}]: must be a finite number, not ${shortly(number)}`);
    }
    numbers[index] = number;
  }
  return numbers;
}
