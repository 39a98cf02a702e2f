/** Determines which versions of a table or branch refs need: those of tags, and the sources of branches. */

import type { TableAt } from "../versions/tableAt.js";
import { listBranches, readBranch } from "./branches.js";
import { listTags, readTag } from "./tags.js";

/** Names of the refs that need a version, by its number. */
export interface PinnedVersions {
  readonly tags: ReadonlyMap<number, readonly string[]>;
  readonly branches: ReadonlyMap<number, readonly string[]>;
}

/**
 * Reads the versions of a branch that refs need. The result is certain only while the caller holds the lock
 * of the table's refs.
 * @throws CorruptFileError for a ref that cannot be read, because it may need any version
 */
export async function readPinnedVersions(table: TableAt): Promise<PinnedVersions> {
  const tags = new Map<number, string[]>();
  for (const name of await listTags(table)) {
    const tag = await readTag(table, name);
    if (tag !== null && tag.branch === table.branch) note(tags, tag.version, name);
  }
  const branches = new Map<number, string[]>();
  for (const name of await listBranches(table)) {
    const fork = await readBranch(table, name);
    if (fork !== null && fork.parentBranch === table.branch) note(branches, fork.parentVersion, name);
  }
  return { tags, branches };
}

function note(names: Map<number, string[]>, version: number, name: string): void {
  const pinning = names.get(version);
  if (pinning === undefined) names.set(version, [name]);
  else pinning.push(name);
}

export const isPinned = ({ tags, branches }: PinnedVersions, version: number): boolean =>
  tags.has(version) || branches.has(version);
