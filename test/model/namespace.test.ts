/**
 * The engine against a model of plain maps. One of two engines makes each change, and the other one must see
 * the state of the model. Rows may be slow, and tables are put back from copies.
 */

import fc from "fast-check";
import { expect, it } from "vitest";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { makeTempDir } from "../support/tempDir.js";
import { beginning, branch, type Change, changes, newId, perform, tableId } from "./changes.js";
import { putBack, takeCopy } from "./copies.js";
import { type Command, command, Engines, outcomeOfCall } from "./engines.js";
import { Model, outcomeOf } from "./model.js";
import { stateOf } from "./observed.js";
import { beginCreation, beginInsert, finishAll, finishOne } from "./slowWrites.js";

const RUNS = runsOf("MODEL_RUNS", 25);
const MAX_COMMANDS = 30;

const step = (change: Change, by: number): Command => {
  const name = `${change.name} by ${by}`;
  return command(name, async (model, engines) => {
    const wanted = outcomeOf(() => change.model(model));
    expect(await outcomeOfCall(perform(engines.at(by), change)), name).toBe(wanted);
    expect(await stateOf(engines.at(1 - by)), name).toEqual(model.state());
  });
};

const reopen = command("reopen", async (model, engines) => {
  await finishAll(model, engines);
  await engines.reopen();
  for (const index of [0, 1]) expect(await stateOf(engines.at(index))).toEqual(model.state());
});

const slowRows = fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 2, maxLength: 4 });

const times = (weight: number, arbitrary: fc.Arbitrary<Command>): fc.Arbitrary<Command>[] =>
  new Array(weight).fill(arbitrary);
const engine = fc.nat(1);
const anyId = fc.oneof(tableId, newId);
const beginInserts = fc.tuple(anyId, branch, slowRows, engine, engine).map((args) => beginInsert(...args));
const beginCreations = fc.tuple(anyId, slowRows, engine).map((args) => beginCreation(...args));
const finishes = fc.tuple(fc.boolean(), engine).map((args) => finishOne(...args));

const commands: fc.Arbitrary<Command>[] = [
  ...changes.flatMap(([weight, change]) => {
    const steps = fc.tuple(change, engine).map((args) => step(...args));
    return times(weight, steps);
  }),
  fc.constant(reopen),
  ...times(5, beginInserts),
  ...times(2, beginCreations),
  ...times(4, finishes),
  ...times(2, tableId.map(takeCopy)),
  ...times(
    2,
    fc.tuple(tableId, engine).map((args) => putBack(...args)),
  ),
];

it("each engine does what the model does", { timeout: 3_600_000 }, async () => {
  const seed = RUN_SEED;
  console.log(`model: seed ${seed}, ${RUNS} runs`);
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: MAX_COMMANDS, size: "max" }), async (steps) => {
      const engines = new Engines(await makeTempDir(), await makeTempDir());
      try {
        const model = new Model();
        for (const change of beginning) {
          change.model(model);
          await perform(engines.at(0), change);
        }
        await fc.asyncModelRun(() => ({ model, real: engines }), steps);
        await finishAll(model, engines);
        expect(await stateOf(engines.at(0))).toEqual(model.state());
      } finally {
        for (const { rows: slow } of engines.slow) slow.release();
        await engines.close();
      }
    }),
    { seed, numRuns: RUNS },
  );
});
