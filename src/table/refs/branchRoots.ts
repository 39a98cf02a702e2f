/** Finds the directories of a table's branches. */

import { ageClockMs } from "../../async/timers.js";
import type { Disk } from "../../io/disk/disk.js";
import { join, relative, sep } from "../../platform/native.js";
import { branchTree, TABLE_PARTS, versionsDirectory } from "../versions/paths.js";
import type { RefsAt } from "../versions/tableAt.js";
import { listVersions } from "../versions/versions.js";
import { listBranches } from "./branches.js";
import { branchRoot, isBranchName } from "./refNames.js";

/** Depth that no branch can reach, because the length of branch names is bounded. */
const MAX_DEPTH = 128;

/**
 * Returns the directories of all branches but the main one. A directory without a ref belongs to a branch
 * that is being made, or was deleted. It counts if its newest version is younger than `graceMs`.
 * @throws CorruptFileError for a ref whose name is illegal
 */
export async function branchRoots(table: RefsAt, graceMs: number): Promise<string[]> {
  const names = await listBranches(table);
  const roots = new Set(names.map((name) => branchRoot(table.mainRoot, name)));
  const newestNs = BigInt(Math.floor(ageClockMs() - graceMs)) * 1_000_000n;
  for (const root of await rootsBelow(table.disk, branchTree(table.mainRoot), 0)) {
    if (roots.has(root)) continue;
    for (const { path } of await listVersions({ disk: table.disk, root })) {
      const stat = await table.disk.stat(path);
      if (stat === null || stat.modifiedNs < newestNs) continue;
      roots.add(root);
      break;
    }
  }
  return [...roots];
}

/**
 * Returns the names of branches whose directory has versions, but that are not registered.
 * @throws CorruptFileError for a ref whose name is illegal
 */
export async function unregisteredBranches(table: RefsAt): Promise<string[]> {
  const tree = branchTree(table.mainRoot);
  const roots = await rootsBelow(table.disk, tree, 0);
  // Listed after the directories, so that a branch that was made in between is registered.
  const registered = new Set(await listBranches(table));
  const unregistered: string[] = [];
  for (const root of roots) {
    const name = relative(tree, root).replaceAll(sep, "/");
    if (registered.has(name) || !isBranchName(name)) continue;
    if ((await listVersions({ disk: table.disk, root })).length > 0) unregistered.push(name);
  }
  return unregistered;
}

/** Finds directories that contain versions, at any depth. */
async function rootsBelow(disk: Disk, directory: string, depth: number): Promise<string[]> {
  const roots: string[] = [];
  if (depth > MAX_DEPTH) return roots;
  for (const { name, kind } of (await disk.list(directory)) ?? []) {
    if (kind !== "directory" || TABLE_PARTS.includes(name)) continue;
    const root = join(directory, name);
    if ((await disk.stat(versionsDirectory(root)))?.kind === "directory") roots.push(root);
    roots.push(...(await rootsBelow(disk, root, depth + 1)));
  }
  return roots;
}
