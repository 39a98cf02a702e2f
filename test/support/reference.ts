/** The reference implementation for tests: the oracle's calls, table equality, and racing processes. */

import { type ChildProcess, fork } from "node:child_process";
import { createRequire } from "node:module";

import type { CatalogStep } from "tiltyard-reference";
import * as calls from "tiltyard-reference";
import { whenGone } from "./childProcess.js";
import { mirroredCalls } from "./suite/mirror.js";

/** The calls of the reference, on files that it can open. */
export const reference = mirroredCalls(calls);
export { compareSchemas, compareTables } from "./compareTables.js";

/** Appends each payload as one commit, in order. */
export interface ReferenceJob {
  kind: "appendEach";
  uri: string;
  name: string;
  payloads: Uint8Array[];
  retries: number;
}

/** Appends each payload, and reads column `v` of the whole table after each. */
export interface AppendAndReadJob {
  kind: "appendAndRead";
  uri: string;
  name: string;
  payloads: Uint8Array[];
}

/** Deletes, updates, appends and upserts rows, in order. */
export interface ChangeJob {
  kind: "changeRows";
  uri: string;
  name: string;
  changes: readonly (
    | { predicate: string }
    | { set: Record<string, string>; where: string }
    | { rows: Uint8Array }
    | { rows: Uint8Array; on: string[] }
  )[];
  /** No change begins after this time. */
  durationMs?: number;
}

/** Takes steps on the directory catalog, in order. */
export interface CatalogJob {
  kind: "catalogSteps";
  root: string;
  steps: readonly CatalogStep[];
}

export type StepOutcome = { ok: unknown } | { error: string };

export type AppendOutcome = { version: number } | { error: string };

export type ReadOutcome = { values: Int32Array } | { error: string };

type OutcomeOf<Job> = Job extends CatalogJob
  ? StepOutcome
  : Job extends AppendAndReadJob
    ? ReadOutcome
    : AppendOutcome;
type Outcome = AppendOutcome | ReadOutcome | StepOutcome;
type WorkerMessage = { ready: true } | { outcomes: Outcome[] } | { failure: string };

/** The reference in a process of its own: it starts, waits for `go`, and works. */
export class ReferenceWorker<
  Job extends ReferenceJob | AppendAndReadJob | ChangeJob | CatalogJob = ReferenceJob,
> {
  readonly #process: ChildProcess;
  /** Resolves once the process has opened the table or catalog. */
  readonly ready: Promise<void>;
  /** Resolves to one outcome per payload or step. */
  readonly outcomes: Promise<OutcomeOf<Job>[]>;

  constructor(job: Job) {
    const entry = createRequire(import.meta.url).resolve("tiltyard-reference/worker.mjs");
    this.#process = fork(entry, { serialization: "advanced", execArgv: [] });
    let onReady = () => {};
    let onFailure: (reason: Error) => void = () => {};
    this.ready = new Promise((resolve, reject) => {
      onReady = resolve;
      onFailure = reject;
    });
    this.outcomes = new Promise((resolve, reject) => {
      const fail = (reason: Error) => {
        onFailure(reason);
        reject(reason);
      };
      this.#process.on("message", (message: WorkerMessage) => {
        if ("ready" in message) onReady();
        else if ("outcomes" in message) resolve(message.outcomes as Awaited<typeof this.outcomes>);
        else fail(new Error(message.failure));
      });
      whenGone(this.#process, (code) => fail(new Error(`the reference process ended with code ${code}`)));
    });
    // Failures reach whoever awaits; one seen through `ready` only must not count as unhandled.
    this.ready.catch(() => undefined);
    this.outcomes.catch(() => undefined);
    this.#process.send(job);
  }

  /** Starts the work; call it when all racing workers are ready. */
  go(): void {
    this.#process.send({ go: true });
  }

  suspend(): void {
    this.#process.kill("SIGSTOP");
  }

  resume(): void {
    this.#process.kill("SIGCONT");
  }
}
