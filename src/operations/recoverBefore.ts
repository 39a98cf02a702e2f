/**
 * Selects the unfinished batches that an operation must finish, or wait for, before it reads anything:
 * batches that change what the operation reads or changes. The operation thus sees all of a batch or nothing.
 *
 * | operation                    | batches that change             | a batch that can't be finished    |
 * | ---------------------------- | ------------------------------- | --------------------------------- |
 * | changes a table              | the table, or one of its ids    | fails the operation               |
 * | reads a table                | the table                       | fails it, unless it may only read |
 * | creates or drops a namespace | tables in it, at any depth      | fails the operation               |
 * | lists or searches all tables | tables in the namespace, or any | is ignored                        |
 * | reads namespaces or jobs     | none                            |                                   |
 */

import type { RecoveryOptions } from "../catalog/batches/batchRecovery.js";
import type { BatchScope } from "../catalog/batches/batchScope.js";
import { recoverAbandoned } from "../catalog/batches/unfinishedBatches.js";
import { directoryAt } from "../catalog/locations/locations.js";
import { InvalidInputError } from "../errors.js";
import type * as base from "../namespace/request.js";
import type * as tables from "../namespace/tables.js";
import { isReadOnly, type OperationName } from "../operationTable.js";
import type { OperationContext } from "./context.js";
import { optionalId } from "./request.js";

type Tolerance = RecoveryOptions["tolerate"];

/**
 * Finishes the batches that concern an operation. Undefined if none can.
 * @param request unchecked
 * @throws errors of {@link recoverAbandoned}, depending on the operation's tolerance
 */
export function recoverBefore(
  context: OperationContext,
  operation: OperationName,
  id: readonly string[],
  request: base.RequestBase,
): Promise<void> | undefined {
  const { signal } = request;
  const scope = scopeOf(context, operation, id, request);
  if (scope === null) return undefined;
  return recoverAbandoned(context, scope, { signal, tolerate: toleranceOf(operation, scope) });
}

function toleranceOf(operation: OperationName, scope: BatchScope): Tolerance {
  const isChange = operation === "createNamespace" || operation === "dropNamespace";
  if (scope.kind !== "tables" && !isChange) return "everything";
  return isReadOnly(operation) ? "unwritable" : undefined;
}

function scopeOf(
  { root }: OperationContext,
  operation: OperationName,
  id: readonly string[],
  request: base.RequestBase,
): BatchScope | null {
  switch (operation) {
    case "describeNamespace":
    case "namespaceExists":
    case "listNamespaces":
    case "listJobs":
      return null;
    case "createNamespace":
    case "dropNamespace":
      return { kind: "namespace", path: id, isDeep: true };
    case "listTables":
      return { kind: "namespace", path: id, isDeep: false };
    case "listAllTables":
      return { kind: "everything" };
    case "describeTransaction":
    case "alterTransaction":
      return id.length > 1 ? { kind: "tables", ids: [id.slice(0, -1)] } : { kind: "everything" };
    case "renameTable": {
      const { newTableName, newNamespaceId } = request as Partial<tables.RenameTableRequest>;
      const target: unknown[] = [...asPath(newNamespaceId ?? id.slice(0, -1)), newTableName];
      return { kind: "tables", ids: [id, asPath(target)] };
    }
    case "registerTable": {
      const { location } = request as Partial<tables.RegisterTableRequest>;
      const directories = typeof location === "string" ? [directoryAt(root, location)] : [];
      return { kind: "tables", ids: [id], directories };
    }
    case "batchCreateTableVersions":
      return { kind: "tables", ids: partIds((request as { entries?: unknown }).entries) };
    case "batchCommitTables": {
      const { operations } = request as { operations?: unknown };
      const parts = Array.isArray(operations) ? operations.flatMap((each) => Object.values(each ?? {})) : [];
      return { kind: "tables", ids: partIds(parts) };
    }
    default:
      return id.length === 0 ? null : { kind: "tables", ids: [id] };
  }
}

const partIds = (parts: unknown): (readonly string[])[] =>
  Array.isArray(parts) ? parts.map((part) => asPath(part?.id)) : [];

/** Returns a path; empty for a malformed value, which no batch concerns and the operation reports. */
function asPath(value: unknown): readonly string[] {
  try {
    return optionalId(value);
  } catch (error) {
    if (error instanceof InvalidInputError) return [];
    throw error;
  }
}
