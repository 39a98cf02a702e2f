/**
 * Several processes of ours and the reference change rows of one table at once. Every row carries a counter that updates
 * increment: none that was acknowledged is lost or made twice, and none that was refused has had an effect.
 */

import { Int32, Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { Drawing } from "../support/drawing.js";
import { runsOf } from "../support/effort.js";
import { type EngineStep, raceEngines } from "../support/engineWorker.js";
import { ReferenceWorker, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const OURS = 4;
const THEIRS = 2;
/** Of each process. */
const CHANGES = runsOf("RACE_CHANGES", 12);
const ROWS = 60;

const rowsOf = (ids: readonly number[]): Uint8Array =>
  tableToIPC(
    new Table({
      id: vectorFromArray(ids, new Int32()),
      n: vectorFromArray(
        ids.map(() => 0),
        new Int32(),
      ),
    }),
  );

/** Rows of a statement: an increment of a range, or the deletion of one row. */
interface Change {
  readonly from: number;
  /** One past the last. */
  readonly to: number;
  readonly deletes: boolean;
}

const conditionOf = ({ from, to }: Change) => `id >= ${from} AND id < ${to}`;

it.each([false, true])("lose no update, with stable row ids: %s", async (stableRowIds) => {
  const root = await makeTempDir();
  const ids = Array.from({ length: ROWS }, (_, id) => id);
  await reference.createTable(root, "t", rowsOf(ids.slice(0, 20)), { stableRowIds });
  await reference.appendTable(root, "t", rowsOf(ids.slice(20, 40)));
  await reference.appendTable(root, "t", rowsOf(ids.slice(40)));
  const drawing = new Drawing(5);
  const changesOf = (process: number): Change[] =>
    Array.from({ length: CHANGES }, (_, index) => {
      // Every process deletes rows of its own, so that it is known which rows go.
      if (index % 4 === 3) {
        const id = (process * CHANGES + index) % ROWS;
        return { from: id, to: id + 1, deletes: true };
      }
      const from = drawing.number(ROWS - 1);
      return { from, to: from + 1 + drawing.number(14), deletes: false };
    });
  const plans = Array.from({ length: OURS + THEIRS }, (_, process) => changesOf(process));
  const workers = plans.slice(OURS).map(
    (changes) =>
      new ReferenceWorker({
        kind: "changeRows",
        uri: root,
        name: "t",
        changes: changes.map((change) =>
          change.deletes
            ? { predicate: conditionOf(change) }
            : { set: { n: "n + 1" }, where: conditionOf(change) },
        ),
      }),
  );
  await Promise.all(workers.map((worker) => worker.ready));
  for (const worker of workers) worker.go();
  const ours = await raceEngines(
    plans.slice(0, OURS).map((changes) => ({
      root,
      steps: changes.map(
        (change): EngineStep =>
          change.deletes
            ? ["deleteFromTable", { id: ["t"], predicate: conditionOf(change) }]
            : ["updateTable", { id: ["t"], predicate: conditionOf(change), updates: [["n", "n + 1"]] }],
      ),
    })),
  );
  const theirs = await Promise.all(workers.map((worker) => worker.outcomes));
  /** The acknowledged changes by the versions that they made: the serial order. */
  const made = new Map<number, Change>();
  for (const [process, outcomes] of [...ours, ...theirs].entries()) {
    for (const [index, outcome] of outcomes.entries()) {
      if ("type" in outcome) expect(outcome.type, outcome.message).toBe("ConcurrentModification");
      const version = "ok" in outcome ? (outcome.ok as { version: number }).version : undefined;
      const committed = version ?? ("version" in outcome ? outcome.version : null);
      if (committed === null) continue;
      expect(made.has(committed)).toBe(false);
      made.set(committed, plans[process][index]);
    }
  }
  expect(made.size).toBeGreaterThan(((OURS + THEIRS) * CHANGES) / 2);
  const counters = new Map(ids.map((id) => [id, 0]));
  for (const [, { from, to, deletes }] of [...made].sort(([a], [b]) => a - b)) {
    for (const id of [...counters.keys()].filter((each) => each >= from && each < to)) {
      if (deletes) counters.delete(id);
      else counters.set(id, (counters.get(id) ?? 0) + 1);
    }
  }
  const ns = new DirectoryNamespace({ root, durability: "none" });
  expect(await ns.table("t").version()).toBe(3 + made.size);
  const read = [await ns.table("t").scan().toArrow(), tableFromIPC(await reference.readTable(root, "t"))];
  for (const rows of read) {
    const found = rows.toArray().map(({ id, n }) => [id, n] as const);
    expect(new Map(found.sort(([a], [b]) => a - b))).toEqual(counters);
    expect(found.length).toBe(counters.size);
  }
  await ns.close();
}, 120_000);
