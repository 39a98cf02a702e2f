/** Many processes on the refs of one table: one of them wins, and what is registered is whole. */

import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { type EngineOutcome, type EngineStep, raceEngines } from "../support/engineWorker.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const PROCESSES = 6;
const id = ["t"];
const rowsOf = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });
const valuesOf = (table: Table) => Array.from(table.getChild("v") ?? [], Number);
const typesOf = (outcomes: readonly EngineOutcome[]) =>
  outcomes.map((outcome) => ("ok" in outcome ? "ok" : outcome.type)).sort();

async function makeTable(): Promise<{ root: string; ns: DirectoryNamespace }> {
  const root = await makeTempDir();
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1));
  await ns.insertIntoTable({ id }, rowsOf(2));
  return { root, ns };
}

const race = (root: string, stepsOf: (process: number) => EngineStep[]) =>
  raceEngines(Array.from({ length: PROCESSES }, (_, process) => ({ root, steps: stepsOf(process) })));

it("each name is made and deleted by one of them", async () => {
  const { root, ns } = await makeTable();
  const names = ["b", "nested/deep/er", "nested/other"];
  const made = await race(root, (process) => [
    ...names.map((name): EngineStep => ["createTableBranch", { id, name, fromVersion: 1 + (process % 2) }]),
    ["createTableTag", { id, tag: "v", version: 1 + (process % 2) }],
  ]);
  const losers = (type: string) => [...Array(PROCESSES - 1).fill(type), "ok"].sort();
  for (const [index, name] of names.entries()) {
    expect(typesOf(made.map((steps) => steps[index])), name).toEqual(losers("TableBranchAlreadyExists"));
    const winner = made.findIndex((steps) => "ok" in steps[index]);
    const { parentVersion } = (await ns.listTableBranches({ id })).branches[name];
    expect(parentVersion).toBe(1 + (winner % 2));
    const rows = valuesOf(await ns.table(id, { branch: name }).scan().toArrow());
    expect(rows).toEqual([1, 2].slice(0, parentVersion));
    expect(await reference.countRows(root, "t", undefined, { branch: name })).toBe(parentVersion);
  }
  expect(typesOf(made.map((steps) => steps[3]))).toEqual(losers("TableTagAlreadyExists"));

  const gone = await race(root, () => [
    ...names.map((name): EngineStep => ["deleteTableBranch", { id, name }]),
    ["deleteTableTag", { id, tag: "v" }],
  ]);
  for (const index of names.keys()) {
    expect(typesOf(gone.map((steps) => steps[index]))).toEqual(losers("TableBranchNotFound"));
  }
  expect(typesOf(gone.map((steps) => steps[3]))).toEqual(losers("TableTagNotFound"));
  expect(await ns.listTableBranches({ id })).toEqual({ branches: {} });
  expect(await reference.listTags(root, "t")).toEqual({});
  await ns.close();
});

it("branches come and go around each other's directories while rows are added", async () => {
  const { root, ns } = await makeTable();
  await ns.createTableBranch({ id, name: "n" });
  const nameOf = (process: number) => (process % 2 === 0 ? `n/${process}` : `n/a/${process}`);
  const ROUNDS = 6;
  const outcomes = await race(root, (process) => {
    const name = nameOf(process);
    const rows = tableToIPC(rowsOf(10 + process));
    const round: EngineStep[] = [
      ["createTableBranch", { id, name, fromBranch: "n", fromVersion: 2 }],
      ["insertIntoTable", { id, branch: name }, rows],
      ["insertIntoTable", { id, branch: "n" }, rows],
      ["createTableTag", { id, tag: `v${process}`, version: 2, branch: name }],
      ["deleteTableBranch", { id, name }],
      ["deleteTableTag", { id, tag: `v${process}` }],
      ["deleteTableBranch", { id, name }],
    ];
    return Array.from({ length: ROUNDS }, () => round).flat();
  });
  for (const steps of outcomes) {
    // Only deleting what a tag refers to is refused.
    expect(steps.map((outcome) => ("ok" in outcome ? "ok" : outcome.type))).toEqual(
      Array(ROUNDS).fill(["ok", "ok", "ok", "ok", "InvalidInput", "ok", "ok"]).flat(),
    );
  }
  expect(Object.keys((await ns.listTableBranches({ id })).branches)).toEqual(["n"]);
  const expected = [1, 2, ...outcomes.flatMap((_, process) => Array(ROUNDS).fill(10 + process))];
  const rows = valuesOf(await ns.table(id, { branch: "n" }).scan().toArrow());
  expect(rows.sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b));
  expect(await reference.countRows(root, "t", undefined, { branch: "n" })).toBe(expected.length);
  await ns.close();
});
