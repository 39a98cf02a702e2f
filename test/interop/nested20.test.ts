/** Lists and structs of 2.0 beyond matrix.test.ts: many pages, appends by turns, arbitrary nestings. */

import { tableFromIPC, tableToIPC } from "apache-arrow";
import { TableSchemaValidationError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { runsOf } from "../support/effort.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { exchangeTables } from "../support/interop.js";
import {
  leaf,
  list,
  makeNestedTable,
  type NestedSpec,
  type NestedTableSpec,
  nestedTableSpecs,
  struct,
  withValidStructs,
} from "../support/nestedGenerators.js";
import { compareTables, reference } from "../support/reference.js";

let tableCount = 0;
const freshName = () => `t${tableCount++}`;

const root = sharedDirectory();
const namespace = sharedNamespace({ root, dataStorageVersion: "2.0" });

async function writeThere(spec: NestedTableSpec): Promise<void> {
  const name = freshName();
  const expected = makeNestedTable(spec);
  await reference.createTable(root, name, tableToIPC(expected), { dataStorageVersion: "2.0" });
  compareTables(expected, await namespace.table([name]).scan().toArrow(), { metadata: false });
  await namespace.dropTable({ id: [name] });
}

async function writeHere(spec: NestedTableSpec): Promise<void> {
  const name = freshName();
  const expected = makeNestedTable(spec);
  await namespace.createTable({ id: [name] }, expected);
  compareTables(expected, await namespace.table([name]).scan().toArrow(), { metadata: false });
  compareTables(expected, tableFromIPC(await reference.readTable(root, name)), { metadata: false });
  await namespace.dropTable({ id: [name] });
}

describe("nested columns of 2.0", () => {
  const spec: NestedTableSpec = {
    columns: [
      list(leaf("int64", "some"), "some", "short"),
      list(list(leaf("utf8", "some"), "some", "short"), "some", "short"),
      struct([leaf("int32", "some"), list(struct([leaf("float64"), leaf("utf8")]), "some")]),
    ],
    rowCount: 150_000,
    seed: 11,
    batchRows: 20_000,
  };

  it("span pages that end where they like", async () => {
    const large = { ...spec, rowCount: runsOf("NESTED_ROWS", 1_200_000), columns: [spec.columns[1]] };
    await writeThere(large);
    await writeHere(large);
  });

  it("take appends by turns, and give their parts", async () => {
    const name = freshName();
    const part = (seed: number) => makeNestedTable({ ...spec, rowCount: 5_000, seed });
    await namespace.createTable({ id: [name] }, part(0));
    await reference.appendTable(root, name, tableToIPC(part(1)));
    await namespace.insertIntoTable({ id: [name] }, part(2));
    const expected = part(0).concat(part(1), part(2));
    compareTables(expected, tableFromIPC(await reference.readTable(root, name)), { metadata: false });
    compareTables(expected, await namespace.table([name]).scan().toArrow(), { metadata: false });
    for (const [offset, limit] of [
      [4_990, 20],
      [9_999, 2],
      [14_999, 10],
    ]) {
      const columns = ["c2", "c0"];
      compareTables(
        tableFromIPC(await reference.readTable(root, name, { columns, offset, limit })),
        await namespace.table([name]).scan({ columns, offset, limit }).toArrow(),
        { metadata: false },
      );
    }
    const offsets = [0, 1, 4_999, 5_000, 12_345, 14_999];
    const taken = tableFromIPC(await reference.takeRows(root, name, offsets));
    compareTables(taken, await namespace.table([name]).take(offsets), { metadata: false });
  });

  it("keep arbitrary data", async () => {
    await exchangeTables({
      label: "nested interop 2.0",
      namespace,
      root,
      dataStorageVersion: "2.0",
      specs: nestedTableSpecs({ maps: false, emptyStructs: "anywhere" }).map((arbitrary) => ({
        ...arbitrary,
        columns: arbitrary.columns.map(withValidStructs),
      })),
      tableOf: makeNestedTable,
      runs: 100,
    });
  });

  it("take rows without some members, which become null where 2.0 can say so", async () => {
    const columns = (members: NestedSpec[]) => [struct(members), list(struct(members), "some")];
    const rows = (members: NestedSpec[], seed: number) =>
      makeNestedTable({ columns: columns(members), rowCount: 60, seed });
    const [number, lists] = [leaf("int32", "some"), list(list(leaf("utf8"), "some"), "some")];
    const name = freshName();
    await namespace.createTable({ id: [name] }, rows([number, lists], 1));
    await namespace.insertIntoTable({ id: [name] }, rows([number], 2));
    const expected = tableFromIPC(await reference.readTable(root, name));
    const actual = await namespace.table([name]).scan().toArrow();
    compareTables(expected, actual, { metadata: false });
    compareTables(rows([number, lists], 1), actual.slice(0, 60), { metadata: false });
    const [first] = actual.getChild("c0")!.slice(60, 61);
    expect([first.m0, first.m1]).toEqual([rows([number], 2).getChild("c0")!.get(0).m0, null]);

    // Structs of 2.0 cannot be null, so one that is non-nullable anywhere must be present.
    const inner = struct([leaf("int32", "some"), lists], "some");
    const second = freshName();
    await namespace.createTable({ id: [second] }, rows([number, { ...inner, nulls: "none" }], 1));
    await expect(namespace.insertIntoTable({ id: [second] }, rows([number], 2))).rejects.toThrow(
      TableSchemaValidationError,
    );
    const nullable = freshName();
    const members = (nulls: "none" | "some") => [number, { ...inner, nulls } as NestedSpec];
    const wide = makeNestedTable({ columns: columns(members("some")), rowCount: 60, seed: 1 });
    await namespace.createTable({ id: [nullable] }, wide.slice(0, 0));
    await expect(namespace.insertIntoTable({ id: [nullable] }, rows([number], 2))).rejects.toThrow(
      "null structs",
    );
  });
});
