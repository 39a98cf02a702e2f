/**
 * Reads and writes tags, which are names of versions. `_refs/tags/<tag>.json` is a JSON object:
 *
 *     branch         string, or null for the main branch
 *     version        integer
 *     createdAt      RFC 3339 in UTC, nanoseconds
 *     updatedAt      RFC 3339 in UTC, nanoseconds
 *     manifestSize   bytes of the version's manifest
 *     metadata       object of strings; kept, and without meaning here
 *
 * A tag is created by publishing its file exclusively, and moved by replacing the whole file. So it names one
 * version at any moment, even if its writer dies.
 */

import {
  CorruptFileError,
  InternalError,
  InvalidInputError,
  TableTagAlreadyExistsError,
  TableTagNotFoundError,
  TableVersionNotFoundError,
} from "../../errors.js";
import type { LockLease } from "../../io/disk/locks.js";
import { foldName, isDeviceName } from "../../io/names/foldName.js";
import { namesIn } from "../../io/names/spelling.js";
import { createExclusive, Removal, replaceFile } from "../../io/publish.js";
import { dirname } from "../../platform/native.js";
import { isCount } from "../versions/jsonValues.js";
import { REF_SUFFIX, sideDirectory, tagName, tagPath, tagsDirectory } from "../versions/paths.js";
import type { RefsAt, TableAt } from "../versions/tableAt.js";
import { checkBranchName, checkTagName, isMainBranch } from "./refNames.js";
import {
  encodeRefFile,
  listRefNames,
  lockRefs,
  type RefContent,
  type RefTarget,
  readRefFile,
  requireTarget,
} from "./refs.js";

export interface Tag extends RefTarget {
  /** Bytes of the version's manifest; 0 if the file does not record them. */
  readonly manifestSize: number;
}

/**
 * Reads a tag; null if it does not exist.
 * @throws InvalidInputError for an illegal name, CorruptFileError
 */
export async function readTag(table: RefsAt, tag: string): Promise<Tag | null> {
  checkTagName(tag);
  const path = tagPath(table.mainRoot, tag);
  const content = await readRefFile(table.disk, path);
  return content && parseTag(content, path);
}

function parseTag({ branch, version, manifestSize = 0 }: RefContent, path: string): Tag {
  if (!isCount(version)) throw new CorruptFileError(path, 0, "the tag has no version");
  if (!isCount(manifestSize))
    throw new CorruptFileError(path, 0, "the tag does not state the size of its manifest");
  if (branch === undefined || branch === null) return { branch: null, version, manifestSize };
  if (typeof branch !== "string")
    throw new CorruptFileError(path, 0, "the branch of the tag has an invalid name");
  if (isMainBranch(branch)) return { branch: null, version, manifestSize };
  try {
    checkBranchName(branch);
  } catch (cause) {
    throw new CorruptFileError(path, 0, `the tag names branch ${branch}, which is not a valid name`, {
      cause,
    });
  }
  return { branch, version, manifestSize };
}

/**
 * Lists the names of all tags, in any order.
 * @throws CorruptFileError
 */
export const listTags = (table: RefsAt): Promise<string[]> =>
  listRefNames(table.disk, tagsDirectory(table.mainRoot), checkTagName);

/**
 * Creates a tag.
 * @throws InvalidInputError for an illegal name, or one that folds together with another tag's
 * @throws TableTagAlreadyExistsError; TableBranchNotFoundError or TableVersionNotFoundError if the version
 *   does not exist
 * @throws PublishUncertainError if the tag may exist
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
    // Another engine's cleanup ignores the lock, and so does dropping the table.
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
  // The format allows other alphabets, but the reference cannot list a table's tags if one has such a
  // name.
  if (!/^[\0-\x7f]*$/.test(tag)) refuse("only ASCII letters are allowed");
  if (isDeviceName(tagName(tag))) refuse("Windows takes a file of that name for a device");
}

/** @throws InvalidInputError if some file system treats the file of a new tag as another tag's */
async function refuseTwin(table: RefsAt, tag: string): Promise<void> {
  const names = await namesIn(table.disk, tagsDirectory(table.mainRoot));
  const folded = foldName(tagName(tag));
  const twin = [...names].find((name) => name !== tagName(tag) && foldName(name) === folded);
  if (twin === undefined) return;
  throw new InvalidInputError(
    `tag ${tag}: some file systems would take its file for that of tag ${twin.slice(0, -REF_SUFFIX.length)}`,
  );
}

/** Returns true if a tag has exactly that name. A disk that ignores case also finds other tags. */
const isTag = async (table: RefsAt, tag: string): Promise<boolean> =>
  (await namesIn(table.disk, tagsDirectory(table.mainRoot))).has(tagName(tag));

/** Throws unless the caller may move or delete a tag of a branch; null means the main branch. */
export type AllowTag = (branch: string | null) => Promise<void>;

/** Returns the branch of a tag; null for the main branch, and for a missing or damaged tag. */
export async function branchOfTag(table: RefsAt, tag: string): Promise<string | null> {
  try {
    return (await readTag(table, tag))?.branch ?? null;
  } catch (error) {
    // A caller that may change tags of the main branch may repair a damaged one.
    if (error instanceof CorruptFileError) return null;
    throw error;
  }
}

/**
 * Points a tag at another version.
 * @param allow called right before the change, under the lock of the refs, because the tag may have moved
 *   meanwhile
 * @throws TableTagNotFoundError or CorruptFileError; the tag is as before
 * @throws TableBranchNotFoundError or TableVersionNotFoundError if the version does not exist (any more); the
 *   tag is as before
 * @throws PublishUncertainError if the tag was moved, and a power cut may undo that
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
    // Another engine deletes tags without the lock: a deleted tag must not come back.
    const replace = (bytes: Uint8Array): Promise<boolean> =>
      replaceFile(disk, path, bytes, { sync: true, lease, verify: () => isTag(table, tag) });
    if (!(await replace(encodeRefFile(content)))) throw noTag(tag);
    // Another engine's cleanup ignores the lock.
    if ((await disk.stat(entry.path)) !== null) return;
    await replace(encodeRefFile(before));
    throw removedWhileTagged(version);
  });
}

/**
 * Deletes a tag.
 * @param allow see {@link updateTag}
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

/** Removes a tag's file; returns false if it does not exist. Durable on return. */
async function removeTag(table: RefsAt, tag: string, lease: LockLease): Promise<boolean> {
  if ((await table.disk.stat(tagPath(table.mainRoot, tag))) === null) return false;
  const removal = new Removal(table.disk, sideDirectory(table.mainRoot), table.mainRoot, lease);
  try {
    if (!(await removal.takeOut(tagPath(table.mainRoot, tag)))) return false;
    await table.disk.syncDirectory(tagsDirectory(table.mainRoot)).catch((cause: unknown) => {
      throw new InternalError(`tag ${tag} was deleted, but may exist again after a power cut`, { cause });
    });
    return true;
  } finally {
    await removal.finish();
  }
}

const noTag = (tag: string): TableTagNotFoundError =>
  new TableTagNotFoundError(`there is no tag ${tag.slice(0, 100)}`);

/** Returns the current time with nine decimals, like the reference. */
const timeText = (): string => new Date().toISOString().replace("Z", "000000Z");
