/** Requests and responses of cleanup and compaction. */

import type { JobUnit } from "./jobs.js";
import type { TableRequest } from "./request.js";

/** What a cleanup removes: which versions, and which other files. */
export interface CleanupSettings {
  /**
   * Removes versions that were superseded at least this many milliseconds ago, so a reader of the latest version can go
   * on for at least as long; default 7 days. A query of a version that is removed while the query runs may fail.
   */
  readonly olderThanMs?: number | undefined;
  /** Number of newest versions to keep, the latest included; default 1. */
  readonly retainVersions?: number | undefined;
  /**
   * Removes files that no version refers to at any age, rather than only from 7 days on. Use this when nobody is
   * writing to the table: commits of this engine that lose files this way fail, and those of other engines may be
   * damaged. Files younger than the oldest version that stays by age or number are kept in any case. Default false.
   */
  readonly deleteUnverified?: boolean | undefined;
  /**
   * Fails if a version that would be removed has a tag. Default false: that version stays, and the others are removed.
   */
  readonly errorIfTagged?: boolean | undefined;
}

/** Which fragments a compaction rewrites. */
export interface OptimizeSettings {
  /**
   * Fragments with fewer rows are merged with their neighbours, into fragments with at least this many rows; 1 to
   * 1,048,576, which is the default.
   */
  readonly targetRowsPerFragment?: number | undefined;
  /** Rewrites fragments with many deleted rows without these, regardless of size; default true. */
  readonly materializeDeletions?: boolean | undefined;
  /** A fragment has many deleted rows if their share of its rows, 0 to 1, exceeds this; default 0.1. */
  readonly materializeDeletionsThreshold?: number | undefined;
}

/** How far long work is. */
export interface Progress {
  /** Units done. */
  readonly done: number;
  /** Absent while it is not known. */
  readonly total?: number;
  /** What is counted. */
  readonly unit: JobUnit;
}

/** What requests for work that may take longer than a moment have. */
export interface WithProgress {
  /**
   * Called whenever the work has got on. Of a job: as long as this process runs it; `waitForJob` also tells of jobs that
   * another one runs. An error that it throws ends the work, and is the work's.
   */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** What requests for long work may have. */
export interface LongWork extends WithProgress {
  /** Whether to start a job, and resolve to its id at once. Default false: the call resolves when the work is done. */
  readonly background?: boolean | undefined;
}
/** What requests with `background` resolve to. */
export interface StartedJob {
  /** Names the job for `describeJob`, `waitForJob` and `cancelJob`. */
  readonly jobId: string;
}

/** Which fragments to compact, and how. */
export interface OptimizeTableRequest extends TableRequest, OptimizeSettings, LongWork {
  /** The branch whose fragments are rewritten; absent: the main branch. */
  readonly branch?: string | undefined;
}
/** What `optimizeTable` resolves to. */
export interface OptimizeTableResponse {
  /** Absent if there was nothing to do, and no version was made. */
  readonly transactionId?: string;
  /** The latest version. */
  readonly version: number;
  /** Fragments that were rewritten. */
  readonly fragmentsRemoved: number;
  /** Fragments that hold their rows now. */
  readonly fragmentsAdded: number;
  /** Data and deletion files that the version before has and this one does not; they stay until a cleanup. */
  readonly filesRemoved: number;
  /** Data and deletion files that the new version has and the one before does not. */
  readonly filesAdded: number;
  /**
   * Fragments left as they are because an index covers them that this release can't write: its entries would no longer
   * be right. None in tables with stable row ids.
   */
  readonly indexedFragmentsLeft: number;
  /** Indexes that cover more fragments than before, or have fewer segments. */
  readonly indexesUpdated: number;
}

/** Which versions and files to remove. */
export interface CleanupTableRequest extends TableRequest, CleanupSettings, LongWork {
  /** The branch whose versions are cleaned up; absent: the main branch. */
  readonly branch?: string | undefined;
}
/** What `cleanupTable` resolves to. */
export interface CleanupTableResponse {
  /** Bytes of all files removed, manifests included. */
  readonly bytesRemoved: number;
  /** Number of versions removed. */
  readonly versionsRemoved: number;
  /**
   * All files except manifests of versions; includes temporary files and the like, which the counts below leave out.
   */
  readonly filesRemoved: number;
  /** Data files among them. */
  readonly dataFilesRemoved: number;
  /** Deletion files among them. */
  readonly deletionFilesRemoved: number;
  /** Transaction files among them. */
  readonly transactionFilesRemoved: number;
  /** Index files among them. */
  readonly indexFilesRemoved: number;
}
