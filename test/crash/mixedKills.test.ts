/**
 * Several processes and the reference write to one namespace. One of ours is killed during a write, and
 * another makes the same kind of write, which does not wait for a stale lock. No acknowledged change is
 * lost. Prints the time from each kill to the next write. The seed determines the writes, not the moments.
 */

import { type Dirent, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tableFromIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { Drawing } from "../support/drawing.js";
import { RUN_SEED, runsOf } from "../support/effort.js";
import type { EngineOutcome } from "../support/engineWorker.js";
import { expect, it } from "../support/fixtures.js";
import { KillableEngine } from "../support/killableEngine.js";
import { reference } from "../support/reference.js";
import { stolenMs } from "../support/stolenTime.js";
import { MixedWrites, rowsOf, type Write } from "./mixedWrites.js";

const KILLS = runsOf("MIXED_KILLS", 8);
const WRITERS = 3;
const MAX_DELAY_MS = 60;
/** Maximum pause between two writes of a process that is not about to be killed. */
const MAX_PAUSE_MS = 30;
/** Kills between two full checks. */
const LOOK_STRIDE = 12;
const REFERENCE_PAUSE_MS = 100;
/** A write that waits for a stale lock would give up earlier and be refused. */
const STALE_MS = 600_000;

class Gate {
  #closed: Promise<void> | null = null;
  #onArrival: (() => void) | undefined;

  /** Call it between two writes. */
  async pass(): Promise<void> {
    this.#onArrival?.();
    await this.#closed;
  }

  /** Resolves when the writer is held, to a function that opens the gate. */
  async close(): Promise<() => void> {
    let open = () => {};
    this.#closed = new Promise((resolve) => {
      open = resolve;
    });
    await new Promise<void>((resolve) => {
      this.#onArrival = resolve;
    });
    return open;
  }
}

/** A process that writes all the time, and its successor. */
class Writer {
  readonly #number: number;
  readonly #writes: MixedWrites;
  readonly #drawing: Drawing;
  #engine: KillableEngine;
  /** Processes that continue when this one is killed. */
  readonly #successors: KillableEngine[] = [];
  #onSuccessor: (() => void) | undefined;
  #kind: number | undefined;
  #isStopping = false;
  readonly gate = new Gate();
  inFlight: Write | undefined;
  acknowledged = 0;
  refused = 0;
  readonly ended: Promise<void>;

  constructor(number: number, engine: KillableEngine, writes: MixedWrites, drawing: Drawing) {
    this.#number = number;
    this.#engine = engine;
    this.#writes = writes;
    this.#drawing = drawing;
    this.ended = this.#run();
    // Whoever awaits it gets the failure.
    this.ended.catch(() => undefined);
  }

  get engine(): KillableEngine {
    return this.#engine;
  }

  /** Makes only writes of this kind until the kill. */
  insistOn(kind: number): void {
    this.#kind = kind;
  }

  succeedBy(engine: KillableEngine): void {
    this.#kind = undefined;
    this.#successors.push(engine);
    this.#onSuccessor?.();
  }

  stop(): void {
    this.#isStopping = true;
  }

  async #successor(): Promise<KillableEngine> {
    while (this.#successors.length === 0) {
      await new Promise<void>((resolve) => {
        this.#onSuccessor = resolve;
      });
    }
    return this.#successors.shift() as KillableEngine;
  }

  async #run(): Promise<void> {
    await this.#engine.ready;
    while (!this.#isStopping) {
      await this.gate.pass();
      const write = await this.#writes.write(this.#number, this.#kind ?? this.#drawing.number(1000));
      this.inFlight = write;
      const outcome = await this.#engine.call(write.step);
      this.inFlight = undefined;
      if (outcome === null) this.#engine = await this.#successor();
      else if (settleWrite(write, outcome)) this.acknowledged++;
      else this.refused++;
      if (this.#kind === undefined) await sleep(this.#drawing.number(MAX_PAUSE_MS));
    }
  }
}

/** @returns false if it was refused because of other writers */
function settleWrite(write: Write, outcome: EngineOutcome): boolean {
  if ("ok" in outcome) {
    write.entry?.acknowledge((outcome.ok as { version?: number } | undefined)?.version ?? 0);
    return true;
  }
  if (!write.refusals?.includes(outcome.type)) {
    throw new Error(`${write.name}: ${outcome.type}: ${outcome.message}`);
  }
  return false;
}

/** Counts the locks that a process holds, of tables, the catalog and batches. */
function locksHeldBy(pid: number, directory: string, depth = 0): number {
  let held = 0;
  let entries: Dirent[];
  try {
    entries = readdirSync(directory, { withFileTypes: true });
  } catch {
    // It was removed during the search.
    return 0;
  }
  for (const { name } of entries) {
    const isDeep = depth < 3 && !["data", "_versions", "_transactions", "_refs"].includes(name);
    if (name === LOCK_NAME) {
      held += entriesOf(join(directory, name)).filter((owner) => owner.includes(`-${pid}-`)).length;
    } else if (isDeep) {
      held += locksHeldBy(pid, join(directory, name), depth + 1);
    }
  }
  return held;
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // The lock was released meanwhile.
    return [];
  }
}

/** The reference, which ignores our locks and appends all the time. */
class Bystander {
  readonly gate = new Gate();
  readonly #root: string;
  readonly #writes: MixedWrites;
  #isStopping = false;
  acknowledged = 0;
  readonly ended: Promise<void>;

  constructor(root: string, writes: MixedWrites) {
    this.#root = root;
    this.#writes = writes;
    this.ended = this.#run();
    this.ended.catch(() => undefined);
  }

  stop(): void {
    this.#isStopping = true;
  }

  async #run(): Promise<void> {
    for (let turn = 0; !this.#isStopping; turn++) {
      await this.gate.pass();
      const value = this.#writes.value();
      const table = turn % 2 === 0 ? "t" : "n$t";
      const append =
        table === "t"
          ? reference.appendTable(this.#root, "t", rowsOf(value))
          : reference.catalogStep(this.#root, "addRows", ["n", "t"], [{ v: value }]);
      const isAcknowledged = await append.then(
        () => true,
        // It gives up if others commit too fast, or if its version is cleaned up.
        () => false,
      );
      this.#writes.note(table, value, isAcknowledged);
      if (isAcknowledged) this.acknowledged++;
      await sleep(REFERENCE_PAUSE_MS);
    }
  }
}

interface Takeover {
  readonly ms: number;
  readonly name: string;
  /** Writes until the first acknowledgement: others write to the same table. */
  readonly tries: number;
  /** Milliseconds of processor time that the host stole from this machine meanwhile. */
  readonly stolenMs: number;
}

it("a new writer continues at once after one of many writers is killed", async ({ root }) => {
  const seed = RUN_SEED;
  const drawing = new Drawing(seed);
  const options = { root, durability: "none", lock: { staleMs: STALE_MS } } as const;
  const writes = new MixedWrites(WRITERS, drawing);
  const beginning = new DirectoryNamespace(options);
  await writes.begin(beginning);
  await beginning.close();

  const start = () => new KillableEngine(options);
  const survivor = start();
  await survivor.ready;
  const writers = Array.from(
    { length: WRITERS },
    (_, number) => new Writer(number, start(), writes, drawing),
  );
  const bystander = new Bystander(root, writes);
  const all = [...writers, bystander];
  const failure = Promise.all(all.map(({ ended }) => ended));
  failure.catch(() => undefined);
  const orFailure = <T>(work: Promise<T>): Promise<T> =>
    Promise.race([work, failure.then(() => Promise.reject(new Error("a writer has stopped")))]);

  const look = async (where: string) => {
    const gates = await orFailure(Promise.all(all.map(({ gate }) => gate.close())));
    const ns = new DirectoryNamespace(options);
    await writes.verify(ns, `seed ${seed}, ${where}`);
    await ns.close();
    for (const open of gates) open();
  };

  const takeovers: Takeover[] = [];
  let locked = 0;
  let successor = start();
  for (let kill = 1; kill <= KILLS; kill++) {
    const writer = writers[drawing.number(WRITERS - 1)];
    await orFailure(successor.ready);
    writer.insistOn(kill);
    await sleep(drawing.number(MAX_DELAY_MS));
    while (writer.inFlight === undefined) await orFailure(sleep(0));
    const { engine, inFlight: lost } = writer;
    const killedMs = performance.now();
    const stolenBeforeMs = stolenMs();
    engine.kill();
    lost.entry?.lose();
    if (locksHeldBy(engine.pid, root) > 0) locked++;
    let tries = 0;
    for (let isDone = false; !isDone; tries++) {
      const next = await lost.next();
      const outcome = await survivor.call(next.step);
      if (outcome === null) throw new Error("the process that nobody kills was killed");
      isDone = settleWrite(next, outcome);
    }
    takeovers.push({
      ms: performance.now() - killedMs,
      name: `${lost.name}, kill ${kill}`,
      tries,
      stolenMs: stolenMs() - stolenBeforeMs,
    });
    writer.succeedBy(successor);
    successor = start();
    if (kill % LOOK_STRIDE === 0) await look(`after kill ${kill}`);
  }

  for (const each of all) each.stop();
  await failure;
  for (const engine of [...writers.map((writer) => writer.engine), successor, survivor]) {
    engine.kill();
    await engine.gone();
  }
  const ns = new DirectoryNamespace(options);
  await writes.verify(ns, `seed ${seed}, at the end`);
  const times = takeovers.map(({ ms }) => ms).sort((a, b) => a - b);
  const quantile = (share: number) => `${times[Math.ceil(share * times.length) - 1].toFixed(0)} ms`;
  const undisturbed = takeovers.filter((each) => each.stolenMs < (each.ms * availableParallelism()) / 2);
  const slowest = [...takeovers].sort((a, b) => b.ms - a.ms).slice(0, 3);
  console.log(
    `kills (mixed): seed ${seed}, ${KILLS} kills, ${locked} while locks were held; from the kill to the next acknowledged ` +
      `write: median ${quantile(0.5)}, 95 % ${quantile(0.95)}, at most ${quantile(1)}; at most ` +
      `${Math.max(...undisturbed.map(({ ms }) => ms)).toFixed(0)} ms in the ${undisturbed.length} of these waits in which the ` +
      "host took less than half of the processors",
    {
      slowest,
      acknowledged: writers.reduce((sum, { acknowledged }) => sum + acknowledged, KILLS),
      refused: writers.reduce((sum, { refused }) => sum + refused, 0),
      byReference: bystander.acknowledged,
    },
  );
  expect(bystander.acknowledged).toBeGreaterThan(0);
  // The reference sees the same rows.
  const rows = await reference.catalogStep(root, "readRows", ["n", "t"]);
  expect(rows).toHaveLength((await ns.table(["n", "t"]).scan().toArrow()).numRows);
  expect(tableFromIPC(await reference.readTable(root, "t")).numRows).toBe(
    (await ns.table("t").scan().toArrow()).numRows,
  );
  await ns.close();
});
