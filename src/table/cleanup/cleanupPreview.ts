/**
 * Tells what a cleanup would remove, and removes nothing. Takes no lock, so the answer holds for the moment
 * of the call. Files of dead writers that are no versions' (orphans.ts) are not counted.
 */

import { ageClockMs } from "../../async/timers.js";
import { InvalidTableStateError } from "../../errors.js";
import type { FileStat } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";
import { branchRoots } from "../refs/branchRoots.js";
import { isPinned, readPinnedVersions } from "../refs/pinnedVersions.js";
import { checkReaderFlags } from "../versions/flags.js";
import { TableGoneError } from "../versions/identity.js";
import { ManifestReader } from "../versions/manifestImages.js";
import type { TableAt } from "../versions/tableAt.js";
import { timestampMillis } from "../versions/versionAsOf.js";
import { listVersions } from "../versions/versions.js";
import { type CleanupOptions, type CleanupResult, cleanupResult, UNVERIFIED_MS } from "./cleanup.js";
import { findFiles, RemovedFiles } from "./namedFiles.js";
import { VersionFiles } from "./referencedFiles.js";
import { isOutdated } from "./retentionPolicy.js";

/**
 * Returns the counts that a cleanup with these options would return.
 * @throws the errors of `cleanUpVersions`
 */
export async function previewCleanup(table: TableAt, options: CleanupOptions): Promise<CleanupResult> {
  const removed = new RemovedFiles();
  const files = new VersionFiles();
  const manifests = new ManifestReader(table.disk);
  const entries = await listVersions(table);
  if (entries.length === 0) throw new TableGoneError(table.root);
  const pinned = await readPinnedVersions(table);
  const nowMs = Date.now();
  const tagged: number[] = [];
  let followedMs = Number.POSITIVE_INFINITY;
  let earliestKeptMs = Number.POSITIVE_INFINITY;
  let readCount = 0;
  await manifests.forEach(entries.toReversed(), async (image, { version, path }) => {
    options.signal?.throwIfAborted();
    options.progress?.(readCount + 1, entries.length);
    const { head } = image.file;
    checkReaderFlags(head, path);
    const committedMs = timestampMillis(head);
    const outdated = isOutdated({ followedMs, newerCount: readCount++ }, options, nowMs);
    followedMs = committedMs;
    if (!outdated) earliestKeptMs = Math.min(earliestKeptMs, committedMs);
    if (outdated && pinned.tags.has(version)) tagged.unshift(version);
    if (outdated && !isPinned(pinned, version)) {
      await files.addReleased(image);
      removed.versions++;
      removed.bytes += image.file.byteLength;
    } else {
      await files.addNeeded(image);
    }
  });
  if (options.errorIfTagged === true && tagged.length > 0) {
    throw new InvalidTableStateError(`tags keep versions ${tagged.join(", ")} from being cleaned up`);
  }
  const roots = [table.mainRoot, ...(await branchRoots(table, UNVERIFIED_MS))];
  for (const root of roots.filter((each) => each !== table.root)) {
    const others = await listVersions({ disk: table.disk, root });
    await manifests.forEach(others, (image) => files.addNeeded(image));
  }
  const isAbandoned = ({ modifiedNs }: FileStat): boolean => {
    const modifiedMs = Number(modifiedNs / 1_000_000n);
    const isOld = options.deleteUnverified === true || modifiedMs < ageClockMs() - UNVERIFIED_MS;
    return isOld && modifiedMs < earliestKeptMs;
  };
  for await (const { area, path, name, isDirectory } of findFiles(table)) {
    options.signal?.throwIfAborted();
    if (files.needed[area.names].has(name)) continue;
    const names = isDirectory
      ? ((await table.disk.list(path)) ?? []).map((entry) => join(path, entry.name))
      : [path];
    const stats = await Promise.all(names.map((each) => table.disk.stat(each)));
    const present = stats.filter((stat) => stat !== null);
    if (!files.released[area.names].has(name) && !present.every(isAbandoned)) continue;
    removed[area.names] += present.length;
    removed.bytes += present.reduce((sum, { size }) => sum + size, 0);
  }
  return cleanupResult(removed);
}
