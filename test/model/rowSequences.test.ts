/**
 * Sequences of changes of rows and columns against the model, with and without stable row ids, and on
 * branches. Halfway, another engine takes over. After each change the other engine sees every version.
 */

import fc from "fast-check";
import { expect, it } from "vitest";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { makeTempDir } from "../support/tempDir.js";
import { type Change, perform, rowBeginning, rowChanges, rowLines } from "./changes.js";
import { Engines, outcomeOfCall } from "./engines.js";
import { Model, outcomeOf } from "./model.js";
import { stateOf } from "./observed.js";

const RUNS = runsOf("MODEL_SEQUENCES", 12);

const sequence = fc.array(
  fc.constantFrom(...rowLines).chain(([id, branch]) => rowChanges(id, branch)),
  { minLength: 8, maxLength: 16, size: "max" },
);

async function runSequence(changes: readonly Change[]): Promise<void> {
  const engines = new Engines(await makeTempDir(), await makeTempDir());
  const model = new Model();
  const made: string[] = [];
  const make = async (change: Change, by: number) => {
    made.push(change.name);
    const wanted = outcomeOf(() => change.model(model));
    expect(await outcomeOfCall(perform(engines.at(by), change)), made.join("; ")).toBe(wanted);
    expect(await stateOf(engines.at(1 - by)), made.join("; ")).toEqual(model.state());
  };
  try {
    for (const change of rowBeginning) await make(change, 0);
    for (const [index, change] of changes.entries()) await make(change, index < changes.length / 2 ? 0 : 1);
    await engines.reopen();
    expect(await stateOf(engines.at(0)), made.join("; ")).toEqual(model.state());
  } finally {
    await engines.close();
  }
}

it("each change by either engine leaves the state of the model", { timeout: 3_600_000 }, async () => {
  const seed = RUN_SEED;
  console.log(`model, sequences: seed ${seed}, ${RUNS} runs`);
  await fc.assert(fc.asyncProperty(sequence, runSequence), { seed, numRuns: RUNS });
});
