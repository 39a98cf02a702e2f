/** Work that may take long: done in the call or as a job, and with progress in both cases. */

import { InvalidInputError } from "../errors.js";
import type { JobControl, JobSpec, JsonValue } from "../jobs/job.js";
import type { JobKind, JobUnit } from "../namespace/jobs.js";
import type { RequestBase } from "../namespace/request.js";
import type { DryRun, LongWork, StartedJob } from "../namespace/upkeep.js";
import type { OperationContext } from "./context.js";
import { type TellProgress, teller } from "./progress.js";
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
