/**
 * Removes versions without losing track of their files. The manifest of a version goes through these names,
 * each step a rename within `_versions`:
 *
 *     <name>.manifest ─ <name>.retired ─ <name>.released ─ removed
 *
 * - Retired: the version does not exist any more, and all its files do. The process that retired it checks
 *   again if it is needed. If it is, or if the lock was lost, the process puts it back. If that process died,
 *   the next cleanup releases the version or puts it back.
 * - Released: nobody needs the version, and it never comes back. Its files are removed, then its manifest.
 *
 * So at any moment, either a version exists with all its files, or its manifest lists the files that remain
 * to be removed. A ref is published before its maker looks for the version, and a version is retired before
 * its remover looks for refs. If both happen at once, at least one of the two sees the other. A process that
 * was suspended while another did its work finds that the old name is gone.
 *
 * Renaming needs no room, so a full disk can be cleaned up. A disk without renames copies the manifest. After
 * a crash in between, the version exists and has a copy too; the copy decides nothing, and the next cleanup
 * removes it.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { isDiskFull } from "../../io/disk/errno.js";
import { moveFile } from "../../io/moveFile.js";
import { join } from "../../platform/native.js";
import { isPinned, type PinnedVersions } from "../refs/pinnedVersions.js";
import { noteRemovedVersions } from "../versions/gapWriter.js";
import { writeHint } from "../versions/hintWriter.js";
import {
  hintPath,
  manifestPath,
  parseManifestName,
  parseSetAsideName,
  type RemovalState,
  retiredDirectory,
  setAsideName,
  versionRecordName,
  versionRecordsDirectory,
  versionsDirectory,
} from "../versions/paths.js";
import { readGap, type VersionGap } from "../versions/versionGap.js";
import type { VersionEntry, VersionsAt } from "../versions/versions.js";
import type { RemovedFiles } from "./namedFiles.js";

/** A version whose manifest was set aside. */
export interface SetAsideVersion extends VersionEntry {
  readonly state: RemovalState;
}

/** Checks before and after versions are retired. */
export interface RetirementGuard {
  /** @throws LeaseLostError if a lock is lost */
  confirm(): Promise<void>;
  /** Reads the versions that refs need; null if that is unknown, so that any version may be needed. */
  readPinned(): Promise<PinnedVersions | null>;
  /** Called with each version right before it is set aside, which may still fail. */
  onRetiring?(version: SetAsideVersion): void;
}

export interface Retirement {
  readonly retired: readonly SetAsideVersion[];
  /** Number of versions that stay for now because the disk is full. */
  readonly postponed: number;
}

/**
 * Retires versions; durable on return. If it throws, all of them exist again, unless the disk fails while
 * they are put back. The caller holds the locks of the table and of its refs.
 * @param entries all versions, ascending
 * @param going the versions to retire; never the latest
 * @param options `partially`: on a full disk, retires only versions that need no write
 */
export async function retireVersions(
  table: VersionsAt,
  entries: readonly VersionEntry[],
  going: ReadonlySet<VersionEntry>,
  guard: RetirementGuard,
  options: { readonly partially: boolean },
): Promise<Retirement> {
  const latest = entries.at(-1);
  if (latest === undefined || going.size === 0) return { retired: [], postponed: 0 };
  const directory = versionsDirectory(table.root);
  const full = await noteRemoval(table, latest);
  const isNoted = full === null;
  const moving = isNoted ? going : withoutNewGaps(entries, going, await readGap(table));
  if (!isNoted && (moving.size === 0 || !options.partially)) throw full.error;
  if (!isNoted) await forgetHint(table);
  const moved: SetAsideVersion[] = [];
  let postponed = going.size - moving.size;
  try {
    for (const entry of entries) {
      if (!moving.has(entry)) continue;
      await guard.confirm();
      const aside = retiredOf(table.root, entry);
      // Recorded before the rename, because a rename that succeeded may report a failure.
      moved.push(aside);
      guard.onRetiring?.(aside);
      try {
        if (!(await moveFile(table.disk, entry.path, aside.path))) moved.pop();
      } catch (error) {
        // Another name may need more room for the directory.
        if (!options.partially || !isDiskFull(error)) throw error;
        moved.pop();
        postponed++;
        if (!isNoted) break;
      }
    }
    await table.disk.syncDirectory(directory);
    await guard.confirm();
    const needed = neededOf(moved, await guard.readPinned(), isNoted);
    for (const each of needed) await putBackVersion(table, each);
    if (needed.size > 0) await table.disk.syncDirectory(directory);
    await writeHint(table, latest.version);
    return { retired: moved.filter((each) => !needed.has(each)), postponed };
  } catch (error) {
    // The next cleanup puts back, or releases, what cannot be put back here.
    for (const each of moved.reverse()) await putBackVersion(table, each).catch(() => undefined);
    await table.disk.syncDirectory(directory).catch(() => undefined);
    throw error;
  }
}

/**
 * Records, before versions are removed, that counting up from an older version does not find the latest.
 * @returns the error if the disk is too full for the record, else null
 */
async function noteRemoval(
  table: VersionsAt,
  latest: VersionEntry,
): Promise<{ readonly error: unknown } | null> {
  try {
    await noteRemovedVersions(table, latest.version);
    return null;
  } catch (error) {
    if (isDiskFull(error)) return { error };
    throw error;
  }
}

/** Removes the hint, so that no reader counts up from it and its room is free. */
export async function forgetHint(table: VersionsAt): Promise<void> {
  await table.disk.remove(hintPath(table.root));
  await table.disk.syncDirectory(versionsDirectory(table.root));
}

/**
 * Returns the versions whose removal leaves each remaining version its successor. Otherwise a stalled writer
 * could still write a hint to the version without a successor, and readers would trust that hint. Below the
 * start of the last recorded gap readers trust no hint, so gaps there are harmless.
 */
function withoutNewGaps(
  entries: readonly VersionEntry[],
  going: ReadonlySet<VersionEntry>,
  noted: VersionGap | null,
): Set<VersionEntry> {
  const first = new Set<VersionEntry>();
  /** Highest version so far that stays. */
  let before: number | null = null;
  for (const entry of entries) {
    const { version } = entry;
    const opensGap: boolean = before !== null && before + 1 === version && before >= (noted?.from ?? 0);
    if (going.has(entry) && !opensGap) first.add(entry);
    else before = version;
  }
  return first;
}

/** Returns the retired versions that must be put back. */
function neededOf(
  moved: readonly SetAsideVersion[],
  pinned: PinnedVersions | null,
  isNoted: boolean,
): ReadonlySet<SetAsideVersion> {
  if (pinned === null) return new Set(moved);
  const needed = moved.filter(({ version }) => isPinned(pinned, version));
  if (isNoted || needed.length === 0) return new Set(needed);
  // A version that is put back alone would lack its successor.
  return new Set(moved.filter(({ version }) => version >= needed[0].version));
}

/** Returns a version in its retired state. */
export const retiredOf = (tableRoot: string, entry: VersionEntry): SetAsideVersion =>
  setAside(tableRoot, entry, "retired");

const setAside = (
  tableRoot: string,
  { version, scheme }: VersionEntry,
  state: RemovalState,
): SetAsideVersion => ({
  version,
  scheme,
  state,
  path: join(versionsDirectory(tableRoot), setAsideName(version, scheme, state)),
});

/** Puts a retired version back. Does nothing if another process has put it back or released it. */
export async function putBackVersion(
  table: VersionsAt,
  { version, scheme, path }: SetAsideVersion,
): Promise<void> {
  const location = manifestPath(table.root, version, scheme);
  if ((await table.disk.stat(location)) === null) await moveFile(table.disk, path, location);
}

/**
 * Releases retired versions for good, no matter who retired them; durable on return.
 * @returns the versions released by this call; others were put back, or another process released them
 */
export async function releaseVersions(
  table: VersionsAt,
  retired: readonly SetAsideVersion[],
): Promise<SetAsideVersion[]> {
  const released: SetAsideVersion[] = [];
  for (const each of retired) {
    const aside = setAside(table.root, each, "released");
    if (await moveFile(table.disk, each.path, aside.path)) released.push(aside);
  }
  if (released.length > 0) await table.disk.syncDirectory(versionsDirectory(table.root));
  return released;
}

/** Lists the versions that are set aside and not yet removed. Some of them may exist again. */
export async function listSetAside(table: VersionsAt): Promise<SetAsideVersion[]> {
  const setAsideVersions: SetAsideVersion[] = [];
  const directory = versionsDirectory(table.root);
  for (const { name, kind } of (await table.disk.list(directory)) ?? []) {
    await yieldToEventLoop();
    const parsed = kind === "file" ? parseSetAsideName(name) : null;
    if (parsed !== null) setAsideVersions.push({ ...parsed, path: join(directory, name) });
  }
  const former = retiredDirectory(table.root);
  for (const { name, kind } of (await table.disk.list(former)) ?? []) {
    const parsed = kind === "file" ? parseManifestName(name) : null;
    if (parsed !== null) setAsideVersions.push({ ...parsed, state: "retired", path: join(former, name) });
  }
  return setAsideVersions;
}

/** Removes the manifests and records of released versions, once their files are gone. */
export async function forgetReleased(
  table: VersionsAt,
  released: readonly SetAsideVersion[],
  removed: RemovedFiles,
): Promise<void> {
  const records = versionRecordsDirectory(table.root);
  const recorded = new Set(((await table.disk.list(records)) ?? []).map(({ name }) => name));
  for (const { version, path } of released) {
    const stat = await table.disk.stat(path);
    if (stat === null) continue;
    const record = versionRecordName(version);
    if (recorded.has(record)) await table.disk.remove(join(records, record));
    await table.disk.remove(path);
    removed.bytes += stat.size;
    removed.versions++;
  }
}
