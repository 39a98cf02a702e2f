/**
 * Several processes change rows of one table. Every row has a counter that updates increment, and a trail of
 * its changes. The outcome must equal that of some order of the acknowledged changes.
 *
 * The reference ignores rows that arrive after its change has begun, so these are exempt. `npm run soak` runs
 * for a minute.
 */

import { Int32, Table, tableFromIPC, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { Drawing } from "../support/drawing.js";
import { RUN_SEED } from "../support/effort.js";
import { type EngineStep, raceEngines } from "../support/engineWorker.js";
import { type ChangeJob, ReferenceWorker, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { contradictions, type TaggedChange } from "./serialOrder.js";

const OURS = 4;
const THEIRS = 2;
const DURATION_MS = Number(process.env.RACE_MS ?? 3000);
/** Number of changes of each process, more than it can make in the time. */
const CHANGES = Math.ceil(DURATION_MS / 20);
const ROWS = 60;
/** Number of ids that any row ever has. */
const IDS = 80;
const BEGINNING = "beginning";

const rowsOf = (ids: readonly number[], tag: string): Uint8Array =>
  tableToIPC(
    new Table({
      id: vectorFromArray(ids, new Int32()),
      n: vectorFromArray(
        ids.map(() => 0),
        new Int32(),
      ),
      trail: vectorFromArray(
        ids.map(() => tag),
        new Utf8(),
      ),
    }),
  );

const rangeOf = (from: number, length: number): number[] =>
  Array.from({ length: Math.min(length, IDS - from) }, (_, index) => from + index);

function drawChange(drawing: Drawing, tag: string): TaggedChange {
  const drawn = drawing.number(99);
  const from = drawing.number(IDS - 1);
  const length = 1 + drawing.number(14);
  if (drawn < 50) return { tag, kind: "update", ids: rangeOf(from, length) };
  if (drawn < 70) return { tag, kind: "upsert", ids: rangeOf(from, Math.ceil(length / 3)) };
  if (drawn < 85) return { tag, kind: "append", ids: rangeOf(from, Math.ceil(length / 5)) };
  return { tag, kind: "delete", ids: rangeOf(from, Math.ceil(length / 7)) };
}

const conditionOf = ({ ids }: TaggedChange) => `id >= ${ids[0]} AND id <= ${ids[ids.length - 1]}`;
const trailOf = ({ tag }: TaggedChange) => `trail || ' ${tag}'`;

function stepOf(change: TaggedChange): EngineStep {
  const id = ["t"];
  switch (change.kind) {
    case "append":
      return ["insertIntoTable", { id }, rowsOf(change.ids, change.tag)];
    case "upsert": {
      const upsert = { id, on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
      return ["mergeInsertIntoTable", upsert, rowsOf(change.ids, change.tag)];
    }
    case "update": {
      const updates = [
        ["n", "n + 1"],
        ["trail", trailOf(change)],
      ];
      return ["updateTable", { id, predicate: conditionOf(change), updates }];
    }
    case "delete":
      return ["deleteFromTable", { id, predicate: conditionOf(change) }];
  }
}

function theirStepOf(change: TaggedChange): ChangeJob["changes"][number] {
  switch (change.kind) {
    case "append":
      return { rows: rowsOf(change.ids, change.tag) };
    case "upsert":
      return { rows: rowsOf(change.ids, change.tag), on: ["id"] };
    case "update":
      return { set: { n: "n + 1", trail: trailOf(change) }, where: conditionOf(change) };
    case "delete":
      return { predicate: conditionOf(change) };
  }
}

it.each([false, true])("concurrent changes lose none, with stable row ids: %s", async (stableRowIds) => {
  const root = await makeTempDir();
  const ids = rangeOf(0, ROWS);
  await reference.createTable(root, "t", rowsOf(ids.slice(0, 20), BEGINNING), { stableRowIds });
  await reference.appendTable(root, "t", rowsOf(ids.slice(20, 40), BEGINNING));
  await reference.appendTable(root, "t", rowsOf(ids.slice(40), BEGINNING));
  const seed = RUN_SEED;
  const drawing = new Drawing(seed);
  const plans = Array.from({ length: OURS + THEIRS }, (_, process) =>
    Array.from({ length: CHANGES }, (_, index) => drawChange(drawing, `${process}.${index}`)),
  );
  const workers = plans.slice(OURS).map(
    (changes) =>
      new ReferenceWorker<ChangeJob>({
        kind: "changeRows",
        uri: root,
        name: "t",
        changes: changes.map(theirStepOf),
        durationMs: DURATION_MS,
      }),
  );
  await Promise.all(workers.map((worker) => worker.ready));
  const ours = await raceEngines(
    plans.slice(0, OURS).map((changes) => ({ root, steps: changes.map(stepOf), durationMs: DURATION_MS })),
    () => {
      for (const worker of workers) worker.go();
    },
  );
  const outcomes = [...ours, ...(await Promise.all(workers.map((worker) => worker.outcomes)))];

  const made: TaggedChange[] = [{ tag: BEGINNING, kind: "append", ids }];
  const versions = new Set<number>();
  const counts = outcomes.map((each, process) => {
    let acknowledged = 0;
    for (const [index, outcome] of each.entries()) {
      if ("type" in outcome) expect(outcome.type, outcome.message).toBe("ConcurrentModification");
      if ("type" in outcome || "error" in outcome) continue;
      acknowledged++;
      made.push({ ...plans[process][index], missesNewRows: process >= OURS });
      const { version } = "ok" in outcome ? (outcome.ok as { version?: number }) : outcome;
      // A change without effect makes no version.
      if (version !== undefined) versions.add(version);
    }
    return `${acknowledged} of ${each.length}`;
  });
  console.log(`row changes: seed ${seed}, acknowledged ${counts.join(", ")}; ${versions.size} versions`);

  await using ns = new DirectoryNamespace({ root, durability: "none" });
  const read = [await ns.table("t").scan().toArrow(), tableFromIPC(await reference.readTable(root, "t"))];
  for (const rows of read) {
    const trails = rows.toArray().map(({ id, n, trail }) => {
      const tags = (trail as string).split(" ");
      expect(n, `seed ${seed}, row ${id}: ${trail}`).toBe(tags.length - 1);
      return { id: id as number, trail: tags };
    });
    expect(contradictions(made, BEGINNING, trails), `seed ${seed}`).toEqual([]);
  }
});
