import { useEffect, useState } from "preact/hooks";
import type { Job } from "../../../namespace/jobs.ts";
import type { ViewProps } from "../App.tsx";
import { call } from "../calls.ts";
import { formatAgo, formatCount, visibleText } from "../format.ts";
import { Bar, Busy, Empty, Failure } from "../parts.tsx";

const RUNNING_MS = 700;
const IDLE_MS = 4000;

const isOpen = ({ state }: Job): boolean => state === "Queued" || state === "Running";

/** Jobs of the table, with progress while they run. */
export function JobsView({ choice, isWritable }: ViewProps) {
  const [jobs, setJobs] = useState<readonly Job[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [turn, setTurn] = useState(0);
  const { id } = choice;
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      try {
        const answer = await call("jobs", { id }, abort.signal);
        setJobs(answer.jobs);
        setError(null);
        timer = setTimeout(look, answer.jobs.some(isOpen) ? RUNNING_MS : IDLE_MS);
      } catch (reason) {
        if (abort.signal.aborted) return;
        setError(reason as Error);
        timer = setTimeout(look, IDLE_MS);
      }
    };
    look();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [JSON.stringify(id), turn]);
  const cancel = (job: Job) => {
    call("cancelJob", { jobId: job.jobId }).then(
      () => setTurn((before) => before + 1),
      (reason) => setError(reason as Error),
    );
  };
  if (error !== null && jobs === null) return <Failure error={error} />;
  if (jobs === null) return <Busy />;
  const sorted = [...jobs].sort((left, right) => right.createdAt.localeCompare(left.createdAt));
  return (
    <div class="scroll padded" tabIndex={0} role="region" aria-label="Jobs of the table">
      {error !== null && <Failure error={error} />}
      {jobs.length === 0 && (
        <Empty title="No jobs">
          <p>
            Builds of indexes, backfills, compactions and cleanups in the background appear here while they
            run.
          </p>
        </Empty>
      )}
      <ul class="jobs" aria-live="polite" aria-label="Jobs">
        {sorted.map((job) => (
          <li key={job.jobId} class="panel">
            <div class="version-head">
              <strong>{job.kind}</strong>
              <span class={`chip state ${job.state.toLowerCase()}`}>
                {job.isInterrupted ? "Interrupted" : job.state}
              </span>
              {job.branch !== undefined && <bdi class="quiet">{job.branch}</bdi>}
              <span class="quiet">{formatAgo(Date.parse(job.createdAt))}</span>
              {isWritable && isOpen(job) && (
                <button type="button" onClick={() => cancel(job)}>
                  Cancel
                </button>
              )}
            </div>
            <Progress job={job} />
            {job.error !== undefined && <pre class="job-error">{visibleText(errorText(job.error))}</pre>}
            <code class="quiet">{job.jobId}</code>
          </li>
        ))}
      </ul>
    </div>
  );
}

const errorText = (error: unknown): string =>
  typeof error === "string"
    ? error
    : ((error as { readonly message?: string } | null)?.message ?? JSON.stringify(error));

function Progress({ job: { kind, done, total, unit, rate, estimatedEnd, state } }: { readonly job: Job }) {
  const left =
    estimatedEnd === undefined ? null : Math.max(0, (Date.parse(estimatedEnd) - Date.now()) / 1000);
  return (
    <div class="progress">
      {total !== undefined && total > 0 && (
        <Bar part={state === "Succeeded" ? 1 : done / total} label={`Progress of ${kind}`} />
      )}
      <span>
        {formatCount(done)}
        {total !== undefined && ` of ${formatCount(total)}`} {unit}
        {rate !== undefined && ` · ${formatCount(Math.round(rate))} ${unit} per second`}
        {left !== null && state === "Running" && ` · about ${formatCount(Math.ceil(left))} s left`}
      </span>
    </div>
  );
}
