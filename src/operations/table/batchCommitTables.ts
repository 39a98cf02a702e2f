/** BatchCommitTables: declares and deregisters tables, and publishes and deletes versions: all or nothing. */

import { commitBatch } from "../../catalog/batches/batches.js";
import type {
  BatchStep,
  DeclareTableStep,
  DeleteVersionsStep,
  DeregisterTableStep,
} from "../../catalog/batches/journalFormat.js";
import { planLocation } from "../../catalog/locations/placement.js";
import { findTable, readTableProperties, requireTable } from "../../catalog/locations/tables.js";
import { InvalidInputError, TableAlreadyExistsError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { uriOn } from "../../io/disk/addresses.js";
import { foldName } from "../../io/names/foldName.js";
import type {
  BatchCommitOperation,
  BatchCommitResult,
  BatchCommitTablesRequest,
} from "../../namespace/versions.js";
import { readTableIdentity } from "../../table/versions/tableIdentity.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { optionalString, requireTableId } from "../request.js";
import {
  boundedParts,
  optionalProperties,
  type PinnedPart,
  pinParts,
  requireList,
} from "../requestValues.js";
import {
  NO_VERSIONS,
  openVersionPart,
  type PlannedVersions,
  planVersions,
  publishedVersions,
  type VersionPart,
} from "../version/batch.js";
import {
  finishRemovals,
  openRemovalPart,
  planRemovals,
  type RemovalPart,
  removalRoots,
} from "../version/removal.js";
import { checkRequestedLocation } from "./requestedLocation.js";

/** Directory and properties of a table that a batch declares or deregisters. */
interface Outcome {
  readonly location: string;
  readonly properties: Readonly<Record<string, string>>;
}

export const batchCommitTables: OperationBody<"batchCommitTables"> = async (context, request, access) => {
  const operations: readonly BatchCommitOperation[] = await authorizedOperations(request, access);
  refuseRepeated(operations);
  refuseFoldingTogether(operations);
  const parts = new Map<BatchCommitOperation, VersionPart>();
  const removals = new Map<BatchCommitOperation, RemovalPart>();
  for (const operation of operations) {
    const { createTableVersion, deleteTableVersions } = operation;
    if (createTableVersion !== undefined) {
      parts.set(operation, await openVersionPart(context, createTableVersion, access));
    } else if (deleteTableVersions !== undefined) {
      removals.set(operation, await openRemovalPart(context, deleteTableVersions));
    }
  }
  const versionParts = [...parts.values()];
  const removalParts = [...removals.values()];
  let planned: PlannedVersions = NO_VERSIONS;
  let removalSteps: (DeleteVersionsStep | null)[] = [];
  const outcomes = new Map<BatchCommitOperation, Outcome>();
  await commitBatch(
    context,
    {
      ids: operations.map(idOf),
      tableRoots: [...versionParts.map((part) => part.table.root), ...removalParts.flatMap(removalRoots)],
    },
    async () => {
      planned = await planVersions(versionParts);
      removalSteps = await planRemovals(removalParts);
      const steps: BatchStep[] = [...planned.steps, ...removalSteps.filter((step) => step !== null)];
      for (const operation of operations) {
        const step = await planIdChange(context, operation, outcomes);
        if (step !== null) steps.push(step);
      }
      return { steps, manifests: planned.sources.map((source) => source.bytes) };
    },
    request.signal,
  );
  const versions = await publishedVersions(versionParts, planned);
  const versionOfPart = new Map(versionParts.map((part, index) => [part, versions[index]]));
  await finishRemovals(removalParts, removalSteps, request.signal);
  const countOfPart = new Map(
    removalParts.map((part, index) => [part, removalSteps[index]?.versions.length ?? 0]),
  );
  return {
    results: operations.map((operation): BatchCommitResult => {
      const part = parts.get(operation);
      const version = part && versionOfPart.get(part);
      if (version !== undefined) return { createTableVersion: { version } };
      const removal = removals.get(operation);
      const deletedCount = removal && countOfPart.get(removal);
      if (deletedCount !== undefined) return { deleteTableVersions: { deletedCount } };
      const outcome = outcomes.get(operation) as Outcome;
      return operation.declareTable !== undefined
        ? { declareTable: { ...outcome, managedVersioning: false } }
        : { deregisterTable: { ...outcome, id: requireTableId(operation.deregisterTable?.id) } };
    }),
  };
};

const KINDS: readonly (keyof BatchCommitOperation)[] = [
  "declareTable",
  "createTableVersion",
  "deleteTableVersions",
  "deregisterTable",
];

/**
 * Returns a frozen copy of each operation of a batch, after `authorize` has allowed it.
 * @throws InvalidInputError for too many operations, or unless each has exactly one member with the id of a
 *   table
 */
async function authorizedOperations(request: BatchCommitTablesRequest, access: Access) {
  const operations = boundedParts(requireList(request.operations, "operations"), "operations");
  const pinned = operations.map((operation): Readonly<Record<string, PinnedPart<object>>> => {
    const kinds = KINDS.filter((kind) => operation[kind] !== undefined && operation[kind] !== null);
    if (kinds.length !== 1) {
      throw new InvalidInputError(`operations: each must have exactly one of ${KINDS.join(", ")}`);
    }
    const [kind] = kinds;
    const [part] = pinParts([operation[kind] as { id?: unknown }], `operations.${kind}`, (each) => each.id);
    return { [kind]: part };
  });
  for (const [name, part] of pinned.flatMap((operation) => Object.entries(operation))) {
    const question = name === "deleteTableVersions" ? "batchDeleteTableVersions" : name;
    await access.require(question, part.id, part);
  }
  return pinned;
}

function idOf(operation: BatchCommitOperation): readonly string[] {
  const { declareTable, createTableVersion, deleteTableVersions, deregisterTable } = operation;
  return requireTableId((declareTable ?? createTableVersion ?? deleteTableVersions ?? deregisterTable)?.id);
}

/** Refuses an id that one part declares or deregisters and another names: their order is undefined. */
function refuseRepeated(operations: readonly BatchCommitOperation[]): void {
  const used = new Set<string>();
  const changed = new Set<string>();
  for (const operation of operations) {
    const { declareTable, deregisterTable } = operation;
    const changes = declareTable !== undefined || deregisterTable !== undefined;
    const id = idOf(operation);
    const key = JSON.stringify(id);
    if ((changes ? used : changed).has(key)) {
      throw new InvalidInputError(`operations: ${formatIdentifier(id)} is in more than one of them`);
    }
    used.add(key);
    if (changes) changed.add(key);
  }
}

/**
 * Refuses new root tables whose directories have the same name on some file systems. The check against
 * existing tables misses them, because the new tables do not exist yet.
 */
function refuseFoldingTogether(operations: readonly BatchCommitOperation[]): void {
  const names = new Map<string, string>();
  for (const { declareTable } of operations) {
    if (!declareTable || requireTableId(declareTable.id).length !== 1) continue;
    const [name] = requireTableId(declareTable.id);
    const twin = names.get(foldName(name));
    if (twin !== undefined) {
      throw new InvalidInputError(
        `operations: some file systems would take the directory of table ${name} for that of table ${twin}`,
      );
    }
    names.set(foldName(name), name);
  }
}

async function planIdChange(
  context: OperationContext,
  operation: BatchCommitOperation,
  outcomes: Map<BatchCommitOperation, Outcome>,
): Promise<DeclareTableStep | DeregisterTableStep | null> {
  const { declareTable, deregisterTable } = operation;
  if (declareTable !== undefined) {
    const id = requireTableId(declareTable.id);
    const properties = optionalProperties(declareTable.properties);
    if ((await findTable(context, id)) !== null) {
      throw new TableAlreadyExistsError(`table ${formatIdentifier(id)} already exists`);
    }
    const { location, directory } = await planLocation(context, id);
    checkRequestedLocation(context, id, optionalString(declareTable.location, "location"), directory);
    outcomes.set(operation, {
      location: uriOn(context.disk, directory),
      properties: properties ?? {},
    });
    return { kind: "declareTable", id, location, properties };
  }
  if (deregisterTable !== undefined) {
    const id = requireTableId(deregisterTable.id);
    const entry = await requireTable(context, id);
    const properties = await readTableProperties(context, entry);
    outcomes.set(operation, { location: uriOn(context.disk, entry.directory), properties });
    const identity = (await readTableIdentity({ disk: context.disk, root: entry.directory })) ?? undefined;
    return { kind: "deregisterTable", id, location: entry.location, properties, identity };
  }
  return null;
}
