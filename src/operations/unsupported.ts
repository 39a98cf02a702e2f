/**
 * Operations whose engine part does not exist. What can be checked of their requests is, so that a client learns of a
 * table, branch, column or index that is not there as it always will.
 */

import { InvalidInputError, TableIndexNotFoundError, UnsupportedError } from "../errors.js";
import { formatIdentifier } from "../ident.js";
import type { RequestBase } from "../namespace.js";
import { resolveField } from "../table/fieldPaths.js";
import { decodeSchema } from "../table/schema.js";
import type { OperationContext } from "./context.js";
import { requireString, requireTableId } from "./request.js";
import { openTable, requireSnapshot } from "./snapshot.js";

/** Members that some of the operations have; unchecked. */
interface Request extends RequestBase {
  readonly branch?: string;
  readonly version?: number;
  readonly column?: unknown;
  readonly indexType?: unknown;
  readonly indexName?: unknown;
}

type Check = (context: OperationContext, request: Request) => Promise<unknown>;

/** What is missing, and what is checked before that is said. */
const UNSUPPORTED = {
  mergeInsertIntoTable: ["merge insert", openTable],
  updateTable: ["predicates", openTable],
  deleteFromTable: ["predicates", openTable],
  explainTableQueryPlan: ["query plans", openTable],
  analyzeTableQueryPlan: ["query plans", openTable],
  alterTableBackfillColumns: ["computed columns", checkComputedColumn],
  createTableIndex: ["indexes", checkIndexedColumn],
  createTableScalarIndex: ["indexes", checkIndexedColumn],
  listTableIndices: ["indexes", openTable],
  describeTableIndexStats: ["indexes", checkIndex],
  dropTableIndex: ["indexes", checkIndex],
  alterTransaction: ["changes of transactions", null],
  describeJob: ["jobs", null],
  listJobs: ["jobs", null],
  cancelJob: ["jobs", null],
  waitForJob: ["jobs", null],
} as const satisfies Readonly<Record<string, readonly [missing: string, check: Check | null]>>;

export type UnsupportedOperation = keyof typeof UNSUPPORTED;

/** @throws UnsupportedError, unless the request is at fault itself */
export async function refuseUnsupported(
  context: OperationContext,
  operation: UnsupportedOperation,
  request: RequestBase,
): Promise<never> {
  const [missing, check] = UNSUPPORTED[operation];
  await check?.(context, request);
  throw new UnsupportedError(`${operation}: ${missing} are not supported by this release`);
}

async function checkIndexedColumn(context: OperationContext, request: Request): Promise<void> {
  requireString(request.indexType, "indexType");
  await findColumn(context, request);
}

async function checkComputedColumn(context: OperationContext, request: Request): Promise<void> {
  const { path, field } = await findColumn(context, request);
  const isComputed = ["virtual_column", "computed_column"].some((key) => field.metadata.get(key) === "true");
  if (!isComputed)
    throw new InvalidInputError(`column: ${path} is not computed: there is nothing to fill it with`);
}

async function findColumn(context: OperationContext, request: Request) {
  const column = requireString(request.column, "column");
  const { file } = await requireSnapshot(context, request);
  return resolveField(decodeSchema(file.manifest.fields, file.path), column);
}

async function checkIndex(context: OperationContext, request: Request): Promise<void> {
  const name = requireString(request.indexName, "indexName");
  const { file } = await requireSnapshot(context, request);
  if (file.indexSection?.indices.some((index) => index.name === name)) return;
  throw new TableIndexNotFoundError(
    `table ${formatIdentifier(requireTableId(request.id))} has no index ${name}`,
  );
}
