/** The engine in processes of their own, started together. */

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { nextMessage } from "./childProcess.js";

/** A method of `DirectoryNamespace`, its request, and rows as Arrow IPC bytes. */
export type EngineStep = readonly [method: string, request: object, payload?: Uint8Array];

export interface EngineJob {
  readonly root: string;
  readonly options?: object;
  readonly steps: readonly EngineStep[];
  /** Milliseconds after which no step begins. */
  readonly durationMs?: number;
}

export type EngineOutcome = { ok: unknown } | { code: number; type: string; message: string };

const ENTRY = fileURLToPath(new URL("./processes/engineWorker.mjs", import.meta.url));

/** Runs each job in a process, all at once; `onStart` runs at the same time. Returns the outcomes by job. */
export async function raceEngines(
  jobs: readonly EngineJob[],
  onStart: () => void = () => undefined,
): Promise<EngineOutcome[][]> {
  const processes = jobs.map(() => fork(ENTRY, { serialization: "advanced", execArgv: [] }));
  try {
    await Promise.all(processes.map((process, index) => ask(process, jobs[index])));
    const answers = processes.map((process) => ask(process, { go: true }));
    onStart();
    return (await Promise.all(answers)).map((answer) => (answer as { outcomes: EngineOutcome[] }).outcomes);
  } finally {
    for (const process of processes) process.kill();
  }
}

/** Sends a message and resolves with the answer; rejects if the process ends first. */
function ask(process: ChildProcess, message: object): Promise<unknown> {
  const answer = nextMessage(process);
  process.send(message);
  return answer;
}
