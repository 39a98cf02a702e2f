/**
 * Executor that runs backfills on Ray. A run is one job of Ray. Its entry point, the runner, is a small
 * Python program that starts workers as tasks of Ray. Workers report to files, which the executor reads once
 * a second (reports.ts).
 */

import { untilAborted } from "../async/abort.js";
import { sleep } from "../async/sleep.js";
import { performance } from "../async/timers.js";
import { InternalError, InvalidInputError, messageOf } from "../errors.js";
import { NodeDisk } from "../io/disk/nodeDisk.js";
import type { BackfillTask, ClusterExecutor, ClusterRun } from "../namespace/clusters.js";
import { checkOptionMembers, isObject, shortly } from "../optionMembers.js";
import { isAbsolute, join, relative } from "../platform/native.js";
import { hasEnded, type RayJob, RayJobApi } from "./jobApi.js";
import { Reports, writeOrder } from "./reports.js";

/** Programs that run on the cluster, and their environment. */
export interface RayEnvironment {
  /**
   * Command line of the runner, on the machine that Ray starts the job on, such as
   * `"python /app/ray-backfill/runner.py"`.
   */
  readonly runner: string;
  /** Command of a worker, on every machine, such as `["node", "/app/ray-backfill/worker.mjs"]`. */
  readonly worker: readonly string[];
  /** Ray's runtime environment of the job: `working_dir`, `pip`, `env_vars` and so on. Default: none. */
  readonly runtimeEnv?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Resources of a worker, as options of a Ray task, such as `{ num_cpus: 1, num_gpus: 0.5 }`. Default: one
   * processor.
   */
  readonly resources?: Readonly<Record<string, unknown>> | undefined;
}

/** Options of {@link rayCluster}. */
export interface RayClusterOptions extends RayEnvironment {
  /** URL of Ray's dashboard. Default: `http://127.0.0.1:8265`. */
  readonly address?: string | undefined;
  /** Headers of every request to the dashboard, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Path of the namespace's directory on the machines of the cluster. Default: the same as here. */
  readonly root?: string | undefined;
  /**
   * Further environments, by the `manifest` of a request. Members that an environment omits come from these
   * options.
   */
  readonly manifests?: Readonly<Record<string, Partial<RayEnvironment>>> | undefined;
  /** Milliseconds between two looks at the reports. Default: 1000. */
  readonly pollMs?: number | undefined;
}

const ENVIRONMENT_MEMBERS = ["runner", "worker", "runtimeEnv", "resources"];
const MEMBERS = [...ENVIRONMENT_MEMBERS, "address", "headers", "root", "manifests", "pollMs"];
const DEFAULT_ADDRESS = "http://127.0.0.1:8265";
/** Milliseconds for which the API may be unreachable. */
const AWAY_MS = 60_000;
/** Milliseconds to wait for a stopped job. */
const STOP_MS = 15_000;
/** Characters of the end of a log that an error shows. */
const SHOWN_LENGTH = 2000;
/** Metadata key that holds the id of the Tiltyard job. */
const OWNER = "tiltyard_job";

/**
 * Makes an executor for the option `clusters`. All machines of the cluster share the namespace's directory
 * with this machine, on one file system.
 *
 *     new DirectoryNamespace({ root, functions, clusters: { ray: rayCluster({ runner, worker }) } });
 *
 * @throws InvalidInputError naming the option
 */
export function rayCluster(options: RayClusterOptions): ClusterExecutor {
  checkOptions(options);
  const { address = DEFAULT_ADDRESS, headers = {}, root, manifests = {}, pollMs = 1000 } = options;
  const api = new RayJobApi(address, headers);
  const disk = new NodeDisk({ durability: "none" });
  return {
    manifests: Object.keys(manifests),
    async run(tasks, run) {
      const environment = { ...options, ...(run.manifest !== undefined && manifests[run.manifest]) };
      await stopOthers(api, run);
      const there = root ?? run.root;
      await writeOrder(disk, run.directory, orderOf(tasks, run, environment, there));
      run.signal.throwIfAborted();
      const { runtimeEnv = {} } = environment;
      const id = await api.submit({
        entrypoint: environment.runner,
        runtime_env: {
          ...runtimeEnv,
          env_vars: {
            ...(isObject(runtimeEnv.env_vars) ? runtimeEnv.env_vars : {}),
            TILTYARD_RUN: directoryThere(run, there),
          },
        },
        metadata: { [OWNER]: run.jobId },
      });
      await follow(api, id, new Reports(disk, run), run.signal, pollMs);
    },
  };
}

const orderOf = (
  tasks: readonly BackfillTask[],
  { concurrency = null }: { readonly concurrency?: number | null | undefined },
  { worker, resources = { num_cpus: 1 } }: RayEnvironment,
  root: string,
) => ({ root, worker, concurrency, resources, tasks });

/** Returns the path of the run's directory on the machines of the cluster. */
function directoryThere({ root, directory }: ClusterRun, rootThere: string): string {
  const path = relative(root, directory);
  // A table outside the namespace's directory has the same path on every machine.
  if (path.startsWith("..") || isAbsolute(path)) return directory;
  return join(rootThere, path);
}

/** Stops the jobs of Ray that a dead process left for the same job: their workers would repeat its work. */
async function stopOthers(api: RayJobApi, { jobId }: ClusterRun): Promise<void> {
  for (const job of await api.list()) {
    if (job.metadata?.[OWNER] === jobId && !hasEnded(job)) await stopAndWait(api, job.submission_id);
  }
}

async function stopAndWait(api: RayJobApi, id: string): Promise<void> {
  await api.stop(id);
  const untilMs = performance.now() + STOP_MS;
  while (performance.now() < untilMs && !hasEnded(await api.describe(id))) await sleep(200);
}

/**
 * Passes on reports until the job ends.
 * @throws InternalError if the job ended without a report, or was stopped; ServiceUnavailableError if the API
 *   is unreachable
 */
async function follow(
  api: RayJobApi,
  id: string,
  reports: Reports,
  signal: AbortSignal,
  pollMs: number,
): Promise<void> {
  let seenMs = performance.now();
  for (;;) {
    if (signal.aborted) return stopAndWait(api, id);
    let job: RayJob | null = null;
    try {
      job = await api.describe(id);
      seenMs = performance.now();
    } catch (error) {
      if (performance.now() - seenMs > AWAY_MS) throw error;
    }
    // Read after asking for the job: once the job has ended, all reports are there.
    await reports.readOn();
    if (job !== null && hasEnded(job)) {
      if (signal.aborted || job.status === "SUCCEEDED") return;
      if (job.status === "FAILED" && reports.taskCount > 0) return;
      throw await failureOf(api, job, id);
    }
    await untilAborted(sleep(pollMs), signal).catch(() => undefined);
  }
}

/** Makes an internal error: callers of a server must not see what programs on the cluster print. */
async function failureOf(api: RayJobApi, { status, message }: RayJob, id: string): Promise<InternalError> {
  const log = await api.logs(id).catch((error: unknown) => `there is no log: ${messageOf(error)}`);
  return new InternalError(
    `job ${id} of Ray ended as ${status}: ${message ?? ""}\n${log.slice(-SHOWN_LENGTH)}`,
  );
}

function checkOptions(options: RayClusterOptions): void {
  checkOptionMembers("rayCluster", options, MEMBERS);
  const { address, headers, root, manifests, pollMs } = options;
  checkEnvironment("rayCluster", options, true);
  if (address !== undefined && !/^https?:\/\/[^/]/.test(address)) {
    throw new InvalidInputError(`address: must be the URL of Ray's dashboard, not ${shortly(address)}`);
  }
  if (headers !== undefined && !isObject(headers)) {
    throw new InvalidInputError(`headers: must be an object of headers, not ${shortly(headers)}`);
  }
  if (root !== undefined && (typeof root !== "string" || root === "")) {
    throw new InvalidInputError(`root: must be a path on the cluster's machines, not ${shortly(root)}`);
  }
  if (pollMs !== undefined && !(pollMs >= 10)) {
    throw new InvalidInputError(`pollMs: must be at least 10 milliseconds, not ${shortly(pollMs)}`);
  }
  if (manifests === undefined) return;
  if (!isObject(manifests)) {
    throw new InvalidInputError(`manifests: must be an object of environments, not ${shortly(manifests)}`);
  }
  for (const [name, environment] of Object.entries(manifests)) {
    checkOptionMembers(`manifests.${name}`, environment, ENVIRONMENT_MEMBERS);
    checkEnvironment(`manifests.${name}`, environment, false);
  }
}

function checkEnvironment(
  label: string,
  { runner, worker, runtimeEnv, resources }: Partial<RayEnvironment>,
  isComplete: boolean,
): void {
  if ((isComplete || runner !== undefined) && (typeof runner !== "string" || runner === "")) {
    throw new InvalidInputError(`${label}.runner: must be a command line, not ${shortly(runner)}`);
  }
  const isCommand =
    Array.isArray(worker) && worker.length > 0 && worker.every((part) => typeof part === "string");
  if ((isComplete || worker !== undefined) && !isCommand) {
    throw new InvalidInputError(`${label}.worker: must be a list of a command and its arguments`);
  }
  for (const [member, value] of Object.entries({ runtimeEnv, resources })) {
    if (value !== undefined && !isObject(value)) {
      throw new InvalidInputError(`${label}.${member}: must be an object, not ${shortly(value)}`);
    }
  }
}
