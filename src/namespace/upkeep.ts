/** Request and response types of cleanup and compaction, and members that report progress. */

import type { JobUnit } from "./jobs.js";
import type { BranchRequest, Moment, WithMessage } from "./members.js";
import type { TableRequest } from "./request.js";

/** Selects the versions and files that a cleanup removes. */
export interface CleanupSettings {
  /**
   * Minimum age in milliseconds of the versions to remove, counted from when a newer version replaced them.
   * Readers of the latest version have at least this long to finish. A query of an older version may fail if
   * the version is removed during the query. Default: 7 days.
   */
  readonly olderThanMs?: number | undefined;
  /**
   * Moment before which a newer version must have replaced the versions to remove: a Date, or ISO text with a
   * time zone. Not allowed with `olderThanMs`.
   */
  readonly olderThan?: Moment | undefined;
  /** Number of newest versions to keep, including the latest. Default: 1. */
  readonly retainVersions?: number | undefined;
  /**
   * True: also removes files younger than 7 days that no version refers to. Use it only if nobody writes to
   * the table. A concurrent commit of this engine fails if it loses a file; a commit of another engine may be
   * damaged. Files younger than the oldest kept version are always kept. Default: false.
   */
  readonly deleteUnverified?: boolean | undefined;
  /** True: fails if a version to remove has a tag. False: keeps tagged versions. Default: false. */
  readonly errorIfTagged?: boolean | undefined;
}

/** Selects the fragments that a compaction rewrites. */
export interface OptimizeSettings {
  /**
   * Minimum number of rows of a fragment, 1 to 1,048,576. Smaller fragments are merged with their neighbours.
   * Default: 1,048,576.
   */
  readonly targetRowsPerFragment?: number | undefined;
  /** True: rewrites fragments of any size that have many deleted rows. Default: true. */
  readonly materializeDeletions?: boolean | undefined;
  /** Fraction of deleted rows, 0 to 1, above which a fragment counts as having many. Default: 0.1. */
  readonly materializeDeletionsThreshold?: number | undefined;
}

/** Progress of long work. */
export interface Progress {
  /** Number of finished units. */
  readonly done: number;
  /** Total number of units. Absent while it is unknown. */
  readonly total?: number;
  /** Unit of `done` and `total`. */
  readonly unit: JobUnit;
  /** Bytes of data files so far. Only inserts report them, and the last report has all of them. */
  readonly bytesWritten?: number;
  /** Number of threads that encode pages now; 1 if the calling thread does. Only inserts report it. */
  readonly activeTasks?: number;
  /** Maximum of `activeTasks`. */
  readonly totalTasks?: number;
}

/** Member of requests that may take long. */
export interface WithProgress {
  /**
   * Callback for each step of progress. For a job, it is called while this process runs the job; `waitForJob`
   * also reports jobs of other processes. An error that it throws ends the work, and the work fails with it.
   */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Members of requests for long work. */
export interface LongWork extends WithProgress {
  /** True: starts a job and resolves to its id. False: resolves after the work. Default: false. */
  readonly background?: boolean | undefined;
}
/** Answer of requests with `background: true`. */
export interface StartedJob {
  /** Id of the job for `describeJob`, `waitForJob` and `cancelJob`. */
  readonly jobId: string;
}

/** Member of requests that can tell what they would do. */
export interface DryRun {
  /** True: changes nothing, and returns what the call would do now. Not in the background. Default: false. */
  readonly dryRun?: boolean | undefined;
}

/** Request of `optimizeTable`. */
export interface OptimizeTableRequest
  extends BranchRequest,
    OptimizeSettings,
    LongWork,
    WithMessage,
    DryRun {}
/** Answer of `optimizeTable`. */
export interface OptimizeTableResponse {
  /** Id of the change for `describeTransaction`. Absent if there was nothing to do. */
  readonly transactionId?: string;
  /** Number of the latest version. */
  readonly version: number;
  /** Number of rewritten fragments. */
  readonly fragmentsRemoved: number;
  /** Number of fragments that replace them. */
  readonly fragmentsAdded: number;
  /** Number of data and deletion files that the new version no longer refers to. A cleanup removes them. */
  readonly filesRemoved: number;
  /** Number of data and deletion files that only the new version refers to. */
  readonly filesAdded: number;
  /**
   * Number of fragments that stay unchanged because an index of an unsupported kind covers them: moving rows
   * would invalidate the index. Always 0 for tables with stable row ids.
   */
  readonly indexedFragmentsLeft: number;
  /** Number of indexes that cover more fragments than before, or have fewer segments. */
  readonly indexesUpdated: number;
}

/** A table's own rule for cleanups, which runs after commits. */
export interface CleanupRule {
  /** Minimum age in milliseconds of the versions to remove. Default: seven days. */
  readonly olderThanMs?: number | undefined;
  /** Number of the latest versions to keep, at least 1. Default: no minimum. */
  readonly retainVersions?: number | undefined;
  /** Number of versions from one cleanup to the next, at least 1. Default: 20. */
  readonly interval?: number | undefined;
}
/** Request of `configureCleanup`. Without any member of the rule, commits clean nothing up. */
export interface ConfigureCleanupRequest extends BranchRequest, CleanupRule {}
/** Answer of `configureCleanup`: the rule as stored. */
export interface ConfigureCleanupResponse extends CleanupRule {
  /** Id of the change for `describeTransaction`. */
  readonly transactionId: string;
  /** Number of the new version. */
  readonly version: number;
}

/**
 * A table's own thresholds for the option `upkeep` of the namespace. `"off"` turns one off. An absent
 * threshold has its default.
 */
export interface UpkeepThresholds {
  /** Number of fragments below 100,000 rows beyond which the table is compacted. Default: 16. */
  readonly smallFragments?: number | "off" | undefined;
  /** Percentage of deleted rows, 0 to 100, beyond which the table is compacted. Default: 10. */
  readonly deletedPercent?: number | "off" | undefined;
  /** Number of rows that an index lacks beyond which it is updated. Default: 1000. */
  readonly unindexedRows?: number | "off" | undefined;
  /** Number of versions since the last cleanup beyond which old versions are removed. Default: 100. */
  readonly versions?: number | "off" | undefined;
}
/** Request of `configureUpkeep`. Absent and null thresholds get their defaults. */
export interface ConfigureUpkeepRequest extends TableRequest, NullableThresholds {}
type NullableThresholds = { readonly [Name in keyof UpkeepThresholds]: UpkeepThresholds[Name] | null };
/** Answer of `configureUpkeep`: the thresholds as stored. */
export interface ConfigureUpkeepResponse extends UpkeepThresholds {
  /** Id of the change for `describeTransaction`. */
  readonly transactionId: string;
  /** Number of the new version. */
  readonly version: number;
}

/**
 * Settings of LanceDB's log-structured writes (MemWAL): its writers may keep merged rows in logs beside the
 * table. This engine writes no logs. It refuses changes of such a table, except merges with `useLsm: false`,
 * and reads while its logs hold rows.
 */
export interface LsmWriteSpec {
  /** `bucket`: by the hash of a column. `identity`: by its value. `unsharded`: all rows in one log. */
  readonly specType: "bucket" | "identity" | "unsharded";
  /** Path of the column that decides about the log of a row. Only for `bucket` and `identity`. */
  readonly column?: string | undefined;
  /** Number of logs, 1 to 1024. Only for `bucket`. */
  readonly numBuckets?: number | undefined;
  /** Names of the indexes that the logs keep up to date. Default: all, which must be of such kinds. */
  readonly maintainedIndexes?: readonly string[] | undefined;
  /** Defaults of LanceDB's writers, by their names there. */
  readonly writerConfigDefaults?: Readonly<Record<string, string>> | undefined;
}
/** Request of `configureLsmWrites`. */
export interface ConfigureLsmWritesRequest extends BranchRequest, WithMessage {
  /** Settings to store; the table must have none. Absent or null: removes those that it has. */
  readonly spec?: LsmWriteSpec | null | undefined;
}
/** Answer of `configureLsmWrites`. */
export interface ConfigureLsmWritesResponse {
  /** Id of the change for `describeTransaction`. */
  readonly transactionId: string;
  /** Number of the new version. */
  readonly version: number;
  /** The settings as stored. Absent: they were removed. */
  readonly spec?: LsmWriteSpec;
}

/** Request of `cleanupTable`. */
export interface CleanupTableRequest extends BranchRequest, CleanupSettings, LongWork, DryRun {}
/** Answer of `cleanupTable`. */
export interface CleanupTableResponse {
  /** Bytes of all removed files, including manifests. */
  readonly bytesRemoved: number;
  /** Number of removed versions. */
  readonly versionsRemoved: number;
  /** Number of removed files except manifests, including temporary files, which other counts exclude. */
  readonly filesRemoved: number;
  /** Number of removed data files. */
  readonly dataFilesRemoved: number;
  /** Number of removed deletion files. */
  readonly deletionFilesRemoved: number;
  /** Number of removed transaction files. */
  readonly transactionFilesRemoved: number;
  /** Number of removed index files. */
  readonly indexFilesRemoved: number;
}
