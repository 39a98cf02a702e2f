/**
 * Types of benchmark cases. A case prepares its data untimed and returns sides (ours, ours with fsync, the
 * reference) that do the same work. The runner times the sides in turn.
 */

export const AREAS = [
  "write",
  "read",
  "take",
  "open",
  "commit",
  "catalog",
  "drop-in",
  "rest",
  "process",
  "ablation",
] as const;
export type Area = (typeof AREAS)[number];

/** Small parameters keep a case alive in the tests; only large ones are worth reading. */
export type Size = "small" | "large";

/**
 * "tiltyard, plain" goes without the optimization that the case is about, or does its work without the
 * engine.
 */
export type SideName = "tiltyard" | "tiltyard, fsync" | "tiltyard, warm" | "tiltyard, plain" | "reference";

export interface Side {
  readonly name: SideName;
  /** Untimed, before every run. */
  reset?(): Promise<void>;
  /**
   * One timed run. Where it is of many calls at once, or of waits beside one, the milliseconds that each of
   * them took.
   */
  run(): Promise<void> | Promise<readonly number[]>;
}

export interface PreparedCase {
  /** Work of one run, from which rates are computed. */
  readonly work: { readonly amount: number; readonly unit: "rows" | "calls" | "commits" };
  /** Bytes of Arrow data one run moves, where that says something. */
  readonly bytes?: number;
  readonly sides: readonly Side[];
  /**
   * Bytes of the data files that each side has written, or what its catalog takes up; asked after the last
   * run.
   */
  fileBytes?(): Promise<Partial<Record<SideName, number>>>;
  close(): Promise<void>;
}

export interface BenchCase {
  readonly area: Area;
  /** Unique. Where it states a size, that of the large parameters. */
  readonly name: string;
  /** Timed runs of each side. */
  readonly rounds: Readonly<Record<Size, number>>;
  /**
   * Garbage is collected before each run with large parameters. For runs that are long enough not to be
   * disturbed by it; short ones it slows down.
   */
  readonly collectFirst?: boolean;
  /**
   * Each side runs in a process of its own, the sides in turn still. For runs that leave much garbage, which
   * would be collected on another side's time.
   */
  readonly isApart?: boolean;
  /** `directory` is empty and the case's own; it is removed afterwards. */
  prepare(directory: string, size: Size): Promise<PreparedCase>;
}

/** Report of a case's process: milliseconds of each run, by side. */
export interface CaseSamples {
  readonly area: Area;
  readonly name: string;
  readonly work: PreparedCase["work"];
  readonly bytes?: number;
  readonly samples: readonly {
    readonly side: SideName;
    readonly milliseconds: readonly number[];
    /** CPU time in user mode of all threads of the case's process, for each run. */
    readonly cpuMilliseconds: readonly number[];
    /** Milliseconds of every call, if a run makes many calls at once. */
    readonly callMilliseconds?: readonly number[];
    readonly fileBytes?: number;
  }[];
}
