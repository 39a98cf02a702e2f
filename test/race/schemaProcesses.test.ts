/** Changes one schema, its metadata and rows in several processes: no acknowledged change may be lost. */

import { Field, Int32, Schema, Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { runsOf } from "../support/effort.js";
import { type EngineOutcome, type EngineStep, raceEngines } from "../support/engineWorker.js";
import { expect, it } from "../support/fixtures.js";
import { ReferenceWorker, reference } from "../support/reference.js";

const ROUNDS = runsOf("SCHEMA_ROUNDS", 24);
const APPENDS = 3 * ROUNDS;
const id = ["t"];

const SCHEMA = new Schema([new Field("v", new Int32(), true)]);
const rowsOf = (...values: number[]) => new Table(SCHEMA, { v: vectorFromArray(values, new Int32()) });
const ipcOf = (value: number) => tableToIPC(rowsOf(value));
const sorted = (values: Iterable<unknown>) => Array.from(values, Number).sort((a, b) => a - b);
const isOk = (outcome: EngineOutcome): outcome is { ok: { version: number } } => "ok" in outcome;

/** Adds a column of the process, renames it, changes its type and metadata, and drops it. */
const changes = (process: number): EngineStep[] =>
  Array.from({ length: ROUNDS }, (_, round): EngineStep[] => {
    const column = `c${process}`;
    const updates = [
      { path: `d${process}`, metadata: { round: String(round) } },
      { path: "v", metadata: { [`${process}-${round}`]: "here" } },
    ];
    const cast = { path: column, rename: `d${process}`, dataType: { type: "int32" } };
    return [
      ["alterTableAddColumns", { id, newColumns: [{ name: column, expression: "cast(1 as smallint)" }] }],
      ["alterTableAlterColumns", { id, alterations: [cast] }],
      ["updateFieldMetadata", { id, updates }],
      ["alterTableDropColumns", { id, columns: [`d${process}`] }],
    ];
  }).flat();

it("two processes change the schema, one appends, and so does the reference", async ({ root, ns }) => {
  await ns.createTable({ id }, rowsOf(-1));
  const numbers = Array.from({ length: APPENDS }, (_, step) => step);
  const theirs = new ReferenceWorker({
    kind: "appendEach",
    uri: root,
    name: "t",
    payloads: numbers.map((step) => ipcOf(1000 + step)),
    retries: 3,
  });
  await theirs.ready;
  theirs.go();
  const [first, second, appended] = await raceEngines([
    { root, steps: changes(0) },
    { root, steps: changes(1) },
    { root, steps: numbers.map((step): EngineStep => ["insertIntoTable", { id }, ipcOf(step)]) },
  ]);
  const values = [-1];
  for (const [step, outcome] of appended.entries()) {
    if ("ok" in outcome) values.push(step);
    // Other outcomes: the schema changed meanwhile, or rows lack a column that must not be null.
    else expect(["ConcurrentModification", "TableSchemaValidation"]).toContain(outcome.type);
  }
  for (const [step, outcome] of (await theirs.outcomes).entries()) {
    if ("version" in outcome) values.push(1000 + step);
  }
  const versions = [first, second, appended]
    .flat()
    .filter(isOk)
    .map(({ ok }) => ok.version);
  expect(new Set(versions).size).toBe(versions.length);

  const table = await ns.table(id).scan().toArrow();
  expect(sorted(table.getChild("v") ?? [])).toEqual(sorted(values));
  const seen = tableFromIPC(await reference.readTable(root, "t"));
  expect(sorted(seen.getChild("v") ?? [])).toEqual(sorted(values));
  expect(seen.schema.names).toEqual(["v"]);
  expect(table.schema.names).toEqual(["v"]);
  const notes = [first, second].flatMap((outcomes, process) =>
    Array.from({ length: ROUNDS }, (_, round) => {
      // No other process touches these columns, so their changes succeed however often they are planned.
      expect(outcomes.slice(4 * round, 4 * round + 4).map(isOk), JSON.stringify(outcomes)).toEqual([
        true,
        true,
        true,
        true,
      ]);
      return [`${process}-${round}`, "here"] as const;
    }),
  );
  expect(Object.fromEntries(table.schema.fields[0].metadata)).toEqual(Object.fromEntries(notes));
  console.info(`schema races: ${versions.length} versions of ours, ${values.length - 1} rows acknowledged`);
});
