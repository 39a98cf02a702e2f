/** Handles of operations that may still run. */

import type { Table as ArrowTable } from "apache-arrow";
import type { Job as JobRecord, JobState } from "../namespace/jobs.js";
import { failure, notSupported } from "./failures.js";
import type { JobFailureInfo, JobInfo } from "./native.js";
import type { ServerJob } from "./remote/serverCalls.js";

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
  /** Id of the job on its server. Absent: the job runs in this process. */
  readonly id?: string;
  /** Returns the record of the job. */
  describe(): Promise<JobRecord>;
  /** Waits until the job has ended, and returns its record. */
  wait(): Promise<JobRecord>;
  /** Asks the job to end. */
  cancel(): Promise<unknown>;
  /** Returns what the server tells of the job beside its record. */
  details?(): Promise<ServerJob | null>;
  /** Returns the events of the job on its server. */
  events?(options: JobEventsOptions): Promise<ArrowTable>;
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
 * A handle to an operation that may still run. Operations of this process have no id, no type and no events,
 * unlike jobs of a server.
 */
export class Job {
  private readonly inner: RunningJob | null;
  #state: string | null = null;
  #details: ServerJob | null = null;

  /** Makes a handle. Null: the operation has ended already. */
  constructor(inner: RunningJob | null) {
    this.inner = inner;
  }

  /** Id of the job on its server. Null: the job runs in this process. */
  get id(): string | null {
    return this.inner?.id ?? null;
  }
  /** State that the handle last saw. Null before the first look. */
  get state(): string | null {
    return this.#state;
  }
  /** Type of the job on its server. */
  get jobType(): string | null {
    return this.#details?.jobType ?? null;
  }
  /** Time of the job's creation on its server, in milliseconds since 1970. */
  get creationMs(): number | null {
    return this.#details?.creationMs ?? null;
  }
  /** Request that the server works on. */
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  get spec(): any | null {
    return this.#details?.spec ?? null;
  }
  /** Result of the server's job. */
  // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
  get result(): any | null {
    return this.#details?.result ?? null;
  }
  /** Reason of the failure of the server's job. */
  get failure(): JobFailureInfo | null {
    return this.#details?.failure ?? null;
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
    const job = await this.#waited();
    this.#state = STATES[job?.state ?? "Succeeded"];
    if (job?.state === "Cancelled") throw failure("Runtime error: the job was cancelled");
  }

  async #waited(): Promise<JobRecord | undefined> {
    try {
      return await this.inner?.wait();
    } catch (error) {
      const { id } = this;
      if (id === null) throw error;
      await this.refresh();
      const { message, phase } = this.failure ?? {};
      if (this.#state !== "failed") throw error;
      throw failure(`Job ${id} failed: ${message}${phase === undefined ? "" : ` (in ${phase})`}`, error);
    }
  }

  /** Asks the job to end. It does nothing if the job has ended. */
  async cancel(): Promise<void> {
    await this.inner?.cancel();
  }

  /** Looks at the job, for the getters above. */
  async refresh(): Promise<void> {
    const [job, details] = await Promise.all([this.inner?.describe(), this.inner?.details?.()]);
    this.#state = STATES[job?.state ?? "Succeeded"];
    this.#details = details ?? null;
  }

  /**
   * Returns the events of a job of a server.
   * @throws Error for a job of this process, which has none
   */
  async events(options: JobEventsOptions = {}): Promise<ArrowTable> {
    const { events } = this.inner ?? {};
    if (events === undefined) throw notSupported("job event history is only available for server-side jobs");
    return events(options);
  }

  /** Returns what the handle knows, one member per line. */
  toString(): string {
    const { id, jobType, creationMs, spec, result, failure: reason } = this;
    const state = this.#state;
    if (state === null) return id === null ? "Job(\n)" : `Job(id=${JSON.stringify(id)}, not refreshed)`;
    const members = { id, state, jobType, creationMs, spec, result, failure: reason };
    const lines = Object.entries(members)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => `    ${name}=${JSON.stringify(value, null, 4).replaceAll("\n", "\n    ")},\n`);
    return `Job(\n${lines.join("")})`;
  }
}
