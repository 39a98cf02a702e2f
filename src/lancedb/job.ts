/** Handles of operations that may still run. */

import type { Table as ArrowTable } from "apache-arrow";
import type { Job as JobRecord, JobState } from "../namespace/jobs.js";
import { failure, notSupported } from "./failures.js";
import type { JobFailureInfo, JobInfo } from "./native.js";

/** Selects the events that {@link Job.events} returns. */
export interface JobEventsOptions {
  /** Maximum number of events. */
  limit?: number;
  /** SQL over the columns of the events. */
  filter?: string;
}

/** Returns a job as a server lists it. */
export const jobInfoOf = ({ jobId, kind, table, state, createdAt }: JobRecord): JobInfo => ({
  jobId,
  table: table.at(-1) ?? "",
  jobType: kind,
  state: STATES[state],
  createdAtMillis: Date.parse(createdAt),
});

/** The operation of a handle. */
export interface RunningJob {
  /** Returns the record of the job. */
  describe(): Promise<JobRecord>;
  /** Waits until the job has ended, and returns its record. */
  wait(): Promise<JobRecord>;
  /** Asks the job to end. */
  cancel(): Promise<unknown>;
}

/** Names of states as LanceDB has them. */
const STATES: Readonly<Record<JobState, string>> = {
  Queued: "running",
  Running: "running",
  Succeeded: "finished",
  Failed: "failed",
  Cancelled: "cancelled",
};

/**
 * A handle to an operation that may still run. Operations of this process have no id, no type and no events:
 * LanceDB has these for jobs of its servers.
 */
export class Job {
  private readonly inner: RunningJob | null;
  #state: string | null = null;

  /** Makes a handle. Null: the operation has ended already. */
  constructor(inner: RunningJob | null) {
    this.inner = inner;
  }

  /** Id of the job on its server. Null: the job runs in this process. */
  get id(): string | null {
    return null;
  }
  /** State that the handle last saw. Null before the first look. */
  get state(): string | null {
    return this.#state;
  }
  /** Type of the job on its server. */
  get jobType(): string | null {
    return null;
  }
  /** Time of the job's creation on its server, in milliseconds since 1970. */
  get creationMs(): number | null {
    return null;
  }
  /** Request that the server works on. */
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  get spec(): any | null {
    return null;
  }
  /** Result of the server's job. */
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  get result(): any | null {
    return null;
  }
  /** Reason of the failure of the server's job. */
  get failure(): JobFailureInfo | null {
    return null;
  }

  /** Returns the state: `running`, `finished`, `failed` or `cancelled`. */
  async status(): Promise<string> {
    await this.refresh();
    return this.#state as string;
  }

  /**
   * Waits until the job has ended.
   * @throws Error if it failed or was cancelled
   */
  async wait(): Promise<void> {
    const job = await this.inner?.wait();
    this.#state = STATES[job?.state ?? "Succeeded"];
    if (job?.state === "Cancelled") throw failure("Runtime error: the job was cancelled");
  }

  /** Asks the job to end. It does nothing if the job has ended. */
  async cancel(): Promise<void> {
    await this.inner?.cancel();
  }

  /** Looks at the job, for the getters above. */
  async refresh(): Promise<void> {
    const job = await this.inner?.describe();
    this.#state = STATES[job?.state ?? "Succeeded"];
  }

  /**
   * Returns the events of a job.
   * @throws Error: jobs of this process have none
   */
  async events(_options?: JobEventsOptions): Promise<ArrowTable> {
    throw notSupported("job event history is only available for server-side jobs");
  }

  /** Returns what the handle knows, one member per line. */
  toString(): string {
    return this.#state === null ? "Job(\n)" : `Job(\n    state=${JSON.stringify(this.#state)},\n)`;
  }
}
