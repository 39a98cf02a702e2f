/**
 * Interrupts sequences of changes of rows and columns by a failing disk call, the process's death or a power
 * cut. A new engine sees every version as before or after the change, and continues from there.
 */

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { type Change, perform, rowBeginning, rowChanges, rowLines } from "../model/changes.js";
import { Model, outcomeOf } from "../model/model.js";
import { stateOf } from "../model/observed.js";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { type FaultMode, faultyDisk } from "../support/faultyDisk.js";
import { makeTempDir } from "../support/tempDir.js";

const RUNS = runsOf("CRASH_SEQUENCES", 12);
/** Calls of a change that may fail: longer changes are always interrupted, shorter ones sometimes. */
const MAX_CALLS = 120;

interface Fault {
  readonly call: number;
  readonly mode: FaultMode;
  readonly dead: boolean;
  readonly powerCut: boolean;
}

const way = fc.constantFrom<Omit<Fault, "call">>(
  { mode: "before", dead: false, powerCut: false },
  { mode: "after", dead: false, powerCut: false },
  { mode: "short", dead: false, powerCut: false },
  { mode: "short", dead: true, powerCut: false },
  { mode: "before", dead: true, powerCut: true },
  { mode: "after", dead: true, powerCut: true },
);
const fault: fc.Arbitrary<Fault> = fc.tuple(fc.nat(MAX_CALLS), way).map(([call, how]) => ({ call, ...how }));
const sequence = fc.array(
  fc.tuple(
    fc.constantFrom(...rowLines).chain(([id, branch]) => rowChanges(id, branch)),
    fault,
  ),
  { minLength: 6, maxLength: 14, size: "max" },
);

/** Counts of interrupted changes that were undone or done, and of acknowledged ones. */
const seen = { before: 0, after: 0, acknowledged: 0 };

/** Returns the model of the state that an interrupted change left. */
async function matchingModel(root: string, models: readonly Model[], where: string): Promise<Model> {
  await using reader = new DirectoryNamespace({ root, durability: "none" });
  const state = await stateOf(reader);
  const match = models.find((model) => isDeepStrictEqual(model.state(), state));
  if (match === undefined) {
    expect(state, where).toEqual(models[0].state());
    throw new Error(`${where}: equal, and yet not`);
  }
  return match;
}

async function makeCutShort(root: string, model: Model, change: Change, fault: Fault, where: string) {
  const [before, after, halfway] = [model, model.copy(), model.copy()];
  const wanted = outcomeOf(() => change.model(after));
  outcomeOf(() => change.halfway?.(halfway));
  const disk = faultyDisk(new NodeDisk({ durability: "none" }), { root });
  disk.failAt(fault.call, fault.mode, fault);
  const writer = new DirectoryNamespace({ root, disk });
  let outcome = "done";
  try {
    await perform(writer, change);
  } catch (error) {
    expect(error, `${where}: ${error}`).toBeInstanceOf(NamespaceError);
    outcome = (error as NamespaceError).type;
  }
  const { tripped } = disk;
  await writer.close().catch((error) => {
    if (!tripped) throw error;
  });
  await disk.restart();
  if (fault.powerCut) await disk.loseUnsynced();
  await disk.dispose();
  if (!tripped || outcome === "done") expect(outcome, where).toBe(wanted);
  // If states are equal, the first one, which was acknowledged, wins.
  const possible = outcome === "done" ? [after] : wanted === "done" ? [after, halfway, before] : [before];
  const current = await matchingModel(root, possible, where);
  if (outcome === "done") seen.acknowledged++;
  else if (wanted === "done") seen[current === after ? "after" : "before"]++;
  return current;
}

it("tables are whole after each interrupted change, and take the next one", {
  timeout: 3_600_000,
}, async () => {
  const seed = RUN_SEED;
  await fc.assert(
    fc.asyncProperty(sequence, async (changes) => {
      const root = await makeTempDir();
      let model = new Model();
      const beginning = new DirectoryNamespace({ root, durability: "none" });
      for (const change of rowBeginning) {
        change.model(model);
        await perform(beginning, change);
      }
      await beginning.close();
      const made: string[] = [];
      for (const [change, fault] of changes) {
        made.push(`${change.name} with ${JSON.stringify(fault)}`);
        model = await makeCutShort(root, model, change, fault, `seed ${seed}: ${made.join("; ")}`);
      }
    }),
    { seed, numRuns: RUNS },
  );
  console.log(`crashes in sequences: seed ${seed}, ${RUNS} runs`, seen);
  expect(seen.acknowledged).toBeGreaterThan(0);
  expect(seen.before + seen.after).toBeGreaterThan(0);
});
