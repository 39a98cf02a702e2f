/** Runs many processes on the refs of one table: one of them wins, and the ref is whole. */

import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { type EngineOutcome, type EngineStep, raceEngines } from "../support/engineWorker.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const PROCESSES = 6;
const id = ["t"];
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

it("one process makes and deletes each name", async () => {
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
    // Deleting is refused only while a tag refers to the branch.
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

it("versions are deleted around the tags and branches that need them, while rows are added", async () => {
  const { root, ns } = await makeTable();
  const VERSIONS = 14;
  for (let version = 3; version <= VERSIONS; version++) await ns.insertIntoTable({ id }, rowsOf(version));
  const numbers = Array.from({ length: VERSIONS - 1 }, (_, index) => index + 1);
  const outcomes = await race(root, (process) =>
    numbers.map((version): EngineStep => {
      // Half of the processes go in the other direction, so that they meet.
      const index = process < 3 ? version : VERSIONS - version;
      if (process === 0) return ["createTableTag", { id, tag: `v${index}`, version: index }];
      if (process === 3) return ["createTableBranch", { id, name: `b/${index}`, fromVersion: index }];
      if (process === 5) return ["insertIntoTable", { id }, tableToIPC(rowsOf(100))];
      const ranges = [{ startVersion: index, endVersion: index + 2 }];
      if (process === 1) return ["batchDeleteTableVersions", { id, ranges }];
      return ["batchCommitTables", { operations: [{ deleteTableVersions: { id, ranges } }] }];
    }),
  );
  const typesAt = (process: number) => new Set(typesOf(outcomes[process]));
  for (const process of [0, 3]) {
    for (const type of typesAt(process)) expect(["ok", "TableVersionNotFound"]).toContain(type);
  }
  for (const process of [1, 2, 4])
    for (const type of typesAt(process)) expect(["ok", "InvalidInput"]).toContain(type);
  expect(typesAt(5)).toEqual(new Set(["ok"]));

  const left = (await ns.listTableVersions({ id })).versions.map(({ version }) => version);
  expect(left.at(-1)).toBe(VERSIONS + numbers.length);
  const { tags } = await ns.listTableTags({ id });
  const { branches } = await ns.listTableBranches({ id });
  const needed = [
    ...Object.values(tags).map(({ version }) => version),
    ...Object.values(branches).map(({ parentVersion }) => parentVersion),
  ];
  expect(left).toEqual(expect.arrayContaining(needed));
  const acknowledged = (process: number) => outcomes[process].filter((outcome) => "ok" in outcome).length;
  expect(acknowledged(0) + acknowledged(3)).toBe(needed.length);
  let deleted = 0;
  for (const outcome of outcomes.flat()) {
    if (!("ok" in outcome)) continue;
    const answer = outcome.ok as {
      deletedCount?: number;
      results?: { deleteTableVersions: { deletedCount: number } }[];
    };
    deleted += answer.deletedCount ?? answer.results?.[0].deleteTableVersions.deletedCount ?? 0;
  }
  expect(deleted).toBe(VERSIONS + numbers.length - left.length);
  const ofVersion = (version: number) => Array.from({ length: version }, (_, index) => index + 1);
  for (const version of left.filter((each) => each <= VERSIONS)) {
    expect(valuesOf(await ns.table(id, { version }).scan().toArrow())).toEqual(ofVersion(version));
    expect(await reference.countRows(root, "t", undefined, { version })).toBe(version);
  }
  for (const [branch, { parentVersion }] of Object.entries(branches)) {
    expect(valuesOf(await ns.table(id, { branch }).scan().toArrow())).toEqual(ofVersion(parentVersion));
    expect(await reference.countRows(root, "t", undefined, { branch })).toBe(parentVersion);
  }
  await ns.close();
});
