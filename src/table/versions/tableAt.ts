/**
 * Defines the parameters of the table layer: its dependencies, a table or branch in its directory, and opened
 * versions. All of them are plain data that never changes. Functions take the smallest type that they need.
 */

import type { Disk } from "../../io/disk/disk.js";
import type { LockOptions } from "../../io/lock/lock.js";
import type { LatestVersions } from "./latestVersion.js";
import type { ManifestFile } from "./manifest.js";
import type { ManifestCache } from "./manifestCache.js";
import { branchDirectory } from "./paths.js";
import type { LatestVersion, VersionEntry, VersionsAt } from "./versions.js";

export interface TableEnvironment {
  readonly disk: Disk;
  readonly lock: LockOptions;
  readonly manifests: ManifestCache;
  /** Remembers the latest versions; absent: every search reads the disk. */
  readonly latestVersions?: LatestVersions;
  /** Called after each commit to an existing table, without the table's lock; never rejects. */
  readonly afterCommit?: (committed: OpenVersion) => Promise<void>;
  /** Returns true if the host lets tables refer to a directory outside the root. Default: none. */
  readonly mayUseBase?: (path: string) => Promise<boolean>;
  /** Message of the call that commits; its transactions carry it. */
  readonly commitMessage?: string | undefined;
  /** Unfinished batches of dead processes; absent: there are none. */
  readonly batches?: UnfinishedBatches;
}

/** Keeps other versions from being committed between the parts of a batch. */
export interface UnfinishedBatches {
  /** Returns true if an unfinished batch changes this table or branch; called under its lock. */
  present(tableRoot: string): Promise<boolean>;
  /** Finishes those batches; called without a lock, because it takes the locks of all their tables. */
  recover(tableRoot: string, signal?: AbortSignal): Promise<void>;
}

// ------------------------------------------------------------------------------------------------- places

export interface RefsAt {
  readonly disk: Disk;
  /** Directory of the table's main branch. */
  readonly mainRoot: string;
}

/** A table, or a branch of it, in its directory. Made by {@link tableAt}. */
export interface TableAt<Environment extends TableEnvironment = TableEnvironment> extends VersionsAt, RefsAt {
  readonly environment: Environment;
  /** Name of the branch; null for the main branch. */
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

/** The latest version at its opening; changes are planned on it. */
export interface OpenLatest<Environment extends TableEnvironment = TableEnvironment>
  extends OpenVersion<Environment>,
    LatestVersion {}
