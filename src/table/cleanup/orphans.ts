/**
 * Removes orphans: files that writers leave in a table's directory when they die or fail to clean up.
 *
 *     .tmp-<uuid>                           files that were being written, see publish.ts
 *     _versions/<name>.manifest-<uuid>      manifests that were staged, never published; also below _staging
 *     <name>#<n>                            files that the reference was writing
 *     _tiltyard/versions/<version>.json     records of versions that do not exist
 *     _tiltyard/checkpoints/<name>          values of unfinished backfills
 *     tree/<branch>                         directories of branches that are not registered
 *
 * Files of other programs stay, such as Geneva's functions in `_udfs`, in the table's directory or in a
 * branch's.
 *
 * Writers use temporary files beside manifests and refs, and records of versions, only under the locks that
 * the caller of a cleanup holds. So no living writer needs one. Everything else stays until it is too old to
 * be in use.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { ServiceUnavailableError } from "../../errors.js";
import type { FileStat } from "../../io/disk/disk.js";
import { isDiskFull, isMissing } from "../../io/disk/errno.js";
import { isTimeless } from "../../io/disk/timeless.js";
import { type LockOptions, withLock } from "../../io/lock/lock.js";
import { foldName } from "../../io/names/foldName.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { Removal, removeLeased } from "../../io/publish.js";
import { join } from "../../platform/native.js";
import { listBranches, ownParts } from "../refs/branches.js";
import { asSpelledBy } from "../refs/branchRemoval.js";
import {
  branchesDirectory,
  branchTree,
  checkpointsDirectory,
  FOREIGN_TEMPORARY,
  hasUniqueNames,
  retiredDirectory,
  sideDirectory,
  stagingDirectory,
  TABLE_PARTS,
  tagsDirectory,
  versionRecordsDirectory,
  versionsDirectory,
} from "../versions/paths.js";
import type { TableAt } from "../versions/tableAt.js";
import type { RemovedFiles } from "./namedFiles.js";

export interface OrphanSweep {
  /** Table or branch to clean up. The caller holds its lock and that of the table's refs. */
  readonly table: TableAt;
  readonly lock: LockOptions;
  /** Numbers of the existing versions. */
  readonly versions: ReadonlySet<number>;
  readonly removed: RemovedFiles;
  /** Returns true if the file's last change is so long ago that no writer can still use the file. */
  isOld(stat: FileStat): boolean;
  /** Like {@link isOld}, for a file that an engine without the lock may be about to commit. */
  isForgotten(stat: FileStat): boolean;
  /**
   * Called before each step.
   * @throws LeaseLostError if a lock is lost
   */
  confirm(): Promise<void>;
}

/** Names of temporary files. */
const TEMPORARY = new RegExp(`^\\${TEMPORARY_PREFIX}[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`);
/** Names of staged manifests. */
const STAGED = /^(d?\d+\.manifest-|\.tmp_\d+\.manifest_)/;
const RECORD = /^(\d+)\.json$/;
/** Names of markers that the reference is writing. */
const FOREIGN_MARKER = /^\.lance-[a-z]+#\d+$/;
/** Names of other programs' directories, such as Geneva's `_udfs`. Few branches have such names. */
const FOREIGN_NAME = /^[._]/;
/** Names of files in some parts of a branch; the other parts contain files of any name. */
const FILES_OF_PARTS: Readonly<Record<string, RegExp>> = {
  data: /\.(lance|blob)(#\d+)?$/,
  _transactions: /\.txn(#\d+)?$/,
  _deletions: /\.(arrow|bin)(#\d+)?$/,
  _versions: /\.manifest|^latest_version_hint\.json(#\d+)?$/,
};

/** Depth that no branch can reach, because the length of branch names is bounded. */
const MAX_DEPTH = 128;
/** Maximum number of directory levels below a part of a branch's directory. */
const MAX_PART_DEPTH = 4;

/** Condition on the state of a file or directory under which it is removed; null: never. */
type Condition = ((stat: FileStat) => boolean) | null;

export async function sweepOrphans(sweep: OrphanSweep): Promise<void> {
  const { table, versions } = sweep;
  const { disk, root, mainRoot } = table;
  const always = () => true;
  const ifOld = (stat: FileStat) => sweep.isOld(stat);
  const ifForgotten = (stat: FileStat) => sweep.isForgotten(stat);
  /** Returns the condition for directories in which temporary files are made under the caller's locks. */
  const underLock = (name: string): Condition => {
    if (TEMPORARY.test(name)) return always;
    return FOREIGN_TEMPORARY.test(name) ? ifForgotten : null;
  };
  await sweepDirectory(sweep, versionsDirectory(root), (name) =>
    STAGED.test(name) ? ifOld : underLock(name),
  );
  await sweepDirectory(sweep, tagsDirectory(mainRoot), underLock);
  await sweepDirectory(sweep, branchesDirectory(mainRoot), underLock);
  await sweepDirectory(sweep, sideDirectory(root), underLock);
  await sweepDirectory(sweep, versionRecordsDirectory(root), (name) => {
    const version = RECORD.exec(name)?.[1];
    return version !== undefined && !versions.has(Number(version)) ? always : underLock(name);
  });
  // A backfill that still needs a checkpoint computes the values again.
  const checkpoints = checkpointsDirectory(root);
  const checkpointsStat = await disk.stat(checkpoints);
  await sweepDirectory(sweep, checkpoints, () => ifOld);
  await removeIfEmpty(sweep, checkpoints, checkpointsStat);
  await sweepDirectory(sweep, root, (name) =>
    TEMPORARY.test(name) || FOREIGN_MARKER.test(name) ? ifForgotten : null,
  );
  const staging = stagingDirectory(root);
  const stagingStat = await disk.stat(staging);
  await sweepDirectory(sweep, staging, () => ifOld);
  await removeIfEmpty(sweep, staging, stagingStat);
  const former = retiredDirectory(root);
  await removeIfEmpty(sweep, former, await disk.stat(former));
  if (root === mainRoot) await sweepTree(sweep, new RegisteredBranches(await listBranches(table)));
}

/** Removes orphaned files and temporary directories from a directory. */
async function sweepDirectory(
  sweep: OrphanSweep,
  directory: string,
  conditionOf: (name: string) => Condition,
): Promise<void> {
  const { table, removed } = sweep;
  const { disk, root } = table;
  for (const { name, kind } of (await disk.list(directory)) ?? []) {
    await yieldToEventLoop();
    const condition = conditionOf(name);
    if (condition === null || !(kind === "file" || (kind === "directory" && TEMPORARY.test(name)))) continue;
    const path = join(directory, name);
    const stat = await disk.stat(path);
    if (stat === null || !condition(stat)) continue;
    if (directory === versionRecordsDirectory(root) && RECORD.test(name)) {
      // Once the lock is lost, another writer may publish the version with a record of that name.
      await removeLeased(disk, path, sideDirectory(root), root, sweep);
    } else {
      await sweep.confirm();
      await (kind === "file" ? disk.remove(path) : disk.removeTree(path));
    }
    removed.orphans++;
    if (kind === "file") removed.bytes += stat.size;
  }
}

/**
 * Removes an empty directory that has not changed for long.
 * @param stat stat of the directory, from before anything was removed
 */
async function removeIfEmpty(
  { table: { disk }, isOld, confirm }: OrphanSweep,
  directory: string,
  stat: FileStat | null,
): Promise<void> {
  if (stat?.kind !== "directory" || !isOld(stat)) return;
  if ((await disk.list(directory))?.length !== 0) return;
  await confirm();
  await disk.removeEmptyDirectory(directory);
}

// ---------------------------------------------------------------------------------------------- branches

/** Names of the registered branches, found without a look at each of them. */
class RegisteredBranches {
  readonly #names: ReadonlySet<string>;
  readonly #byFirstPart = new Map<string, string[]>();

  constructor(names: readonly string[]) {
    this.#names = new Set(names);
    for (const name of names) {
      const first = foldedFirstPart(name);
      const group = this.#byFirstPart.get(first);
      if (group === undefined) this.#byFirstPart.set(first, [name]);
      else group.push(name);
    }
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Returns the branches whose directories, or parents of these, some file system takes for a branch's. */
  near(name: string): readonly string[] {
    return this.#byFirstPart.get(foldedFirstPart(name)) ?? [];
  }
}

const foldedFirstPart = (name: string): string => foldName(name.split("/", 1)[0]);

async function sweepTree(sweep: OrphanSweep, registered: RegisteredBranches): Promise<void> {
  const tree = branchTree(sweep.table.mainRoot);
  const stat = await sweep.table.disk.stat(tree);
  await sweepBelow(sweep, registered, "", 0);
  await removeIfEmpty(sweep, tree, stat);
}

/** Sweeps the directories whose branch names begin with `prefix`, innermost first. */
async function sweepBelow(
  sweep: OrphanSweep,
  registered: RegisteredBranches,
  prefix: string,
  depth: number,
): Promise<void> {
  const directory = join(branchTree(sweep.table.mainRoot), prefix);
  if (depth > MAX_DEPTH) return;
  for (const { name, kind } of (await sweep.table.disk.list(directory)) ?? []) {
    if (kind !== "directory" || TABLE_PARTS.includes(name) || FOREIGN_NAME.test(name)) continue;
    const branch = prefix + name;
    const root = join(directory, name);
    const stat = await sweep.table.disk.stat(root);
    await sweepBelow(sweep, registered, `${branch}/`, depth + 1);
    if (registered.has(branch)) continue;
    // The disk may list a directory under another spelling of the branch's name.
    const staying = await asSpelledBy(sweep.table, branch, registered.near(branch));
    if (staying.includes(branch)) continue;
    await sweepBranch(sweep, root, ownParts(branch, staying));
    await removeIfEmpty(sweep, root, stat);
  }
}

/** @param parts names in the directory that would be the branch's own */
async function sweepBranch(sweep: OrphanSweep, root: string, parts: readonly string[]): Promise<void> {
  const { disk, mainRoot } = sweep.table;
  const inside = (await disk.list(root)) ?? [];
  const ownParts = inside.filter(({ name, kind }) => kind === "directory" && parts.includes(name));
  if (ownParts.length === 0) return;
  for (const { name } of ownParts) {
    if (!(await isOldTree(sweep, join(root, name), FILES_OF_PARTS[name] ?? /^/))) return;
  }
  try {
    // A process that opened the branch before its deletion may still use it.
    await withLock(root, { ...sweep.lock, waitMs: 0 }, async (lease) => {
      const confirm = async () => {
        await sweep.confirm();
        await lease.confirm();
      };
      // A new branch of that name would use the same directories.
      const removal = new Removal(disk, sideDirectory(mainRoot), mainRoot, { confirm }, hasUniqueNames);
      try {
        for (const { name } of ownParts) {
          const part = join(root, name);
          await countTree(sweep, part);
          await removal.takeOut(part);
        }
      } finally {
        await removal.finish();
      }
    });
  } catch (error) {
    // The directory is in use or gone, or there is no room for a lock. Another cleanup will remove it.
    if (error instanceof ServiceUnavailableError || isMissing(error) || isDiskFull(error)) return;
    throw error;
  }
  await disk.removeEmptyDirectory(root);
}

/**
 * Returns true if everything below a directory is old and of the kind that engines put there. False if the
 * directory is deeper than a branch's.
 * @param files names of files that engines put there
 */
async function isOldTree(sweep: OrphanSweep, directory: string, files: RegExp, depth = 0): Promise<boolean> {
  const { disk } = sweep.table;
  const isOld = async (path: string): Promise<boolean> => {
    const stat = await disk.stat(path);
    return stat === null || isTimeless(stat) || sweep.isOld(stat);
  };
  if (depth > MAX_PART_DEPTH || !(await isOld(directory))) return false;
  for (const { name, kind } of (await disk.list(directory)) ?? []) {
    const path = join(directory, name);
    if (kind === "directory") {
      if (!(await isOldTree(sweep, path, files, depth + 1))) return false;
    } else if (!(files.test(name) || TEMPORARY.test(name)) || !(await isOld(path))) return false;
  }
  return true;
}

/** Counts the files below a directory as removed. */
async function countTree(sweep: OrphanSweep, directory: string, depth = 0): Promise<void> {
  const { removed } = sweep;
  const { disk } = sweep.table;
  for (const { name, kind } of (await disk.list(directory)) ?? []) {
    const path = join(directory, name);
    if (kind === "directory" && depth < MAX_PART_DEPTH) await countTree(sweep, path, depth + 1);
    const stat = kind === "file" ? await disk.stat(path) : null;
    if (stat === null) continue;
    removed.orphans++;
    removed.bytes += stat.size;
  }
}
