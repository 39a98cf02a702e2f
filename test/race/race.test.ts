/** Runs many processes on one table: no acknowledged change may be lost or done twice. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Table, tableFromIPC } from "apache-arrow";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { readManifestFile } from "../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../src/table/versions/manifestEncoder.js";
import { manifestName } from "../../src/table/versions/paths.js";
import { runsOf } from "../support/effort.js";
import { type EngineOutcome, type EngineStep, raceEngines } from "../support/engineWorker.js";
import { describe, expect, it } from "../support/fixtures.js";
import { ipcOf, rowsOf } from "../support/intRows.js";
import { ReferenceWorker, reference } from "../support/reference.js";

const PROCESSES = 8;
/** Number of appends of each process. */
const APPENDS = runsOf("RACE_APPENDS", 40);
const VERSIONS = runsOf("RACE_VERSIONS", 100);

const valuesOf = (table: Table): number[] =>
  Array.from(table.getChild("v")!.toArray() as Int32Array).sort((a, b) => a - b);

const isA = (outcome: EngineOutcome, type: string) => "type" in outcome && outcome.type === type;
const isOk = (outcome: EngineOutcome): outcome is { ok: { version: number } } => "ok" in outcome;

describe("eight processes", () => {
  it("claim each version number exactly once", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"] }, rowsOf(1));
    const table = join(root, "t.lance");
    const numbers = Array.from({ length: VERSIONS }, (_, index) => index + 2);
    await mkdir(join(table, "staging"));
    const { version: first } = await ns.describeTableVersion({ id: ["t"], version: 1 });
    const source = (await readManifestFile(new NodeDisk({ durability: "none" }), first.manifestPath))!;
    const steps: EngineStep[][] = Array.from({ length: PROCESSES }, () => []);
    for (const version of numbers) {
      const staged = encodeManifestFile({
        manifest: { ...source.manifest, version },
        indexSectionBytes: source.indexSectionBytes,
        transactionBytes: source.transactionBytes,
      });
      for (let process = 0; process < PROCESSES; process++) {
        const path = join(table, "staging", `${version}-${process}`);
        await writeFile(path, Buffer.concat(staged.chunks));
        const metadata = { winner: String(process) };
        steps[process].push(["createTableVersion", { id: ["t"], version, manifestPath: path, metadata }]);
      }
    }
    const outcomes = await raceEngines(steps.map((each) => ({ root, steps: each })));
    const won = outcomes.map((each) => each.filter(isOk));
    const conflicts = outcomes.flat().filter((outcome) => isA(outcome, "ConcurrentModification"));
    expect(won.flat().length).toBe(VERSIONS);
    expect(conflicts.length).toBe((PROCESSES - 1) * VERSIONS);
    const { versions } = await ns.listTableVersions({ id: ["t"] });
    expect(versions.map((each) => each.version)).toEqual([1, ...numbers]);
    // Later readers get what the winner wrote.
    for (const [process, each] of outcomes.entries()) {
      for (const [step, outcome] of each.entries()) {
        if (!isOk(outcome)) continue;
        expect(versions[step + 1].metadata).toEqual({ winner: String(process) });
      }
    }
    expect(await reference.tableVersion(root, "t")).toBe(VERSIONS + 1);
    expect(await reference.countRows(root, "t")).toBe(1);
    expect(manifestName(201, "V2").length).toBe(29);
  });

  it("append at once and lose no row", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"] }, rowsOf(-1));
    const steps = Array.from({ length: PROCESSES }, (_, process) =>
      Array.from(
        { length: APPENDS },
        (_, step): EngineStep => ["insertIntoTable", { id: ["t"] }, ipcOf(process * 1000 + step)],
      ),
    );
    const outcomes = await raceEngines(steps.map((each) => ({ root, steps: each })));
    expect(outcomes.flat().filter((outcome) => !isOk(outcome))).toEqual([]);
    const versions = outcomes.flat().map((outcome) => (outcome as { ok: { version: number } }).ok.version);
    expect(new Set(versions).size).toBe(PROCESSES * APPENDS);
    const expected = [
      -1,
      ...steps.flatMap((_, process) => Array.from({ length: APPENDS }, (_, step) => process * 1000 + step)),
    ];
    expect(valuesOf(await ns.table(["t"]).scan().toArrow())).toEqual(expected.sort((a, b) => a - b));
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t")))).toEqual(expected);
    expect(await ns.table(["t"]).version()).toBe(PROCESSES * APPENDS + 1);
  });

  it("make a declared table by the first insert, and append the others", async ({ root, ns }) => {
    await ns.declareTable({ id: ["t"] });
    const jobs = Array.from({ length: PROCESSES }, (_, process) => ({
      root,
      steps: [["insertIntoTable", { id: ["t"] }, ipcOf(process)]] as EngineStep[],
    }));
    const outcomes = (await raceEngines(jobs)).flat();
    expect(outcomes.filter((outcome) => !isOk(outcome))).toEqual([]);
    expect(valuesOf(await ns.table(["t"]).scan().toArrow())).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t")))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("create one table exactly once", async ({ root }) => {
    const jobs = Array.from({ length: PROCESSES }, (_, process) => ({
      root,
      steps: [
        ["createTable", { id: ["t"] }, ipcOf(process)],
        ["declareTable", { id: ["d"] }],
      ] as EngineStep[],
    }));
    const outcomes = await raceEngines(jobs);
    for (const step of [0, 1]) {
      const each = outcomes.map((steps) => steps[step]);
      expect(each.filter(isOk).length).toBe(1);
      expect(each.filter((outcome) => isA(outcome, "TableAlreadyExists")).length).toBe(PROCESSES - 1);
    }
    const winner = outcomes.findIndex(([created]) => isOk(created));
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t")))).toEqual([winner]);
  });
});

describe("with the reference", () => {
  it("two engines of ours and two references append at once", async ({ root, ns }) => {
    await ns.createTable({ id: ["t"] }, rowsOf(-1));
    const count = 40;
    const payloads = (process: number) =>
      Array.from({ length: count }, (_, step) => ipcOf(process * 1000 + step));
    const references = [2, 3].map(
      (process) =>
        new ReferenceWorker({
          kind: "appendEach",
          uri: root,
          name: "t",
          payloads: payloads(process),
          retries: 0,
        }),
    );
    await Promise.all(references.map((worker) => worker.ready));
    for (const worker of references) worker.go();
    const ours = await raceEngines(
      [0, 1].map((process) => ({
        root,
        steps: payloads(process).map((payload): EngineStep => ["insertIntoTable", { id: ["t"] }, payload]),
      })),
    );
    const theirs = await Promise.all(references.map((worker) => worker.outcomes));
    const acknowledged = [-1];
    for (const [process, outcomes] of ours.entries()) {
      for (const [step, outcome] of outcomes.entries()) {
        expect(outcome, JSON.stringify(outcome)).toHaveProperty("ok");
        acknowledged.push(process * 1000 + step);
      }
    }
    for (const [index, outcomes] of theirs.entries()) {
      for (const [step, outcome] of outcomes.entries())
        if ("version" in outcome) acknowledged.push((index + 2) * 1000 + step);
    }
    acknowledged.sort((a, b) => a - b);
    expect(valuesOf(await ns.table(["t"]).scan().toArrow())).toEqual(acknowledged);
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t")))).toEqual(acknowledged);
  });
});
