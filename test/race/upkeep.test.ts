/**
 * Compacts and cleans up a table while four processes append to it and read it. No row is lost or read twice,
 * and no version is removed under a reader within the retention.
 */

import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Int32, Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { nextMessage } from "../support/childProcess.js";
import { runsOf } from "../support/effort.js";
import { describe, expect, it } from "../support/fixtures.js";
import { type AppendAndReadJob, type ReadOutcome, ReferenceWorker, reference } from "../support/reference.js";

const CLIENT = fileURLToPath(new URL("../support/processes/upkeepClient.mjs", import.meta.url));
const ROUNDS = runsOf("UPKEEP_ROUNDS", 6);
const RETENTION_MS = 1500;

const id = ["t"];
const rowsOf = (values: readonly number[]) => new Table({ v: vectorFromArray([...values], new Int32()) });
const sorted = (values: Iterable<number>) => [...values].sort((a, b) => a - b);
/** Returns the rows of a process's append, which are unique. */
const rowsIn = (process: number, round: number): number[] =>
  [0, 1, 2].map((row) => 1_000_000 * (process + 1) + 10 * round + row);
const payloadsOf = (process: number): Uint8Array[] =>
  Array.from({ length: ROUNDS }, (_, round) => tableToIPC(rowsOf(rowsIn(process, round))));

type Held = ReadOutcome & { readonly heldMs: number };

/** A process of ours that keeps what it reads until the next pass. */
class Client {
  readonly #process: ChildProcess = fork(CLIENT, { serialization: "advanced", execArgv: [] });
  readonly ready: Promise<unknown>;

  constructor(root: string, process: number) {
    this.ready = nextMessage(this.#process);
    this.#process.send({ root, id, payloads: payloadsOf(process) });
  }

  async work(): Promise<Held[]> {
    const answer = nextMessage(this.#process);
    this.#process.send({ go: true });
    return ((await answer) as { outcomes: Held[] }).outcomes;
  }

  /** Tells the process that the table was compacted and cleaned up once more. */
  pass(): void {
    if (this.#process.connected) this.#process.send({ pass: true }, () => undefined);
  }
}

async function keepUp(root: string, clients: readonly Client[], work: Promise<unknown>) {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  const done = { passes: 0, fragmentsRemoved: 0, versionsRemoved: 0, filesRemoved: 0 };
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  work.then(end, end);
  while (!isDone) {
    const { fragmentsRemoved } = await ns.optimizeTable({ id });
    const { versionsRemoved, filesRemoved } = await ns.cleanupTable({ id, olderThanMs: RETENTION_MS });
    done.passes++;
    done.fragmentsRemoved += fragmentsRemoved;
    done.versionsRemoved += versionsRemoved;
    done.filesRemoved += filesRemoved;
    for (const client of clients) client.pass();
    // Other engines, which ignore our lock, need the time between two of our commits to append.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return done;
}

describe.each([
  { ours: 4, theirs: 0 },
  { ours: 2, theirs: 2 },
])("processes that append and read: $ours of ours, $theirs of theirs", ({ ours, theirs }) => {
  it("lose no row, and no version they read", async ({ root, ns }) => {
    await ns.createTable({ id }, rowsOf([0]));
    for (let row = 1; row < 12; row++) await ns.insertIntoTable({ id }, rowsOf([row]));
    const clients = Array.from({ length: ours }, (_, process) => new Client(root, process));
    const workers = Array.from(
      { length: theirs },
      (_, index) =>
        new ReferenceWorker<AppendAndReadJob>({
          kind: "appendAndRead",
          uri: root,
          name: "t",
          payloads: payloadsOf(ours + index),
        }),
    );
    await Promise.all([...clients, ...workers].map((each) => each.ready));
    const byUs = clients.map((client) => client.work());
    for (const worker of workers) worker.go();
    const byThem = workers.map((worker) => worker.outcomes);
    const work = Promise.all([...byUs, ...byThem]);
    const upkeep = await keepUp(root, clients, work);
    await work;

    let late = 0;
    const check = (outcome: ReadOutcome, process: number, round: number): void => {
      expect(outcome).not.toHaveProperty("error");
      const { values } = outcome as { values: Int32Array };
      expect(new Set(values).size, "rows read twice").toBe(values.length);
      const ownValues = sorted(values).filter((value) => Math.floor(value / 1_000_000) === process + 1);
      const appended = Array.from({ length: round + 1 }, (_, earlier) => rowsIn(process, earlier)).flat();
      expect(ownValues).toEqual(appended);
      expect(sorted(values).slice(0, 12)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    };
    for (const [process, outcomes] of (await Promise.all(byUs)).entries()) {
      expect(outcomes).toHaveLength(ROUNDS);
      for (const [round, outcome] of outcomes.entries()) {
        // A reader that was delayed for longer than the retention may lose its version.
        if ("error" in outcome && outcome.heldMs > RETENTION_MS) {
          expect(outcome.error).toMatch(/^TableVersionNotFound/);
          late++;
        } else {
          check(outcome, process, round);
        }
      }
    }
    for (const [index, outcomes] of (await Promise.all(byThem)).entries()) {
      expect(outcomes).toHaveLength(ROUNDS);
      for (const [round, outcome] of outcomes.entries()) check(outcome, ours + index, round);
    }
    console.info(
      `${upkeep.passes} passes: ${upkeep.fragmentsRemoved} fragments merged, ${upkeep.versionsRemoved} versions and ` +
        `${upkeep.filesRemoved} files removed; ${late} of ${ours * ROUNDS} readers held up for too long`,
    );

    const expected = sorted([
      ...Array.from({ length: 12 }, (_, row) => row),
      ...[...Array(ours + theirs).keys()].flatMap((process) =>
        Array.from({ length: ROUNDS }, (_, round) => rowsIn(process, round)).flat(),
      ),
    ]);
    const valuesOf = (table: Table) => sorted(table.getChild("v")!.toArray() as Int32Array);
    expect(valuesOf(await ns.table(id).scan().toArrow())).toEqual(expected);
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t")))).toEqual(expected);
    expect(upkeep.fragmentsRemoved).toBeGreaterThan(ROUNDS);

    // Only what the last version needs remains.
    await ns.optimizeTable({ id });
    await ns.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
    expect(await ns.getTableStats({ id })).toMatchObject({ numRows: expected.length });
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t")))).toEqual(expected);
  });
});
