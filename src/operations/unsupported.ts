/**
 * Operations that the engine does not implement. Their requests are checked as far as possible, so that a client learns
 * about a missing table, branch or column as it will once they are implemented.
 */

import { InvalidInputError, UnsupportedError } from "../errors.js";
import type { RequestBase } from "../namespace.js";
import { fieldFinder, resolveField } from "../schema/fieldPaths.js";
import { decodeSchema } from "../schema/schema.js";
import type { Access } from "./access.js";
import type { OperationContext } from "./context.js";
import { optionalVersion, requireString } from "./request.js";
import { requireSnapshot } from "./snapshot.js";

/** Members that some of the operations have; unchecked. */
interface Request extends RequestBase {
  readonly branch?: string;
  readonly version?: number;
  readonly column?: unknown;
  readonly readVersion?: unknown;
}

type Check = (context: OperationContext, request: Request, access: Access) => Promise<unknown>;

/** The missing feature of each operation, and the check that comes before the refusal. */
const UNSUPPORTED = {
  alterTableBackfillColumns: ["computed columns", checkComputedColumn],
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

async function checkComputedColumn(
  context: OperationContext,
  request: Request,
  access: Access,
): Promise<void> {
  const column = requireString(request.column, "column");
  const readVersion = optionalVersion(request.readVersion, "readVersion");
  const [{ path, field }] = await findColumns(context, request, access, [column]);
  const isComputed = ["virtual_column", "computed_column"].some((key) => field.metadata.get(key) === "true");
  if (!isComputed)
    throw new InvalidInputError(`column: ${path} is not computed: there is nothing to fill it with`);
  if (readVersion !== undefined) await requireSnapshot(context, { ...request, version: readVersion }, access);
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
