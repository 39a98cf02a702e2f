/**
 * The engine against a model of plain maps: after every change, made by one of two engines on one directory, the other
 * one sees what the model says, or the change was refused with the error the model says and changed nothing. Now and
 * then both engines are opened anew.
 */

import fc from "fast-check";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";
import { beginning, type Change, changes, perform } from "./changes.js";
import { Model, outcomeOf } from "./model.js";
import { stateOf } from "./observed.js";

const RUNS = Number(process.env.MODEL_RUNS ?? 50);
const MAX_COMMANDS = 30;

/** Two engines on one directory. */
class Engines {
  readonly #root: string;
  readonly #engines: DirectoryNamespace[] = [];

  constructor(root: string) {
    this.#root = root;
    this.#open();
  }

  #open(): void {
    for (const index of [0, 1]) {
      this.#engines[index] = new DirectoryNamespace({ root: this.#root, durability: "none" });
    }
  }

  at(index: number): DirectoryNamespace {
    return this.#engines[index];
  }

  async reopen(): Promise<void> {
    await this.close();
    this.#open();
  }

  async close(): Promise<void> {
    for (const engine of this.#engines) await engine.close();
  }
}

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
    const got = await perform(engines.at(this.#by), this.#change.call).then(
      () => "done",
      (error: unknown) => {
        if (!(error instanceof NamespaceError)) throw error;
        return error.type;
      },
    );
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
    await engines.reopen();
    for (const index of [0, 1]) expect(await stateOf(engines.at(index))).toEqual(model.state());
  }
  toString(): string {
    return "reopen";
  }
}

// -------------------------------------------------------------------------------------------- arbitraries

const commands = [
  ...changes.flatMap(([weight, change]) =>
    new Array(weight).fill(fc.tuple(change, fc.nat(1)).map(([each, by]) => new Step(each, by))),
  ),
  fc.constant(new Reopen()),
];

it("does what the model does, whichever engine is asked", { timeout: 3_600_000 }, async () => {
  const seed = Number(process.env.FC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
  console.log(`model: seed ${seed}, ${RUNS} runs`);
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: MAX_COMMANDS, size: "max" }), async (steps) => {
      const engines = new Engines(await makeTempDir());
      try {
        const model = new Model();
        for (const change of beginning) {
          change.model(model);
          await perform(engines.at(0), change.call);
        }
        await fc.asyncModelRun(() => ({ model, real: engines }), steps);
      } finally {
        await engines.close();
      }
    }),
    { seed, numRuns: RUNS },
  );
});
