/**
 * What the table layer works with and on: its dependencies, a table or branch at its place, and versions that
 * were opened there. All of it is plain data that never changes. Functions take the least of it that they
 * need.
 */

import type { Disk } from "../../io/disk/disk.js";
import type { LockOptions } from "../../io/lock/lock.js";
import type { LatestVersions } from "./latestVersion.js";
import type { ManifestFile } from "./manifest.js";
import type { ManifestCache } from "./manifestCache.js";
import { branchDirectory } from "./paths.js";
import type { LatestVersion, VersionEntry, VersionsAt } from "./versions.js";

/** The dependencies of the table layer. */
export interface TableEnvironment {
  readonly disk: Disk;
  readonly lock: LockOptions;
  readonly manifests: ManifestCache;
  /** Remembers the latest versions; absent where each is searched for. */
  readonly latestVersions?: LatestVersions;
  /** Called after each commit to an existing table, without the table's lock; never rejects. */
  readonly afterCommit?: (committed: OpenVersion) => Promise<void>;
  /**
   * True if the host lets tables refer to a directory outside the namespace's; absent where it allows none.
   */
  readonly mayUseBase?: (path: string) => Promise<boolean>;
  /**
   * Changes of several tables at once that a process may have left half done when it died; absent where there
   * are none.
   */
  readonly batches?: UnfinishedBatches;
}

/** Keeps versions from being committed between the parts of a batch. */
export interface UnfinishedBatches {
  /** True if an unfinished batch changes this table or branch; called under its lock. */
  present(tableRoot: string): Promise<boolean>;
  /** Finishes those batches; called without a lock, because it takes the locks of all their tables. */
  recover(tableRoot: string, signal?: AbortSignal): Promise<void>;
}

// ------------------------------------------------------------------------------------------------- places

/** Where the refs of a table lie. */
export interface RefsAt {
  readonly disk: Disk;
  /** Directory of the table: that of its main branch. */
  readonly mainRoot: string;
}

/** A table, or a branch of it, at its place. Made by {@link tableAt}. */
export interface TableAt<Environment extends TableEnvironment = TableEnvironment> extends VersionsAt, RefsAt {
  readonly environment: Environment;
  /** Null is the main branch. */
  readonly branch: string | null;
}

/**
 * @param mainRoot directory of the table
 * @param branch null is the main branch
 */
export const tableAt = <Environment extends TableEnvironment>(
  environment: Environment,
  mainRoot: string,
  branch: string | null = null,
): TableAt<Environment> => ({
  environment,
  disk: environment.disk,
  root: branch === null ? mainRoot : branchDirectory(mainRoot, branch),
  mainRoot,
  branch,
});

/** A branch of the same table; null is the main branch. */
export const branchAt = <Environment extends TableEnvironment>(
  { environment, mainRoot }: TableAt<Environment>,
  branch: string | null,
): TableAt<Environment> => tableAt(environment, mainRoot, branch);

// ----------------------------------------------------------------------------------------------- versions

/** A version whose manifest was read, or was just published. */
export interface OpenVersion<Environment extends TableEnvironment = TableEnvironment> extends VersionEntry {
  readonly table: TableAt<Environment>;
  readonly file: ManifestFile;
}

/** The latest version when it was opened: what a change is planned on. */
export interface OpenLatest<Environment extends TableEnvironment = TableEnvironment>
  extends OpenVersion<Environment>,
    LatestVersion {}
