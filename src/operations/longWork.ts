/** Work that may take long: done in the call, or as a job; with progress either way. */

import { isPending } from "../async/pending.js";
import type { JobControl, JobSpec, JsonValue } from "../jobs/job.js";
import type { JobKind, JobUnit } from "../namespace/jobs.js";
import type { RequestBase } from "../namespace/request.js";
import type { LongWork, StartedJob, WithProgress } from "../namespace/upkeep.js";
import type { OperationContext } from "./context.js";
import { optionalBoolean, optionalCallback } from "./request.js";
import type { OpenTable } from "./snapshot.js";

/** What the work is handed, in a job or not. */
export type WorkControl = Pick<JobControl, "progress"> & {
  readonly signal?: AbortSignal;
  readonly hold?: () => Promise<void>;
};

interface LongWorkOf<Response> {
  readonly kind: JobKind;
  readonly unit: JobUnit;
  readonly table: OpenTable;
  /** What the work is to do. Two jobs with equal ones do the same. */
  readonly parameters: { readonly [member: string]: JsonValue | undefined };
  readonly work: (control: WorkControl) => Promise<Response>;
}

/** The members of a request that say how its work is done, checked. */
export function longWorkOptions(request: LongWork): LongWork {
  return {
    onProgress: optionalCallback(request.onProgress, "onProgress"),
    background: optionalBoolean(request.background, "background"),
  };
}

/** Tells how far work is. */
export type TellProgress = (done: number, total?: number) => void;

/** What tells the caller of a request how far the work is; undefined where it does not ask. */
export function progressIn(unit: JobUnit, request: WithProgress): TellProgress | undefined {
  const onProgress = optionalCallback(request.onProgress, "onProgress");
  return onProgress && teller(onProgress, unit);
}

/** The same, in rows. */
export const rowProgress = (request: WithProgress): TellProgress | undefined => progressIn("rows", request);

/** Tells the caller of a request of rows as they are looked at. */
export class SeenRows {
  readonly #tell: TellProgress | undefined;
  readonly #total: number;
  #done = 0;

  /** @param tell undefined where the caller does not ask */
  constructor(tell: TellProgress | undefined, total: number) {
    this.#tell = tell;
    this.#total = total;
    tell?.(0, total);
  }

  /** Some more rows were looked at; the number may be a fraction. */
  readonly add = (rowCount: number): void => {
    this.#done = Math.min(this.#done + rowCount, this.#total);
    this.#tell?.(Math.floor(this.#done), this.#total);
  };

  /** The first `done` rows are done with, whether they were looked at or not. */
  reach(done: number): void {
    this.#done = done;
    this.#tell?.(done, this.#total);
  }
}

/** An error that a call throws, or rejects with, ends the work: at once, or where it is told of next. */
function teller(onProgress: NonNullable<WithProgress["onProgress"]>, unit: JobUnit): TellProgress {
  let failure: { readonly error: unknown } | null = null;
  return (done, total) => {
    if (failure !== null) throw failure.error;
    const told: unknown = onProgress({ done, ...(total !== undefined && { total }), unit });
    if (isPending(told)) {
      told.then(undefined, (error: unknown) => {
        failure ??= { error };
      });
    }
  };
}

/** The control of a job that also tells the caller of its progress. */
export const toldControl = (control: JobControl, tell: TellProgress | undefined): JobControl =>
  tell === undefined
    ? control
    : {
        ...control,
        progress(done, total) {
          control.progress(done, total);
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
