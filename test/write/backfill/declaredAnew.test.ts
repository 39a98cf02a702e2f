/** A column that is declared again while its function runs gets no values of the old declaration. */

import { Int64, Utf8 } from "apache-arrow";
import { ConcurrentModificationError, type DirectoryNamespace, type UserFunction } from "tiltyard";
import { expect, it } from "vitest";
import { freshStage } from "../../support/stage.js";

const ID = { id: ["t"] };
const stage = freshStage();

/** Makes a table and fills its column by `first`, whose first call runs `work`. */
async function fillWhile(work: (ns: DirectoryNamespace) => Promise<unknown>) {
  let concurrentWork: Promise<unknown> | null = null;
  const tenfold = { version: "1", inputs: ["a"], output: new Int64() };
  const functions: Record<string, UserFunction> = {
    first: {
      ...tenfold,
      row: async ({ a }) => {
        concurrentWork ??= work(ns);
        await concurrentWork;
        return (a as bigint) * 10n;
      },
    },
    second: { ...tenfold, row: ({ a }) => (a as bigint) * 1000n },
    text: { ...tenfold, output: new Utf8(), row: ({ a }) => `text ${a}` },
  };
  const ns = stage.open({ functions });
  await ns.createTable(ID, [{ a: 1n }, { a: 2n }]);
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", virtualColumn: { udfName: "first" } }] });
  return { ns, fill: fill(ns) };
}

const fill = async (ns: DirectoryNamespace) =>
  ns.waitForJob(await ns.alterTableBackfillColumns({ ...ID, column: "b" }));

const again = (column: object) => async (ns: DirectoryNamespace) => {
  await ns.alterTableDropColumns({ ...ID, columns: ["b"] });
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", ...column }] });
};
const declared = (metadata: Record<string, string | null>) => (ns: DirectoryNamespace) =>
  ns.updateFieldMetadata({ ...ID, updates: [{ path: "b", metadata }] });

/** Values that the reference reads. */
const values = async () => [...(await stage.rowsThere())].map(({ b }) => (b === null ? null : String(b)));

it.each([
  [
    "dropped and added for another function",
    again({ virtualColumn: { udfName: "second" } }),
    ["1000", "2000"],
  ],
  [
    "dropped and added with another type",
    again({ virtualColumn: { udfName: "text" } }),
    ["text 1", "text 2"],
  ],
  ["dropped and added with SQL", again({ computed: "a + 500" }), ["501", "502"]],
  [
    "given another function by its metadata",
    declared({ "virtual_column.udf_name": "second" }),
    ["1000", "2000"],
  ],
])("%s: the job fails, and the next one fills it", async (_, work, expected) => {
  const { ns, fill: filled } = await fillWhile(work);
  await expect(filled).rejects.toThrow(ConcurrentModificationError);
  await expect(filled).rejects.toThrow(/column b: was declared anew/);
  expect(await values()).toEqual([null, null]);
  expect((await ns.describeComputedColumns(ID)).columns[0].staleRows).toBe(2);
  await fill(ns);
  expect(await values()).toEqual(expected);
});

it("a column that is dropped and added unchanged gets the values", async () => {
  const { fill: filled } = await fillWhile(again({ virtualColumn: { udfName: "first" } }));
  expect(await filled).toMatchObject({ state: "Succeeded" });
  expect(await values()).toEqual(["10", "20"]);
});

it("a column whose metadata gets a note gets the values", async () => {
  const { fill: filled } = await fillWhile(declared({ note: "tenfold" }));
  expect(await filled).toMatchObject({ state: "Succeeded" });
  expect(await values()).toEqual(["10", "20"]);
});

it("a failure does not wait for a fragment that is being computed", async () => {
  const redeclare = again({ virtualColumn: { udfName: "second" } });
  const tenfold = { version: "1", inputs: ["a"], output: new Int64() };
  const first: UserFunction = {
    ...tenfold,
    row: async ({ a }, { signal }) => {
      if (a === 1n) await redeclare(ns);
      // A row of the second fragment: waits for the job's end.
      if (a === 3n)
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return (a as bigint) * 10n;
    },
  };
  const second: UserFunction = { ...tenfold, row: ({ a }) => (a as bigint) * 1000n };
  const ns = stage.open({ functions: { first, second } });
  await ns.createTable(ID, [{ a: 1n }, { a: 2n }]);
  await ns.insertIntoTable(ID, [{ a: 3n }]);
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "b", virtualColumn: { udfName: "first" } }] });
  const job = await ns.alterTableBackfillColumns({ ...ID, column: "b", commitGranularity: 1 });
  await expect(ns.waitForJob(job)).rejects.toThrow(ConcurrentModificationError);
  await fill(ns);
  expect(await values()).toEqual(["1000", "2000", "3000"]);
});
