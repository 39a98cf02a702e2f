/** Work that may take long: done in the call or as a job, and with progress in both cases. */

import { isPending } from "../async/pending.js";
import { InvalidInputError } from "../errors.js";
import type { JobControl, JobSpec, JsonValue } from "../jobs/job.js";
import type { JobKind, JobUnit } from "../namespace/jobs.js";
import type { RequestBase } from "../namespace/request.js";
import type { DryRun, LongWork, StartedJob, WithProgress } from "../namespace/upkeep.js";
import type { TellWriting, WriteState } from "../write/insert.js";
import type { OperationContext } from "./context.js";
import { optionalBoolean, optionalCallback } from "./request.js";
import type { OpenTable } from "./snapshot.js";

/** Control of the work, in a job or in a call. */
export type WorkControl = Pick<JobControl, "progress"> & {
  readonly signal?: AbortSignal;
  readonly hold?: () => Promise<void>;
};

interface LongWorkOf<Response> {
  readonly kind: JobKind;
  readonly unit: JobUnit;
  readonly table: OpenTable;
  /** Parameters of the work. Two jobs with equal parameters do the same work. */
  readonly parameters: { readonly [member: string]: JsonValue | undefined };
  readonly work: (control: WorkControl) => Promise<Response>;
}

/** Checks the request members that say how the work is done. */
export function longWorkOptions(request: LongWork): LongWork {
  return {
    onProgress: optionalCallback(request.onProgress, "onProgress"),
    background: optionalBoolean(request.background, "background"),
  };
}

/**
 * Returns true if a request asks only what it would do.
 * @throws InvalidInputError for a dry run in the background
 */
export function isDryRun({ dryRun, background }: DryRun & LongWork): boolean {
  const isDry = optionalBoolean(dryRun, "dryRun") ?? false;
  if (isDry && background === true) throw new InvalidInputError("dryRun: not possible in the background");
  return isDry;
}

/** Reports progress. */
export type TellProgress = (done: number, total?: number) => void;

/** Returns a function that reports progress to the caller; undefined if the caller asks for none. */
export function progressIn(unit: JobUnit, request: WithProgress): TellProgress | undefined {
  const onProgress = optionalCallback(request.onProgress, "onProgress");
  return onProgress && teller(onProgress, unit);
}

/** Returns a function that reports progress in rows. */
export const rowProgress = (request: WithProgress): TellProgress | undefined => progressIn("rows", request);

/** Returns a function that reports rows and the state of their write; undefined as {@link progressIn}. */
export function insertProgress(request: WithProgress): TellWriting | undefined {
  const onProgress = optionalCallback(request.onProgress, "onProgress");
  if (onProgress === undefined) return undefined;
  let state: WriteState | undefined;
  const tell = teller((progress) => onProgress({ ...progress, ...state }), "rows");
  return (rowCount, writing) => {
    state = writing;
    tell(rowCount);
  };
}

/** Reports the rows that a request has read. */
export class SeenRows {
  readonly #tell: TellProgress | undefined;
  readonly #total: number;
  #done = 0;

  /**
   * Starts at zero rows.
   * @param tell undefined if the caller does not ask for progress
   */
  constructor(tell: TellProgress | undefined, total: number) {
    this.#tell = tell;
    this.#total = total;
    tell?.(0, total);
  }

  /** Adds rows; the number may be a fraction. */
  readonly add = (rowCount: number): void => {
    this.#done = Math.min(this.#done + rowCount, this.#total);
    this.#tell?.(Math.floor(this.#done), this.#total);
  };

  /** Reports that the first `done` rows are finished, even if they were skipped. */
  reach(done: number): void {
    this.#done = done;
    this.#tell?.(done, this.#total);
  }
}

/** An error that the callback throws or rejects with ends the work, at once or with the next report. */
function teller(onProgress: NonNullable<WithProgress["onProgress"]>, unit: JobUnit): TellProgress {
  let failure: { readonly error: unknown } | null = null;
  return (done, total) => {
    if (failure !== null) throw failure.error;
    const outcome: unknown = onProgress({ done, ...(total !== undefined && { total }), unit });
    if (isPending(outcome)) {
      outcome.then(undefined, (error: unknown) => {
        failure ??= { error };
      });
    }
  };
}

/** Returns the control of a job that also reports progress to the caller. */
export const toldControl = (control: JobControl, tell: TellProgress | undefined): JobControl =>
  tell === undefined
    ? control
    : {
        ...control,
        progress(done, total, restored) {
          control.progress(done, total, restored);
          tell(done, total);
        },
      };

/** Does the work, or starts a job that does it. */
export async function doLongWork<Response extends object>(
  { jobs }: OperationContext,
  { signal }: RequestBase,
  { onProgress, background = false }: LongWork,
  { kind, unit, table, parameters, work }: LongWorkOf<Response>,
): Promise<Response | StartedJob> {
  const tell = onProgress && teller(onProgress, unit);
  if (!background) return work({ signal, progress: tell ?? (() => undefined) });
  const spec: JobSpec = {
    kind,
    unit,
    tableId: table.entry.id,
    table: table.table,
    key: JSON.stringify(parameters),
    parameters,
    async run(control) {
      const { hold, progress } = toldControl(control, tell);
      return (await work({ signal: control.signal, hold, progress })) as JsonValue;
    },
  };
  return (await jobs.get()).start(spec, signal);
}
