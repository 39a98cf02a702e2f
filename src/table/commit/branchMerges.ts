/**
 * Finds the last merge of a branch. A merge records itself in the properties of its transaction, as JSON:
 *
 *     tiltyard.merged_branch    { branch: its name, made: its random id, version: the merged one }
 */

import { mapParallel } from "../../async/parallel.js";
import type { Branch } from "../refs/branches.js";
import { openVersion } from "../versions/openVersion.js";
import type { OpenVersion, TableAt, TableEnvironment } from "../versions/tableAt.js";
import { listVersions } from "../versions/versions.js";
import { readTransaction } from "./transaction.js";

/** Key of the record of a merge in the properties of its transaction. */
export const MERGED_BRANCH_PROPERTY = "tiltyard.merged_branch";

/** Number of manifests read concurrently. */
const PARALLELISM = 16;

/** A branch by its name and its registration. */
export interface NamedBranch {
  readonly name: string;
  readonly record: Branch;
}

/** Returns the record of a merge. */
export const mergeRecord = ({ name, record }: NamedBranch, version: number): string =>
  JSON.stringify({ branch: name, made: madeAs(record), version });

/** Distinguishes a branch from an earlier one of its name. */
const madeAs = ({ lineage, createAt }: Branch): string => lineage?.at(-1)?.[1] ?? String(createAt);

/** History of a line since a branch was made from it. */
export interface MergeHistory<Environment extends TableEnvironment> {
  /** The version that the last merge made, and the version of the branch that it merged. */
  readonly last: { readonly made: OpenVersion<Environment>; readonly branchVersion: number } | null;
  /** True if all versions since then are there, so that no merge was missed. */
  readonly isComplete: boolean;
}

/**
 * Searches the versions after the one that the branch was made from.
 * @param latest version up to which the search goes
 */
export async function mergeHistory<Environment extends TableEnvironment>(
  table: TableAt<Environment>,
  branch: NamedBranch,
  latest: number,
  signal?: AbortSignal,
): Promise<MergeHistory<Environment>> {
  const first = branch.record.parentVersion + 1;
  const entries = (await listVersions(table)).filter(({ version }) => version >= first && version <= latest);
  let next = latest;
  let isComplete = true;
  for (let end = entries.length; end > 0; end -= PARALLELISM) {
    const window = entries.slice(Math.max(0, end - PARALLELISM), end).reverse();
    const opened = await mapParallel(window, PARALLELISM, (entry) => openVersion(table, entry), signal);
    for (const version of opened) {
      if (version === null) continue;
      if (version.version !== next) isComplete = false;
      next = version.version - 1;
      const transaction = await readTransaction(table, version.file);
      const merged = parseRecord(transaction?.transactionProperties.get(MERGED_BRANCH_PROPERTY), branch);
      if (merged !== null) return { last: { made: version, branchVersion: merged }, isComplete };
    }
  }
  return { last: null, isComplete: isComplete && next === first - 1 };
}

/** Returns the merged version; null if the text is not a record of the branch. */
function parseRecord(text: string | undefined, { name, record }: NamedBranch): number | null {
  if (text === undefined) return null;
  try {
    const { branch, made, version } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const isOfBranch = branch === name && made === madeAs(record);
    return isOfBranch && Number.isSafeInteger(version) ? (version as number) : null;
  } catch {
    return null;
  }
}
