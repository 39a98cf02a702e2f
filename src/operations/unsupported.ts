/**
 * Operations that the engine does not implement. Their requests are checked as far as possible, so that a client learns
 * about a missing table, branch, column or index as it will once they are implemented.
 */

import { InvalidInputError, TableIndexNotFoundError, UnsupportedError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import type { RequestBase } from "../namespace.js";
import { fieldFinder, resolveField } from "../schema/fieldPaths.js";
import { decodeSchema } from "../schema/schema.js";
import type { Access } from "./access.js";
import type { OperationContext } from "./context.js";
import { optionalString, requireString, requireTableId } from "./request.js";
import { openTable, requireSnapshot } from "./snapshot.js";

/** Members that some of the operations have; unchecked. */
interface Request extends RequestBase {
  readonly branch?: string;
  readonly version?: number;
  readonly column?: unknown;
  readonly indexType?: unknown;
  readonly indexName?: unknown;
  readonly distanceType?: unknown;
}

type Check = (context: OperationContext, request: Request, access: Access) => Promise<unknown>;

/** Names of the kinds of indexes, in upper case: those for looking up values, and those on vectors. */
const SCALAR_KINDS: ReadonlySet<string> = new Set([
  ...["BTREE", "SCALAR", "BITMAP", "LABEL_LIST", "LABELLIST", "INVERTED", "FTS", "NGRAM", "FM", "FMINDEX"],
  ...["ZONEMAP", "ZONE_MAP", "BLOOMFILTER", "BLOOM_FILTER", "RTREE", "R_TREE"],
]);
const VECTOR_KINDS: ReadonlySet<string> = new Set([
  ...["VECTOR", "IVF_PQ", "IVF_FLAT", "IVF_SQ", "IVF_RQ", "IVF_HNSW_FLAT", "IVF_HNSW_SQ", "IVF_HNSW_PQ"],
]);
const DISTANCES: ReadonlySet<string> = new Set(["L2", "EUCLIDEAN", "COSINE", "DOT", "HAMMING"]);

/** The missing feature of each operation, and the check that comes before the refusal. */
const UNSUPPORTED = {
  createTableIndex: ["indexes", checkNewIndex],
  createTableScalarIndex: ["indexes", checkNewScalarIndex],
  listTableIndices: ["indexes", openTable],
  describeTableIndexStats: ["indexes", checkIndex],
  dropTableIndex: ["indexes", checkIndex],
} as const satisfies Readonly<Record<string, readonly [missing: string, check: Check | null]>>;

export type UnsupportedOperation = keyof typeof UNSUPPORTED;

/** @throws UnsupportedError, unless the request itself is at fault */
export async function refuseUnsupported(
  context: OperationContext,
  operation: UnsupportedOperation,
  request: RequestBase,
  access: Access,
): Promise<never> {
  const [missing, check] = UNSUPPORTED[operation];
  await check?.(context, request, access);
  throw new UnsupportedError(`${operation}: ${missing} are not supported by this release`);
}

async function checkNewIndex(context: OperationContext, request: Request, access: Access): Promise<void> {
  const kind = kindOf(request);
  if (!SCALAR_KINDS.has(kind) && !VECTOR_KINDS.has(kind)) {
    throw new InvalidInputError(`indexType: there are no indexes of type ${kind}`);
  }
  await findColumns(context, request, access, [requireString(request.column, "column")]);
}

async function checkNewScalarIndex(
  context: OperationContext,
  request: Request,
  access: Access,
): Promise<void> {
  const kind = kindOf(request);
  if (!SCALAR_KINDS.has(kind)) {
    throw new InvalidInputError(`indexType: there are no scalar indexes of type ${kind}`);
  }
  await findColumns(context, request, access, [requireString(request.column, "column")]);
}

function kindOf(request: Request): string {
  const distance = optionalString(request.distanceType, "distanceType");
  if (distance !== undefined && !DISTANCES.has(distance.toUpperCase())) {
    throw new InvalidInputError(`distanceType: must be one of l2, cosine, dot, hamming, not ${distance}`);
  }
  return requireString(request.indexType, "indexType").trim().toUpperCase();
}

async function findColumns(
  context: OperationContext,
  request: Request,
  access: Access,
  paths: readonly string[],
) {
  const { file } = await requireSnapshot(context, request, access);
  const fields = decodeSchema(file.manifest.fields, file.path);
  const find = fieldFinder();
  return paths.map((path) => resolveField(fields, path, find));
}

async function checkIndex(context: OperationContext, request: Request, access: Access): Promise<void> {
  const name = requireString(request.indexName, "indexName");
  const { file } = await requireSnapshot(context, request, access);
  if (file.indexSection?.indices.some((index) => index.name === name)) return;
  throw new TableIndexNotFoundError(
    `table ${formatIdentifier(requireTableId(request.id))} has no index ${name}`,
  );
}
