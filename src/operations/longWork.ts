/** Work that may take long: done in the call, or as a job; with progress either way. */

import type { JobControl, JobSpec, JsonValue } from "../jobs/job.js";
import type { JobKind, JobUnit } from "../namespace/jobs.js";
import type { RequestBase } from "../namespace/request.js";
import type { LongWork, StartedJob } from "../namespace/upkeep.js";
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

/** Does the work, or starts a job that does it. */
export async function doLongWork<Response extends object>(
  { jobs }: OperationContext,
  { signal }: RequestBase,
  { onProgress, background = false }: LongWork,
  { kind, unit, table, parameters, work }: LongWorkOf<Response>,
): Promise<Response | StartedJob> {
  const tell = (done: number, total?: number) =>
    onProgress?.({ done, ...(total !== undefined && { total }), unit });
  if (!background) return work({ signal, progress: tell });
  const spec: JobSpec = {
    kind,
    unit,
    table: table.table.id,
    at: table.at,
    key: JSON.stringify(parameters),
    parameters,
    async run(control) {
      const progress = (done: number, total?: number) => {
        control.progress(done, total);
        tell(done, total);
      };
      return (await work({ signal: control.signal, hold: control.hold, progress })) as JsonValue;
    },
  };
  return jobs.start(spec, signal);
}
