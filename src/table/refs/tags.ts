/**
 * Tags: names for versions. `_refs/tags/<tag>.json` is a JSON object:
 *
 *   branch         string, or null for the main branch
 *   version        integer
 *   createdAt      RFC 3339 in UTC, nanoseconds
 *   updatedAt      likewise
 *   manifestSize   bytes of the version's manifest
 *   metadata       object of strings; kept, and of no meaning here
 *
 * A tag is created by publishing its file exclusively, and moved by replacing the file whole. So a tag names
 * one version at any moment, even if its writer dies.
 */

import {
  CorruptFileError,
  InternalError,
  InvalidInputError,
  TableTagAlreadyExistsError,
  TableTagNotFoundError,
  TableVersionNotFoundError,
} from "../../errors.js";
import type { LockLease } from "../../io/lock/lease.js";
import { foldName, isDeviceName } from "../../io/names/foldName.js";
import { namesIn } from "../../io/names/spelling.js";
import { createExclusive, Removal, replaceFile } from "../../io/publish.js";
import { dirname } from "../../platform/native.js";
import { isCount } from "../versions/jsonValues.js";
import { REF_SUFFIX, sideDirectory, tagName, tagPath, tagsDirectory } from "../versions/paths.js";
import type { RefsAt, TableAt } from "../versions/tableAt.js";
import {
  checkBranchName,
  checkTagName,
  encodeRefFile,
  isMainBranch,
  listRefNames,
  lockRefs,
  type RefContent,
  type RefTarget,
  readRefFile,
  requireTarget,
} from "./refs.js";

export interface Tag extends RefTarget {
  /** Bytes; 0 where the file does not say. */
  readonly manifestSize: number;
}

/**
 * What a tag points at, or null where there is no such tag.
 * @throws InvalidInputError for an illegal name, CorruptFileError
 */
export async function readTag(table: RefsAt, tag: string): Promise<Tag | null> {
  checkTagName(tag);
  const path = tagPath(table.mainRoot, tag);
  const content = await readRefFile(table.disk, path);
  return content && parseTag(content, path);
}

function parseTag({ branch, version, manifestSize = 0 }: RefContent, path: string): Tag {
  if (!isCount(version)) throw new CorruptFileError(path, 0, "a tag without a version");
  if (!isCount(manifestSize)) throw new CorruptFileError(path, 0, "a tag whose manifest has no size");
  if (branch === undefined || branch === null) return { branch: null, version, manifestSize };
  if (typeof branch !== "string") throw new CorruptFileError(path, 0, "a tag whose branch is no name");
  if (isMainBranch(branch)) return { branch: null, version, manifestSize };
  try {
    checkBranchName(branch);
  } catch (cause) {
    throw new CorruptFileError(path, 0, `a tag on branch ${branch}`, { cause });
  }
  return { branch, version, manifestSize };
}

/**
 * Names of all tags, in no order.
 * @throws CorruptFileError
 */
export const listTags = (table: RefsAt): Promise<string[]> =>
  listRefNames(table.disk, tagsDirectory(table.mainRoot), checkTagName);

/**
 * @throws InvalidInputError for an illegal name and for one that folds together with another tag's,
 *   TableTagAlreadyExistsError, and where the version does not exist TableBranchNotFoundError or
 *   TableVersionNotFoundError
 * @throws PublishUncertainError where the tag may or may not exist
 */
export function createTag(
  table: TableAt,
  tag: string,
  target: RefTarget,
  signal?: AbortSignal,
): Promise<void> {
  checkNewTagName(tag);
  const { disk } = table;
  return lockRefs(table, signal, async (lease) => {
    const { entry, manifestSize } = await requireTarget(table, target);
    const directory = tagsDirectory(table.mainRoot);
    await refuseTwin(table, tag);
    await disk.makeDirectory(directory, table.mainRoot);
    const createdAt = timeText();
    const { branch, version } = target;
    const content = { branch, version, createdAt, updatedAt: createdAt, manifestSize, metadata: {} };
    if (!(await createExclusive(disk, directory, tagName(tag), [encodeRefFile(content)], { lease }))) {
      throw new TableTagAlreadyExistsError(`tag ${tag} already exists`);
    }
    // Another engine's cleanup does not take the lock, and neither does dropping the table.
    if ((await disk.stat(entry.path)) !== null) return;
    await removeTag(table, tag, lease);
    for (const emptied of [directory, dirname(directory)]) await disk.removeEmptyDirectory(emptied);
    throw removedWhileTagged(version);
  });
}

const removedWhileTagged = (version: number): TableVersionNotFoundError =>
  new TableVersionNotFoundError(`version ${version} was removed while it was tagged`);

/** @throws InvalidInputError for a name that a new tag may not have */
function checkNewTagName(tag: string): void {
  checkTagName(tag);
  const refuse = (reason: string): never => {
    throw new InvalidInputError(`tag ${JSON.stringify(tag.slice(0, 100))}: ${reason}`);
  };
  // The format allows other alphabets, but the reference can't list a table's tags once there is such a tag.
  if (!/^[\0-\x7f]*$/.test(tag)) refuse("only ASCII letters are allowed");
  if (isDeviceName(tagName(tag))) refuse("Windows takes a file of that name for a device");
}

/** @throws InvalidInputError where some file system takes the file of a new tag for that of another */
async function refuseTwin(table: RefsAt, tag: string): Promise<void> {
  const names = await namesIn(table.disk, tagsDirectory(table.mainRoot));
  const folded = foldName(tagName(tag));
  const twin = [...names].find((name) => name !== tagName(tag) && foldName(name) === folded);
  if (twin === undefined) return;
  throw new InvalidInputError(
    `tag ${tag}: some file systems would take its file for that of tag ${twin.slice(0, -REF_SUFFIX.length)}`,
  );
}

/**
 * True if there is a tag of exactly that name. A disk that ignores case would also find the file of another
 * tag.
 */
const isTag = async (table: RefsAt, tag: string): Promise<boolean> =>
  (await namesIn(table.disk, tagsDirectory(table.mainRoot))).has(tagName(tag));

/** Throws unless the caller may move or delete a tag of a branch; null is the main one. */
export type AllowTag = (branch: string | null) => Promise<void>;

/**
 * The branch that a tag is on; null is the main branch. Null also for a missing or damaged tag, which names
 * no branch.
 */
export async function branchOfTag(table: RefsAt, tag: string): Promise<string | null> {
  try {
    return (await readTag(table, tag))?.branch ?? null;
  } catch (error) {
    // A caller that may change tags of the main branch may repair it.
    if (error instanceof CorruptFileError) return null;
    throw error;
  }
}

/**
 * Points a tag at another version.
 * @param allow asked right before the change, under the lock of the refs: the tag may have been moved
 *   meanwhile
 * @throws TableTagNotFoundError, CorruptFileError, and where the version does not exist, or was removed
 *   meanwhile, TableBranchNotFoundError or TableVersionNotFoundError: the tag is as before
 * @throws PublishUncertainError where the tag was moved, and may be back after a power cut
 */
export function updateTag(
  table: TableAt,
  tag: string,
  target: RefTarget,
  signal?: AbortSignal,
  allow?: AllowTag,
): Promise<void> {
  checkTagName(tag);
  const { disk } = table;
  return lockRefs(table, signal, async (lease) => {
    const path = tagPath(table.mainRoot, tag);
    const before = (await isTag(table, tag)) ? await readRefFile(disk, path) : null;
    if (before === null) throw noTag(tag);
    await allow?.(await branchOfTag(table, tag));
    const { entry, manifestSize } = await requireTarget(table, target);
    const { branch, version } = target;
    const content = { ...before, branch, version, updatedAt: timeText(), manifestSize };
    // Another engine deletes tags without the lock: a tag that is gone must not come back.
    const replace = (bytes: Uint8Array): Promise<boolean> =>
      replaceFile(disk, path, bytes, { sync: true, lease, verify: () => isTag(table, tag) });
    if (!(await replace(encodeRefFile(content)))) throw noTag(tag);
    // Nor does another engine's cleanup take the lock.
    if ((await disk.stat(entry.path)) !== null) return;
    await replace(encodeRefFile(before));
    throw removedWhileTagged(version);
  });
}

/**
 * @param allow as for {@link updateTag}
 * @throws TableTagNotFoundError
 */
export function deleteTag(
  table: TableAt,
  tag: string,
  signal?: AbortSignal,
  allow?: AllowTag,
): Promise<void> {
  checkTagName(tag);
  return lockRefs(table, signal, async (lease) => {
    if (!(await isTag(table, tag))) throw noTag(tag);
    await allow?.(await branchOfTag(table, tag));
    if (!(await removeTag(table, tag, lease))) throw noTag(tag);
  });
}

/** False where there is no such tag. Durable on return. */
async function removeTag(table: RefsAt, tag: string, lease: LockLease): Promise<boolean> {
  if ((await table.disk.stat(tagPath(table.mainRoot, tag))) === null) return false;
  const removal = new Removal(table.disk, sideDirectory(table.mainRoot), table.mainRoot, lease);
  try {
    if (!(await removal.takeOut(tagPath(table.mainRoot, tag)))) return false;
    await table.disk.syncDirectory(tagsDirectory(table.mainRoot)).catch((cause: unknown) => {
      throw new InternalError(`tag ${tag} was deleted, but may be back after a power cut`, { cause });
    });
    return true;
  } finally {
    await removal.finish();
  }
}

const noTag = (tag: string): TableTagNotFoundError =>
  new TableTagNotFoundError(`there is no tag ${tag.slice(0, 100)}`);

/** Now, with the nine decimals that the reference writes. */
const timeText = (): string => new Date().toISOString().replace("Z", "000000Z");
