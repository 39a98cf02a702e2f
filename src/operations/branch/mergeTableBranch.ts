/** MergeTableBranch: merges a branch into the branch that it was made from. Not in the namespace spec. */

import {
  ConcurrentModificationError,
  InvalidInputError,
  TableBranchNotFoundError,
  TableVersionNotFoundError,
} from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { MergeTableBranchRequest } from "../../namespace/branches.js";
import type { ComparedColumns } from "../../query/compare/comparedColumns.js";
import type { Winner } from "../../query/compare/mergedChanges.js";
import {
  MERGED_BRANCH_PROPERTY,
  mergeHistory,
  mergeRecord,
  type NamedBranch,
} from "../../table/commit/branchMerges.js";
import { readBranch } from "../../table/refs/branches.js";
import { checkBranchName } from "../../table/refs/refNames.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { branchAt, type OpenVersion, type TableAt } from "../../table/versions/tableAt.js";
import { findVersion } from "../../table/versions/versions.js";
import { type CommonVersion, mergeBranch } from "../../write/merge/mergeBranch.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { requireTableId } from "../request.js";
import { parseChoice, requireString } from "../requestValues.js";
import { keyNames, requireKey } from "../rowKey.js";
import { isInPlace, openWritable, removedError, requireSnapshot } from "../snapshot.js";
import { makeSpillFile } from "../spillFile.js";

const WINNERS = { Fail: null, Ours: "current", Theirs: "branch" } as const satisfies Record<string, Winner>;
const SPILL_REMEDY = "make it writable";

type Version = OpenVersion<OperationContext>;

export const mergeTableBranch: OperationBody<"mergeTableBranch"> = async (context, request, access) => {
  const id = requireTableId(request.id);
  const name = requireString(request.name, "name");
  checkBranchName(name);
  const keys = keyNames(request.on);
  const choice = parseChoice(request.conflicts, "conflicts", ["Fail", "Ours", "Theirs"], "Fail");
  await access.require("queryTable", id, { branch: name });
  const { signal } = request;
  const target = await openWritable(context, request);
  const { table } = target;
  const branch = await requireSnapshot(context, { id, branch: name, signal }, access);
  const record = await readBranch(table, name);
  if (record === null) {
    throw new TableBranchNotFoundError(`table ${formatIdentifier(id)} has no branch ${name}`);
  }
  if (record.parentBranch !== table.branch) {
    throw new InvalidInputError(
      `name: branch ${name} was made from ${nameOf(record.parentBranch)}, so it can only be merged there, not into ${nameOf(table.branch)}`,
    );
  }
  const named = { name, record };
  /** Versions whose files the merge reads, besides those of the line that it changes. */
  let versions: readonly OpenVersion[] = [branch];
  const merge = {
    branch,
    branchName: nameOf(name),
    currentName: nameOf(table.branch),
    async common(current: OpenVersion) {
      const common = await commonVersion(table, named, current.version, keys !== null, request);
      // A new branch of that name may have replaced this one before its record was read.
      if (!(await isInPlace(branch))) {
        throw new ConcurrentModificationError(
          `branch ${name} of table ${formatIdentifier(id)} was deleted or cleaned up while it was merged`,
        );
      }
      versions = [branch, common.onBranch, common.onCurrent];
      return common;
    },
    keyOf: (all: readonly OpenVersion[], columns: ComparedColumns) => requireKey(keys, all, columns, request),
    winner: WINNERS[choice],
    property: [MERGED_BRANCH_PROPERTY, mergeRecord(named, branch.version)],
  } as const;
  const options = {
    readAhead: context.streams.open(),
    makeFile: () => makeSpillFile(table, "mergeBranch", SPILL_REMEDY),
    signal,
  };
  const merged = await mergeBranch(target, merge, options).catch(async (error: unknown) => {
    throw await removedError(versions, request, error);
  });
  const { transactionId, version, insertedRows, updatedRows, deletedRows } = merged;
  return {
    ...(transactionId !== undefined && { transactionId }),
    version,
    numInsertedRows: insertedRows,
    numUpdatedRows: updatedRows,
    numDeletedRows: deletedRows,
  };
};

const nameOf = (branch: string | null): string => branch ?? "main";

/**
 * Finds the version that both lines have in common: the last merge, or the version that the branch was made
 * from.
 * @throws InvalidInputError if rows may have been merged before by other row ids; TableVersionNotFoundError
 */
async function commonVersion(
  table: TableAt<OperationContext>,
  branch: NamedBranch,
  latest: number,
  hasKeys: boolean,
  { id, signal }: MergeTableBranchRequest,
): Promise<CommonVersion> {
  const { name, record } = branch;
  const onBranch = branchAt(table, name);
  const { last, isComplete } = await mergeHistory(table, branch, latest, signal);
  if (!hasKeys && (last !== null || !isComplete)) {
    const reason =
      last === null
        ? "versions that would tell if it was merged before were removed"
        : `it was merged before, in version ${last.made.version}`;
    throw new InvalidInputError(
      `on: branch ${name} cannot be merged by row ids, because ${reason}: rows that it added would have other ` +
        'ids there; name key columns, as in on: ["id"]',
    );
  }
  if (last !== null) {
    return { onCurrent: last.made, onBranch: await requireVersionOf(onBranch, last.branchVersion, id) };
  }
  const fork = (await openAt(table, record.parentVersion)) ?? (await openAt(onBranch, record.parentVersion));
  if (fork === null) throw absentVersion(record.parentVersion, id);
  return { onCurrent: fork, onBranch: fork };
}

async function openAt(table: TableAt<OperationContext>, version: number): Promise<Version | null> {
  const entry = await findVersion(table, version);
  return entry && openVersion(table, entry);
}

async function requireVersionOf(
  table: TableAt<OperationContext>,
  version: number,
  id: MergeTableBranchRequest["id"],
): Promise<Version> {
  const open = await openAt(table, version);
  if (open === null) throw absentVersion(version, id);
  return open;
}

const absentVersion = (version: number, id: MergeTableBranchRequest["id"]): TableVersionNotFoundError =>
  new TableVersionNotFoundError(
    `version ${version} of table ${formatIdentifier(requireTableId(id))}, from which both lines go on, was removed`,
  );
