/**
 * Removes versions without losing track of their files. The manifest of a version goes through these names,
 * each step a rename within `_versions`:
 *
 *   <name>.manifest ─ <name>.retired ─ <name>.released ─ removed
 *
 * - Retired: it is no version any more, and all its files still exist. The process that retired it checks
 *   once more whether it is needed, and puts it back if it is, or if the lock was lost meanwhile. If that
 *   process died, the next cleanup releases the version or puts it back.
 * - Released: that check found that nobody needs it. It never comes back: its files are removed, then its
 *   manifest.
 *
 * So at any moment a version either exists with all its files, or is no version and its manifest says what is
 * still to be removed. A tag or branch is published before its maker looks for the version, and a version is
 * retired before its remover looks for refs. So if both happen at once, at least one of the two sees the
 * other. A process that was suspended while another did its work finds that the name it is about to change is
 * gone.
 *
 * Renaming needs no room, so a full disk can be cleaned up.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { Disk } from "../../io/disk/disk.js";
import { isDiskFull, isMissing } from "../../io/disk/errno.js";
import { join } from "../../platform/native.js";
import { isPinned, type PinnedVersions } from "../refs/pinnedVersions.js";
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
import { noteRemovedVersions, readGap, type VersionGap } from "../versions/versionGap.js";
import { writeHint } from "../versions/versionHint.js";
import type { VersionEntry, VersionsAt } from "../versions/versions.js";
import type { RemovedFiles } from "./garbage.js";

/** A version whose manifest was set aside. */
export interface SetAsideVersion extends VersionEntry {
  readonly state: RemovalState;
}

/** Checks before and after versions are retired. */
export interface RetirementGuard {
  /** @throws LeaseLostError where a lock is not held any more */
  confirm(): Promise<void>;
  /** The versions that refs need now; null where that is unknown, so that any version may be needed. */
  readPinned(): Promise<PinnedVersions | null>;
  /** Called with each version right before it is set aside, which may still fail. */
  onRetiring?(version: SetAsideVersion): void;
}

export interface Retirement {
  readonly retired: readonly SetAsideVersion[];
  /** Versions that have to stay for now because the disk is full. */
  readonly postponed: number;
}

/**
 * Retires versions; durable on return. If it throws, all of them are versions again, unless the disk fails
 * while they are put back. The caller holds the locks of the table and of its refs.
 * @param entries all versions, ascending
 * @param going those of them to be retired; never the latest
 * @param options `partially`: where the disk is full, retires only versions for which nothing has to be
 *   written
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
      // Recorded before the rename, because a failure may be reported for a rename that has happened.
      moved.push(aside);
      guard.onRetiring?.(aside);
      try {
        if (!(await tryRename(table.disk, entry.path, aside.path))) moved.pop();
      } catch (error) {
        // A directory may have to grow for another name.
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
    // What can't be put back here is put back or released by the next cleanup.
    for (const each of moved.reverse()) await putBackVersion(table, each).catch(() => undefined);
    await table.disk.syncDirectory(directory).catch(() => undefined);
    throw error;
  }
}

/**
 * Records, before versions are removed, that the latest version is not found by counting up from any other.
 * @returns the error where the disk is too full for that, else null
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

/** Removes the hint, so that no reader counts up from it. The room that it took up is free on return. */
export async function forgetHint(table: VersionsAt): Promise<void> {
  await table.disk.remove(hintPath(table.root));
  await table.disk.syncDirectory(versionsDirectory(table.root));
}

/**
 * The versions that can be removed without leaving a remaining one without its successor. Otherwise a hint to
 * it, which a stalled writer has yet to write, would be taken as right. Below the start of the last recorded
 * jump no hint is taken as right, so gaps there do no harm.
 */
function withoutNewGaps(
  entries: readonly VersionEntry[],
  going: ReadonlySet<VersionEntry>,
  noted: VersionGap | null,
): Set<VersionEntry> {
  const first = new Set<VersionEntry>();
  /** The highest version so far that stays. */
  let before: number | null = null;
  for (const entry of entries) {
    const { version } = entry;
    const opensGap: boolean = before !== null && before + 1 === version && before >= (noted?.from ?? 0);
    if (going.has(entry) && !opensGap) first.add(entry);
    else before = version;
  }
  return first;
}

/** The retired versions that have to be put back. */
function neededOf(
  moved: readonly SetAsideVersion[],
  pinned: PinnedVersions | null,
  isNoted: boolean,
): ReadonlySet<SetAsideVersion> {
  if (pinned === null) return new Set(moved);
  const needed = moved.filter(({ version }) => isPinned(pinned, version));
  if (isNoted || needed.length === 0) return new Set(needed);
  // One that is put back alone would lack its successor.
  return new Set(moved.filter(({ version }) => version >= needed[0].version));
}

/** A version in its retired state. */
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

/** False where there is no such file (any more). */
async function tryRename(disk: Disk, from: string, to: string): Promise<boolean> {
  try {
    await disk.rename(from, to);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * Makes a retired version a version of the table again. Does nothing where another process has put it back or
 * released it.
 */
export async function putBackVersion(
  table: VersionsAt,
  { version, scheme, path }: SetAsideVersion,
): Promise<void> {
  const location = manifestPath(table.root, version, scheme);
  if ((await table.disk.stat(location)) === null) await tryRename(table.disk, path, location);
}

/**
 * Releases retired versions, no matter who retired them; durable on return. From then on they don't come
 * back. Returns those that were released here: others were put back, or released by another process.
 */
export async function releaseVersions(
  table: VersionsAt,
  retired: readonly SetAsideVersion[],
): Promise<SetAsideVersion[]> {
  const released: SetAsideVersion[] = [];
  for (const each of retired) {
    const aside = setAside(table.root, each, "released");
    if (await tryRename(table.disk, each.path, aside.path)) released.push(aside);
  }
  if (released.length > 0) await table.disk.syncDirectory(versionsDirectory(table.root));
  return released;
}

/** The versions that were set aside and are not removed yet. For some of them the version may exist again. */
export async function listSetAside(table: VersionsAt): Promise<SetAsideVersion[]> {
  const found: SetAsideVersion[] = [];
  const directory = versionsDirectory(table.root);
  for (const { name, kind } of (await table.disk.list(directory)) ?? []) {
    await yieldToEventLoop();
    const parsed = kind === "file" ? parseSetAsideName(name) : null;
    if (parsed !== null) found.push({ ...parsed, path: join(directory, name) });
  }
  const former = retiredDirectory(table.root);
  for (const { name, kind } of (await table.disk.list(former)) ?? []) {
    const parsed = kind === "file" ? parseManifestName(name) : null;
    if (parsed !== null) found.push({ ...parsed, state: "retired", path: join(former, name) });
  }
  return found;
}

/** Removes the manifests and records of released versions whose files are gone. */
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
