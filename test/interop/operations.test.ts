/** Both engines write to one table by turns: append, overwrite, restore, in both naming schemes. */

import { tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { it } from "../support/fixtures.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";

type Step =
  | { who: "us" | "them"; what: "append" | "overwrite"; count: number }
  | { who: "us" | "them"; what: "restore"; back: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      who: fc.constantFrom("us" as const, "them" as const),
      what: fc.constantFrom("append" as const, "append" as const, "overwrite" as const),
      count: fc.integer({ min: 1, max: 5 }),
    }),
    fc.record({
      who: fc.constantFrom("us" as const, "them" as const),
      what: fc.constant("restore" as const),
      back: fc.integer({ min: 0, max: 4 }),
    }),
  ),
  { minLength: 1, maxLength: 10 },
);

describe.each([
  ["a table of ours", "us", "V2"],
  ["a table of ours with V1 names", "us", "V1"],
  ["a table of the reference", "them", "V2"],
  ["a table of the reference with V1 names", "them", "V1"],
  ["a table of the reference in 2.1", "them", "2.1"],
  ["a table of the reference with stable row ids", "them", "stable"],
] as const)("%s", (_title, maker, kind) => {
  it("is written by turns and both see every version alike", async ({ root, open }) => {
    const namespace = open({ manifestNaming: kind === "V1" ? "V1" : "V2" });
    const seed = RUN_SEED;
    console.info(`operations: seed ${seed}`);
    let tables = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (script) => {
        const name = `t${tables++}`;
        const id = [name];
        let next = 1;
        const history: number[][] = [[0]];
        if (maker === "us") await namespace.createTable({ id }, rowsOf(0));
        else {
          await reference.createTable(root, name, tableToIPC(rowsOf(0)), {
            v1Paths: kind === "V1",
            dataStorageVersion: kind === "2.1" ? "2.1" : undefined,
            stableRowIds: kind === "stable",
          });
        }
        for (const step of script) {
          const current = history[history.length - 1];
          if (step.what === "restore") {
            const version = Math.max(1, history.length - step.back);
            if (step.who === "us") await namespace.restoreTable({ id, version });
            else await reference.restoreTable(root, name, version);
            history.push(history[version - 1]);
          } else {
            const values = Array.from({ length: step.count }, () => next++);
            const data = rowsOf(...values);
            if (step.who === "us") await namespace.insertIntoTable({ id, mode: step.what }, data);
            else if (step.what === "append") await reference.appendTable(root, name, tableToIPC(data));
            else await reference.overwriteTable(root, name, tableToIPC(data));
            history.push(step.what === "append" ? [...current, ...values] : values);
          }
          const expected = history[history.length - 1];
          expect(await namespace.table(id).version()).toBe(history.length);
          expect(await reference.tableVersion(root, name)).toBe(history.length);
          expect(valuesOf(await namespace.table(id).scan().toArrow())).toEqual(expected);
          expect(valuesOf(tableFromIPC(await reference.readTable(root, name)))).toEqual(expected);
        }
        for (const [index, expected] of history.entries()) {
          const version = index + 1;
          expect(valuesOf(await namespace.table(id, { version }).scan().toArrow())).toEqual(expected);
          expect(valuesOf(tableFromIPC(await reference.readTable(root, name, { version })))).toEqual(
            expected,
          );
        }
        const ours = (await namespace.listTableVersions({ id })).versions.map((each) => each.version);
        expect(ours).toEqual((await reference.listVersions(root, name)).map((each) => each.version));
      }),
      { numRuns: runsOf("OPERATION_RUNS", 6), seed },
    );
  });
});

describe("declared tables", () => {
  it("are filled by the first insert and read by the reference", async ({ root, ns: namespace }) => {
    await namespace.declareTable({ id: ["t"] });
    expect((await namespace.describeTable({ id: ["t"] })).isOnlyDeclared).toBe(true);
    expect(await namespace.listTables()).toEqual({ tables: ["t"] });
    expect(await namespace.listTables({ includeDeclared: false })).toEqual({ tables: [] });
    const inserted = await namespace.insertIntoTable({ id: ["t"] }, rowsOf(1, 2));
    expect(inserted).toMatchObject({ version: 1, numInsertedRows: 2 });
    expect((await namespace.describeTable({ id: ["t"] })).isOnlyDeclared).toBe(false);
    expect(await namespace.listTables({ includeDeclared: false })).toEqual({ tables: ["t"] });
    expect(valuesOf(tableFromIPC(await reference.readTable(root, "t")))).toEqual([1, 2]);
    expect(await reference.listTables(root)).toEqual(["t"]);
  });
});
