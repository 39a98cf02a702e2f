/**
 * Writes with slow rows: one command begins such a write, a later one releases its rows. Changes in between
 * may make it fail, but acknowledged rows must be in the table that the write targeted. An undisturbed write
 * must succeed.
 */

import type fc from "fast-check";
import { expect } from "vitest";
import { onMain } from "./changes.js";
import { type Engines, outcomeOfCall, type SlowWrite } from "./engines.js";
import { isStableAt, type Model, type ModelTarget, outcomeOf } from "./model.js";
import { stateOf } from "./observed.js";
import { SlowRows } from "./slowRows.js";

type Command = fc.AsyncCommand<Model, Engines>;

/** Maximum writes in flight. */
const MAX_SLOW = 3;
/** Error types that may refuse a write whose table was changed. */
const DISTURBED = ["ConcurrentModification", "TableNotFound", "TableBranchNotFound"];

export class BeginInsert implements Command {
  readonly #id: readonly string[];
  readonly #branch: string;
  readonly #values: readonly number[];
  readonly #slowIndex: number;
  readonly #by: number;

  constructor(
    id: readonly string[],
    branch: string,
    values: readonly number[],
    slowIndex: number,
    by: number,
  ) {
    this.#id = id;
    this.#branch = branch;
    this.#values = values;
    this.#slowIndex = slowIndex;
    this.#by = by;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, engines: Engines): Promise<void> {
    if (engines.slow.length >= MAX_SLOW) return;
    let target: ModelTarget | null = null;
    const wanted = outcomeOf(() => {
      target = model.target(this.#id, this.#branch);
    });
    const rows = new SlowRows(this.#values, this.#slowIndex);
    const request = { id: this.#id, branch: onMain(this.#branch) };
    const outcome = outcomeOfCall(engines.at(this.#by).insertIntoTable(request, rows));
    if (target === null) {
      // A server that answers while a client still sends closes the connection, and the answer may be lost.
      rows.release();
      expect(await outcome, this.toString()).toBe(wanted);
      return;
    }
    await begun(rows, outcome, this.toString());
    const what = { kind: "insert", values: this.#values, target } as const;
    engines.slow.push({ name: this.toString(), rows, outcome, what });
  }

  toString(): string {
    return `beginInsert(${this.#id}, ${this.#branch}, [${this.#values}], batch ${this.#slowIndex}) by ${this.#by}`;
  }
}

export class BeginCreation implements Command {
  readonly #id: readonly string[];
  readonly #values: readonly number[];
  readonly #by: number;

  constructor(id: readonly string[], values: readonly number[], by: number) {
    this.#id = id;
    this.#values = values;
    this.#by = by;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, engines: Engines): Promise<void> {
    if (engines.slow.length >= MAX_SLOW) return;
    const wanted = outcomeOf(() => model.copy().createTable(this.#id, "Create", []));
    // No row may be written before another command: a directory under construction would block renames.
    const rows = new SlowRows(this.#values, 0);
    const outcome = outcomeOfCall(
      engines.at(this.#by).createTable({ id: this.#id, stableRowIds: isStableAt(this.#id) }, rows),
    );
    if (wanted !== "done") {
      rows.release();
      expect(await outcome, this.toString()).toBe(wanted);
      return;
    }
    await begun(rows, outcome, this.toString());
    const what = { kind: "create", values: this.#values, id: this.#id } as const;
    engines.slow.push({ name: this.toString(), rows, outcome, what });
  }

  toString(): string {
    return `beginCreation(${this.#id}, [${this.#values}]) by ${this.#by}`;
  }
}

async function begun(rows: SlowRows, outcome: Promise<string>, name: string): Promise<void> {
  const early = await Promise.race([rows.asked, outcome]);
  expect(early, `${name} has ended before its rows came`).toBeUndefined();
}

/** Releases the rows of the oldest write, or of the latest. */
export class Finish implements Command {
  readonly #isOldest: boolean;
  readonly #lookingAt: number;

  constructor(isOldest: boolean, lookingAt: number) {
    this.#isOldest = isOldest;
    this.#lookingAt = lookingAt;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, engines: Engines): Promise<void> {
    const write = this.#isOldest ? engines.slow.shift() : engines.slow.pop();
    if (write === undefined) return;
    await finish(write, model);
    expect(await stateOf(engines.at(this.#lookingAt)), write.name).toEqual(model.state());
  }

  toString(): string {
    return `finish(${this.#isOldest ? "oldest" : "youngest"})`;
  }
}

/** Releases all remaining rows. */
export async function finishAll(model: Model, engines: Engines): Promise<void> {
  for (const write of engines.slow.splice(0)) await finish(write, model);
}

async function finish({ name, rows, outcome, what }: SlowWrite, model: Model): Promise<void> {
  rows.release();
  const got = await outcome;
  if (what.kind === "insert") {
    const { target, values } = what;
    if (model.isCalm(target)) expect(got, name).toBe("done");
    else if (got !== "done") expect(DISTURBED, name).toContain(got);
    if (got === "done")
      expect(
        outcomeOf(() => model.insertInto(target, values)),
        name,
      ).toBe("done");
    return;
  }
  const wanted = outcomeOf(() => model.copy().createTable(what.id, "Create", []));
  // A table that was only declared may become one meanwhile, or block the write.
  const isTaken = model.save(what.id) !== null;
  const allowed = [wanted, "ConcurrentModification", ...(isTaken ? ["TableAlreadyExists"] : [])];
  expect(allowed, name).toContain(got);
  if (got === "done") model.createTable(what.id, "Create", what.values);
}
