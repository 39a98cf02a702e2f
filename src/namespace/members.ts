/** Members that several requests or answers have. Types only; the package does not export these names. */

import type { MemoryShare } from "../memory.js";
import type { Properties, TableRequest } from "./request.js";

/** Request about a table or a branch. */
export interface BranchRequest extends TableRequest {
  /** Name of the branch. Default: main. */
  readonly branch?: string | undefined;
}

/**
 * A moment: a Date, or ISO 8601 text with a time zone, such as `2026-11-28T06:00:00Z`. Text without a zone is
 * refused, because it means another moment on each computer.
 */
export type Moment = Date | string;

/** Request that reads a version by its number or by time. */
export interface NumberRequest extends BranchRequest {
  /** Number of the version to read. Default: the latest version. */
  readonly version?: number | undefined;
  /**
   * Reads the latest version of the branch whose commit time is not later than this moment, by the times that
   * the writers' clocks gave (`timestampMillis`). Not allowed with `version` or `tag`.
   */
  readonly asOf?: Moment | undefined;
}

/** Request that reads a version by its number, its tag or by time. */
export interface VersionRequest extends NumberRequest {
  /** Name of the tag whose version is read. Not allowed with `version`, `asOf` or `branch`. */
  readonly tag?: string | undefined;
}

/** Request for which a branch may exist without a registration. */
export interface EarlyBranchRequest extends BranchRequest {
  /**
   * True: accepts a branch that is not registered yet, and treats it as empty. Writers that commit through
   * the namespace publish a branch's first version before they register the branch. Default: false.
   */
  readonly unregisteredBranch?: boolean | undefined;
}

/** Members of a request for a page of a list. */
export interface PageRequest {
  /** `pageToken` of the previous page. Default: the first page. */
  readonly pageToken?: string | undefined;
  /** Maximum number of entries on the page, ≥ 1. Default: no limit. */
  readonly limit?: number | undefined;
}

/** Member of an answer with a page of a list. */
export interface PageAnswer {
  /** Token that requests the next page. Absent on the last page. */
  readonly pageToken?: string;
}

/** Member of the answer of a change. */
export interface ChangeAnswer {
  /** Id of the change for `describeTransaction`. Absent if the change wrote no transaction. */
  readonly transactionId?: string;
}

/** Members of the answer of a change that creates a version. */
export interface VersionAnswer extends ChangeAnswer {
  /** Number of the version after the change. */
  readonly version: number;
}

/** Members of the answer of a change that always writes a transaction. */
export interface CommitAnswer extends VersionAnswer {
  /** Id of the change for `describeTransaction`. */
  readonly transactionId: string;
}

/** Member of a request that commits a version. */
export interface WithMessage {
  /**
   * Commit message: text about the change, at most 10,000 characters. `versions()` and `listTableVersions`
   * return it. A job that was started before keeps the message of the request that started it.
   */
  readonly message?: string | undefined;
}

/** Limits of the rows that a request adds. */
export interface InputLimits {
  /**
   * Maximum size in bytes of IPC input: of one uncompressed record batch, of all dictionaries together, and
   * of an IPC file that arrives in pieces. Larger input is refused before it is in memory. Default: no limit.
   */
  readonly maxBatchBytes?: number | undefined;
  /** Maximum number of input rows; more rows fail with an InvalidInputError. Default: no limit. */
  readonly maxRows?: number | undefined;
  /** Memory bound, shared with other work, for rows in transit. Default: no bound. */
  readonly memory?: MemoryShare | undefined;
}

/** Member of a request that sets properties. */
export interface WithProperties {
  /** Properties for the users of the object. The engine ignores them. */
  readonly properties?: Properties | undefined;
}
