/**
 * Writes with slow rows: one command begins such a write, and a later one releases its rows. An undisturbed
 * write must succeed, and acknowledged rows must be in the table of the write.
 */

import { expect } from "vitest";
import { onMain } from "./changes.js";
import { type Command, command, type Engines, outcomeOfCall, type SlowWrite } from "./engines.js";
import { isStableAt, type Model, type ModelTarget, outcomeOf } from "./model.js";
import { stateOf } from "./observed.js";
import { SlowRows } from "./slowRows.js";

const MAX_SLOW = 3;
/** Error types that may refuse a write whose table was changed. */
const DISTURBED = ["ConcurrentModification", "TableNotFound", "TableBranchNotFound"];

export const beginInsert = (
  id: readonly string[],
  branch: string,
  values: readonly number[],
  slowIndex: number,
  by: number,
): Command => {
  const name = `beginInsert(${id}, ${branch}, [${values}], batch ${slowIndex}) by ${by}`;
  return command(name, async (model, engines) => {
    if (engines.slow.length >= MAX_SLOW) return;
    let target: ModelTarget | null = null;
    const wanted = outcomeOf(() => {
      target = model.target(id, branch);
    });
    const rows = new SlowRows(values, slowIndex);
    const outcome = outcomeOfCall(engines.at(by).insertIntoTable({ id, branch: onMain(branch) }, rows));
    if (target === null) return expectRefused(rows, outcome, wanted, name);
    await begun(rows, outcome, name);
    engines.slow.push({ name, rows, outcome, what: { kind: "insert", values, target } });
  });
};

export const beginCreation = (id: readonly string[], values: readonly number[], by: number): Command => {
  const name = `beginCreation(${id}, [${values}]) by ${by}`;
  return command(name, async (model, engines) => {
    if (engines.slow.length >= MAX_SLOW) return;
    const wanted = outcomeOf(() => model.copy().createTable(id, "Create", []));
    // No row may be written before another command: a directory under construction would block renames.
    const rows = new SlowRows(values, 0);
    const request = { id, stableRowIds: isStableAt(id) };
    const outcome = outcomeOfCall(engines.at(by).createTable(request, rows));
    if (wanted !== "done") return expectRefused(rows, outcome, wanted, name);
    await begun(rows, outcome, name);
    engines.slow.push({ name, rows, outcome, what: { kind: "create", values, id } });
  });
};

async function expectRefused(
  rows: SlowRows,
  outcome: Promise<string>,
  wanted: string,
  name: string,
): Promise<void> {
  // A server that answers while a client still sends closes the connection, and the answer may be lost.
  rows.release();
  expect(await outcome, name).toBe(wanted);
}

async function begun(rows: SlowRows, outcome: Promise<string>, name: string): Promise<void> {
  const early = await Promise.race([rows.asked, outcome]);
  expect(early, `${name} has ended before its rows came`).toBeUndefined();
}

/** Releases the rows of the oldest write, or of the latest. */
export const finishOne = (isOldest: boolean, lookingAt: number): Command =>
  command(`finish(${isOldest ? "oldest" : "youngest"})`, async (model, engines) => {
    const write = isOldest ? engines.slow.shift() : engines.slow.pop();
    if (write === undefined) return;
    await finish(write, model);
    expect(await stateOf(engines.at(lookingAt)), write.name).toEqual(model.state());
  });

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
