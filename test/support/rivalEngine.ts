/** The engine in another process, for changes while an engine of this process stands still. */

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { exitOf, nextMessage } from "./childProcess.js";
import type { EngineOutcome, EngineStep } from "./engineWorker.js";

const ENTRY = fileURLToPath(new URL("./processes/rivalEngine.mjs", import.meta.url));

export class RivalEngine {
  readonly #process: ChildProcess = fork(ENTRY, { serialization: "advanced", execArgv: [] });

  /** Opens a directory with empty caches. Callers make one call at a time. */
  async open(root: string): Promise<void> {
    await this.#ask({ root });
  }

  async call(step: EngineStep): Promise<EngineOutcome> {
    return (await this.#ask({ step })) as EngineOutcome;
  }

  async end(): Promise<void> {
    this.#process.disconnect();
    await exitOf(this.#process);
  }

  #ask(message: object): Promise<unknown> {
    const answer = nextMessage(this.#process);
    this.#process.send(message);
    return answer;
  }
}
