/** Removes versions of any age. A cleanup finds the files that only their set-aside manifests need. */

import { CorruptFileError, InvalidInputError } from "../../errors.js";
import { isPinned, readPinnedVersions } from "../refs/pinnedVersions.js";
import { formatBranch } from "../refs/refNames.js";
import { versionsDirectory } from "../versions/paths.js";
import type { TableAt } from "../versions/tableAt.js";
import { listVersions, type VersionsAt } from "../versions/versions.js";
import { listSetAside, putBackVersion, type RetirementGuard, retireVersions } from "./retiredVersions.js";

export interface VersionInterval {
  readonly start: number;
  /** Exclusive end; null: through the latest. */
  readonly end: number | null;
}

/**
 * Returns the existing versions in the ranges, ascending. The caller holds the locks of the table's refs and
 * of the branch.
 * @throws InvalidInputError if one of them is the latest, has a tag, or is the source of a branch
 * @throws CorruptFileError if a ref that cannot be read may need one
 */
export async function planVersionRemoval(
  table: TableAt,
  ranges: readonly VersionInterval[],
): Promise<number[]> {
  const versions = (await listVersions(table)).map(({ version }) => version);
  const latest = versions[versions.length - 1];
  const wanted = within(versions, ranges);
  if (wanted.length === 0) return [];
  const pinned = await readPinnedVersions(table);
  for (const version of wanted) {
    const needs = [];
    if (version === latest) needs.push("is the latest");
    const tags = pinned.tags.get(version);
    if (tags !== undefined) needs.push(`has the tag ${tags[0]}`);
    const branches = pinned.branches.get(version);
    if (branches !== undefined) needs.push(`is the source of branch ${branches[0]}`);
    if (needs.length === 0) continue;
    throw new InvalidInputError(
      `ranges: version ${version} of ${formatBranch(table.branch)} ${needs.join(", ")}`,
    );
  }
  return wanted;
}

/** @param versions ascending */
function within(versions: readonly number[], ranges: readonly VersionInterval[]): number[] {
  const ascending = [...ranges].sort((a, b) => a.start - b.start);
  let next = 0;
  /** Highest end of the ranges that have begun. */
  let end = 0;
  return versions.filter((version) => {
    for (; next < ascending.length && ascending[next].start <= version; next++) {
      end = Math.max(end, ascending[next].end ?? Number.POSITIVE_INFINITY);
    }
    return version < end;
  });
}

/**
 * Removes unneeded versions; durable on return. Versions that are gone count as removed, and versions that a
 * ref needs meanwhile stay. The caller holds the locks of the table's refs and of the branch.
 * @param watch its `confirm` throws if one of the locks is lost; then no version is removed
 * @returns the versions that stay
 */
export async function deleteVersionsUnderLock(
  table: TableAt,
  versions: readonly number[],
  watch: Omit<RetirementGuard, "readPinned">,
): Promise<number[]> {
  const entries = await listVersions(table);
  const latest = entries.at(-1);
  if (latest === undefined) return [];
  const guard: RetirementGuard = {
    ...watch,
    // If a ref cannot be read, any version may be needed. A version that stays does no harm.
    readPinned: () =>
      readPinnedVersions(table).catch((error: unknown) => {
        if (error instanceof CorruptFileError) return null;
        throw error;
      }),
  };
  const pinned = await guard.readPinned();
  const wanted = new Set(versions);
  const mayGo = (version: number): boolean =>
    pinned !== null && wanted.has(version) && version !== latest.version && !isPinned(pinned, version);
  const going = new Set(entries.filter(({ version }) => mayGo(version)));
  const { retired } = await retireVersions(table, entries, going, guard, { partially: false });
  const gone = new Set(retired.map(({ version }) => version));
  return entries.map(({ version }) => version).filter((version) => wanted.has(version) && !gone.has(version));
}

/**
 * Puts back versions that {@link deleteVersionsUnderLock} removed, unless a cleanup has released them;
 * durable on return. The caller holds the locks of the table's refs and of the branch.
 * @param confirm throws if one of the locks is lost
 */
export async function returnVersionsUnderLock(
  table: VersionsAt,
  versions: readonly number[],
  confirm: () => Promise<void>,
): Promise<void> {
  const wanted = new Set(versions);
  for (const aside of await listSetAside(table)) {
    if (aside.state !== "retired" || !wanted.has(aside.version)) continue;
    await confirm();
    await putBackVersion(table, aside);
  }
  await table.disk.syncDirectory(versionsDirectory(table.root));
}
