/**
 * Kills a process that changes a directory, repeatedly. A new engine sees all acknowledged changes, and the
 * change in flight whole or not at all. The seed determines the changes, not the moments.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { beginning, type Change, changes, perform, stepOf } from "../model/changes.js";
import { Model, outcomeOf } from "../model/model.js";
import { stateOf } from "../model/observed.js";
import { Drawing } from "../support/drawing.js";
import { RUN_SEED, runsOf } from "../support/effort.js";
import type { EngineOutcome, EngineStep } from "../support/engineWorker.js";
import { valuesOf } from "../support/intRows.js";
import { KillableEngine, letTimePass } from "../support/killableEngine.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const KILLS = runsOf("KILLS", 8);
const MAX_DELAY_MS = 150;
const STALE_MS = 2000;
/** Kills between two that wait for orphans to age; after the others, the test ages them. */
const WAITING_STRIDE = 10;

interface Workload {
  /** Returns the next change, as consecutive calls; `kind` is its preferred kind, and may be any number. */
  next(
    ns: DirectoryNamespace,
    kind: number,
  ): Promise<{ readonly name: string; readonly steps: readonly EngineStep[] }>;
  recordOutcome(outcome: EngineOutcome): void;
  /** Compares the engine with the acknowledged changes; true if it also has the change in flight. */
  compare(ns: DirectoryNamespace, where: string): Promise<boolean>;
}

async function killRepeatedly(
  title: string,
  start: (root: string, drawing: Drawing) => Promise<Workload>,
): Promise<string> {
  const seed = RUN_SEED;
  const drawing = new Drawing(seed);
  const root = await makeTempDir();
  const workload = await start(root, drawing);
  const options = { root, durability: "none", lock: { staleMs: STALE_MS } } as const;
  // `locked` counts the dead processes that left a lock, so were in the middle of a change.
  const counts = { acknowledged: 0, done: 0, undone: 0, locked: 0 };
  let successor = new KillableEngine(options);
  for (let kill = 1; kill <= KILLS; kill++) {
    const engine = successor;
    // It starts while the other one works.
    successor = new KillableEngine(options);
    await engine.ready;
    const reader = new DirectoryNamespace(options);
    const first = drawing.number(3);
    let inFlight = "";
    for (let number = 0; inFlight === ""; number++) {
      // Fast changes would rarely be hit: from the first such change on, all are of one kind, in turn.
      const kind = number < first ? drawing.number(1000) : seed + kill;
      const { name, steps } = await workload.next(reader, kind);
      if (number === first) setTimeout(() => engine.kill(), drawing.number(MAX_DELAY_MS));
      const outcome = await callInTurn(engine, steps);
      if (outcome === null) {
        inFlight = name;
      } else {
        workload.recordOutcome(outcome);
        counts.acknowledged++;
      }
    }
    await engine.gone();
    await reader.close();
    if (kill % WAITING_STRIDE === 0) await sleep(STALE_MS);
    if ((await letTimePass(root, STALE_MS / 1000)) > 0) counts.locked++;

    await using opened = new DirectoryNamespace(options);
    const done = await workload.compare(opened, `seed ${seed}, kill ${kill}, during ${inFlight}`);
    counts[done ? "done" : "undone"]++;
  }
  successor.kill();
  await successor.gone();
  await letTimePass(root, STALE_MS / 1000);
  console.log(`kills (${title}): seed ${seed}`, counts);
  return root;
}

/** Returns the outcome of the last call; null if the process was killed before. */
async function callInTurn(
  engine: KillableEngine,
  steps: readonly EngineStep[],
): Promise<EngineOutcome | null> {
  let outcome: EngineOutcome | null = null;
  for (const step of steps) {
    outcome = await engine.call(step);
    if (outcome === null || !("ok" in outcome)) break;
  }
  return outcome;
}

/** Changes of all kinds, mostly ones that the model accepts. */
class NamespaceChanges implements Workload {
  readonly #drawing: Drawing;
  #model = new Model();
  #change: Change = beginning[0];

  constructor(drawing: Drawing) {
    this.#drawing = drawing;
  }

  get model(): Model {
    return this.#model;
  }

  async begin(root: string): Promise<void> {
    await using ns = new DirectoryNamespace({ root, durability: "none" });
    for (const change of beginning) {
      change.model(this.#model);
      await perform(ns, change);
    }
  }

  async next(ns: DirectoryNamespace, kind: number) {
    // If the model accepts no change of that kind, try a neighbouring kind: creations are next to removals.
    const neighbour = () => kind + changes.length + (this.#drawing.number(1) === 0 ? 1 : -1);
    if (!this.#draw(kind) && !this.#draw(neighbour())) this.#draw(this.#drawing.number(1000));
    const steps: EngineStep[] = [];
    for (const call of this.#change.calls) steps.push(await stepOf(ns, call));
    return { name: this.#change.name, steps };
  }

  #draw(kind: number): boolean {
    const [, arbitrary] = changes[kind % changes.length];
    for (let attempt = 1; attempt <= 40; attempt++) {
      this.#change = this.#drawing.next(arbitrary);
      if (this.#after() !== null) return true;
    }
    return false;
  }

  /** Returns the model after the change, or after a part of it; null if it refuses. */
  #after(change: Change["model"] = this.#change.model): Model | null {
    const after = this.#model.copy();
    return outcomeOf(() => change(after)) === "done" ? after : null;
  }

  recordOutcome(outcome: EngineOutcome): void {
    const wanted = outcomeOf(() => this.#change.model(this.#model));
    expect("ok" in outcome ? "done" : outcome.type, this.#change.name).toBe(wanted);
  }

  async compare(ns: DirectoryNamespace, where: string): Promise<boolean> {
    const seen = await stateOf(ns);
    for (const part of [this.#change.model, this.#change.halfway]) {
      const after = part && this.#after(part);
      if (!after || !isDeepStrictEqual(seen, after.state())) continue;
      this.#model = after;
      return true;
    }
    expect(seen, where).toEqual(this.#model.state());
    return false;
  }
}

it("a namespace keeps all acknowledged changes of killed writers", async () => {
  let workload: NamespaceChanges | undefined;
  const root = await killRepeatedly("namespace", async (directory, drawing) => {
    workload = new NamespaceChanges(drawing);
    await workload.begin(directory);
    return workload;
  });
  for (const [key, { branches }] of Object.entries(workload?.model.state().tables ?? {})) {
    const latest = Object.values(branches.main).pop();
    if (latest === undefined) continue;
    const rows = (await reference.catalogStep(root, "readRows", key.split("$"))) as { v: number }[];
    // The model compares added columns.
    expect(
      rows.map(({ v }) => ({ v })),
      key,
    ).toEqual(latest.rows.map((v) => ({ v })));
  }
});

const id = ["t"];
const rowsOf = (values: readonly number[]) =>
  tableToIPC(new Table({ v: vectorFromArray(values, new Int32()) }));

const CYCLES = [
  ["insertIntoTable"],
  ["insertIntoTable", "optimizeTable"],
  ["insertIntoTable", "insertIntoTable", "optimizeTable", "cleanupTable"],
  ["cleanupTable", "insertIntoTable", "optimizeTable"],
] as const;

/** Appends rows, optimizes and cleans up a table; now and then the reference deletes a row. */
class Upkeep implements Workload {
  readonly #drawing: Drawing;
  readonly #root: string;
  /** By version: rows, if they changed. */
  readonly #history: [version: number, rows: readonly number[]][] = [];
  #inserting: readonly number[] = [];
  #changes = 0;
  #lastRow = 0;
  #compared = 0;

  constructor(root: string, drawing: Drawing) {
    this.#root = root;
    this.#drawing = drawing;
  }

  async begin(): Promise<void> {
    await using ns = new DirectoryNamespace({ root: this.#root, durability: "none" });
    await ns.createTable({ id }, rowsOf([0]));
    this.#history.push([1, [0]]);
  }

  async next(_: DirectoryNamespace, kind: number) {
    this.#inserting = [];
    // A cleanup removes files only after a compaction, and a compaction merges fragments only after
    // insertions.
    const cycle = CYCLES[kind % CYCLES.length];
    const method = cycle[this.#changes++ % cycle.length];
    if (method === "optimizeTable") return { name: method, steps: [[method, { id }] as const] };
    if (method === "cleanupTable") {
      const request = { id, olderThanMs: 0, retainVersions: 1 + this.#drawing.number(2) };
      return { name: `${method}(${request.retainVersions})`, steps: [[method, request] as const] };
    }
    const count = 1 + this.#drawing.number(4);
    this.#inserting = Array.from({ length: count }, () => ++this.#lastRow);
    const step: EngineStep = [method, { id }, rowsOf(this.#inserting)];
    return { name: `${method}(${this.#inserting})`, steps: [step] };
  }

  recordOutcome(outcome: EngineOutcome): void {
    expect(outcome).toHaveProperty("ok");
    if (this.#inserting.length === 0) return;
    const { version } = (outcome as { ok: { version: number } }).ok;
    this.#history.push([version, [...this.rows, ...this.#inserting]]);
  }

  get rows(): readonly number[] {
    return this.#history[this.#history.length - 1][1];
  }

  async compare(ns: DirectoryNamespace, where: string): Promise<boolean> {
    const versions = (await ns.listTableVersions({ id })).versions.map(({ version }) => version);
    const latest = Math.max(...versions);
    expect(await ns.table(id).version(), where).toBe(latest);
    const read = async (version?: number) =>
      valuesOf(await ns.table(id, { version }).scan().toArrow()).sort((a, b) => a - b);
    const after = [...this.rows, ...this.#inserting];
    const done = this.#inserting.length > 0 && isDeepStrictEqual(await read(), after);
    if (done) this.#history.push([latest, after]);
    for (const version of versions) {
      const rows = this.#history.findLast(([since]) => since <= version)?.[1];
      expect(await read(version), `${where}, version ${version}`).toEqual(rows);
    }
    if (++this.#compared % 4 === 0) await this.#deleteRow();
    return done;
  }

  async #deleteRow(): Promise<void> {
    const rows = this.rows;
    const deleted = rows[this.#drawing.number(rows.length - 1)];
    const { version } = await reference.deleteRows(this.#root, "t", `v = ${deleted}`);
    this.#history.push([version, rows.filter((row) => row !== deleted)]);
  }
}

it("a table keeps all acknowledged rows of killed writers and upkeep", async () => {
  let workload: Upkeep | undefined;
  const root = await killRepeatedly("upkeep", async (directory, drawing) => {
    workload = new Upkeep(directory, drawing);
    await workload.begin();
    return workload;
  });
  // Orphans go at once if the caller says that there are no writers.
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.insertIntoTable({ id, mode: "Overwrite" }, rowsOf([-1]));
  await ns.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
  await ns.close();
  expect(await readdir(join(root, "t.lance", "data"))).toHaveLength(1);
});
