/**
 * The engine against a model of plain maps. One of two engines makes each change, and the other one must see
 * the state of the model. A refused change must give the model's error and change nothing. Rows may be slow,
 * and tables are put back from copies. Now and then both engines are reopened.
 */

import fc from "fast-check";
import { expect, it } from "vitest";
import { runsOf } from "../support/effort.js";
import { makeTempDir } from "../support/tempDir.js";
import { beginning, branch, type Change, changes, newId, perform, tableId } from "./changes.js";
import { PutBack, TakeCopy } from "./copies.js";
import { Engines, outcomeOfCall } from "./engines.js";
import { Model, outcomeOf } from "./model.js";
import { stateOf } from "./observed.js";
import { BeginCreation, BeginInsert, Finish, finishAll } from "./slowWrites.js";

const RUNS = runsOf("MODEL_RUNS", 25);
const MAX_COMMANDS = 30;

class Step implements fc.AsyncCommand<Model, Engines> {
  readonly #change: Change;
  readonly #by: number;

  constructor(change: Change, by: number) {
    this.#change = change;
    this.#by = by;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, engines: Engines): Promise<void> {
    const wanted = outcomeOf(() => this.#change.model(model));
    const got = await outcomeOfCall(perform(engines.at(this.#by), this.#change));
    expect(got, this.toString()).toBe(wanted);
    expect(await stateOf(engines.at(1 - this.#by)), this.toString()).toEqual(model.state());
  }

  toString(): string {
    return `${this.#change.name} by ${this.#by}`;
  }
}

class Reopen implements fc.AsyncCommand<Model, Engines> {
  check(): boolean {
    return true;
  }
  async run(model: Model, engines: Engines): Promise<void> {
    await finishAll(model, engines);
    await engines.reopen();
    for (const index of [0, 1]) expect(await stateOf(engines.at(index))).toEqual(model.state());
  }
  toString(): string {
    return "reopen";
  }
}

// -------------------------------------------------------------------------------------------- arbitraries

/** Values of two batches. */
const slowRows = fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 2, maxLength: 4 });

const times = <T>(weight: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T>[] =>
  new Array(weight).fill(arbitrary);

const commands: fc.Arbitrary<fc.AsyncCommand<Model, Engines>>[] = [
  ...changes.flatMap(([weight, change]) =>
    times(
      weight,
      fc.tuple(change, fc.nat(1)).map(([each, by]) => new Step(each, by)),
    ),
  ),
  fc.constant(new Reopen()),
  ...times(
    5,
    fc
      .tuple(fc.oneof(tableId, newId), branch, slowRows, fc.nat(1), fc.nat(1))
      .map((args) => new BeginInsert(...args)),
  ),
  ...times(
    2,
    fc.tuple(fc.oneof(tableId, newId), slowRows, fc.nat(1)).map((args) => new BeginCreation(...args)),
  ),
  ...times(
    4,
    fc.tuple(fc.boolean(), fc.nat(1)).map((args) => new Finish(...args)),
  ),
  ...times(
    2,
    tableId.map((id) => new TakeCopy(id)),
  ),
  ...times(
    2,
    fc.tuple(tableId, fc.nat(1)).map((args) => new PutBack(...args)),
  ),
];

it("each engine does what the model does", { timeout: 3_600_000 }, async () => {
  const seed = Number(process.env.FC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
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
