/**
 * A side of a case in a process of its own, which runs when it is told to. This file is both: the process,
 * and what starts it.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { CaseSamples, PreparedCase, Size } from "./case.js";
import { caseNamed } from "./cases.js";
import { type Timed, timeRun } from "./timing.js";

const SCRIPT = fileURLToPath(import.meta.url);

/** First message of the process. */
interface Introduction extends Pick<CaseSamples, "work" | "bytes"> {
  readonly sides: readonly CaseSamples["samples"][number]["side"][];
}

export class SideProcess {
  readonly #child: ChildProcess;
  readonly introduction: Introduction;

  private constructor(child: ChildProcess, introduction: Introduction) {
    this.#child = child;
    this.introduction = introduction;
  }

  /**
   * @param index of the side among those of the case
   * @param directory for the side alone; the process makes it, and removes it when it ends
   */
  static async start(name: string, size: Size, index: number, directory: string): Promise<SideProcess> {
    const child = fork(SCRIPT, [size, name, String(index), directory], {
      execArgv: ["--expose-gc"],
      serialization: "advanced",
    });
    return new SideProcess(child, (await answerOf(child)) as Introduction);
  }

  /** One run. */
  async run(): Promise<Timed> {
    this.#child.send("run");
    return (await answerOf(this.#child)) as Timed;
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const end = once(this.#child, "exit");
    if (this.#child.connected) this.#child.disconnect();
    await end;
  }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const { signal } = ended;
  const death = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`bench: the process of a side ended with code ${code}`);
  });
  death.catch(() => undefined);
  try {
    const [answer] = await Promise.race([once(child, "message", { signal }), death]);
    return answer;
  } finally {
    ended.abort();
  }
}

async function serve(size: Size, name: string, index: number, directory: string): Promise<void> {
  let prepared: PreparedCase | undefined;
  // Told to end, or left alone by what has started it, at any time.
  process.once("disconnect", async () => {
    await prepared?.close();
    await rm(directory, { recursive: true, force: true });
    process.exit();
  });
  const benchCase = caseNamed(name);
  await mkdir(directory);
  prepared = await benchCase.prepare(directory, size);
  const collectFirst = size === "large" && benchCase.collectFirst === true;
  const { work, bytes, sides } = prepared;
  process.on("message", async () => {
    const timed = await timeRun(sides[index], collectFirst);
    if (process.connected) process.send?.(timed);
  });
  process.send?.({ work, bytes, sides: sides.map((side) => side.name) } satisfies Introduction);
}

if (process.argv[1] === SCRIPT) {
  const [size, name, index, directory] = process.argv.slice(2);
  await serve(size as Size, name, Number(index), directory);
}
