/**
 * Changes of columns on tables of many shapes. Both engines append to both results and read them whole, in
 * parts and in older versions.
 */

import * as arrow from "apache-arrow";
import { describe, expect, it } from "vitest";
import { fieldOf, listOf, mapOf } from "../support/arrowColumns.js";
import { type Change, expectAlike, rowsOf, Side } from "../support/columnChanges.js";
import { someOf } from "../support/effort.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { compareTables, reference } from "../support/reference.js";

const POINT = new arrow.Struct([
  fieldOf("x", new arrow.Int32()),
  fieldOf("deep", new arrow.Struct([fieldOf("z", new arrow.Utf8()), fieldOf("w", new arrow.Int16())])),
]);
const LISTED = new arrow.Struct([fieldOf("a", new arrow.Int32()), fieldOf("b", new arrow.Utf8())]);

/** Maps need 2.2; structs in 2.0 are never null. */
const schemaOf = (version: string): arrow.Schema =>
  new arrow.Schema([
    fieldOf("id", new arrow.Int32(), false),
    fieldOf("d", new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8())),
    fieldOf("st", POINT),
    fieldOf("l", listOf(version === "2.0" ? new arrow.Int32() : LISTED)),
    fieldOf("f", new arrow.FixedSizeList(2, fieldOf("item", new arrow.Float32()))),
    ...(version === "2.2" ? [fieldOf("m", mapOf(new arrow.Utf8(), new arrow.Int32()))] : []),
  ]);

const list = (type: unknown) => ({ type: "list", fields: [{ name: "item", type, nullable: true }] });

const scriptOf = (version: string): Change[] => [
  { add: { c: "7", t: "'text'" } },
  { addNull: ["u", "w"] },
  {
    metadata: [
      { path: "st.deep.z", metadata: { unit: "m" } },
      { path: "l.item", metadata: { note: "listed" } },
      { path: "f", metadata: { a: "1" }, replace: true },
    ],
  },
  {
    alter: [
      { path: "st.x", rename: "y" },
      { path: "st.deep", rename: "deep.er" },
      { path: "d", rename: "words" },
    ],
  },
  // In 2.0 the reference then fails to read its own table.
  version === "2.0" ? { add: { k: "1.5" } } : { alter: [{ path: "st.y", dataType: { type: "int64" } }] },
  version === "2.0"
    ? { alter: [{ path: "l", dataType: list({ type: "int64" }) as never }] }
    : { alter: [{ path: "l.item.a", dataType: { type: "int64" } }] },
  { alter: [{ path: "words", dataType: { type: "string" } }] },
  {
    alter: [
      { path: "w", dataType: { type: "int64" } },
      { path: "id", nullable: true },
    ],
  },
  // Before 2.2 the reference drops the whole list.
  { drop: ["st.`deep.er`.w", "c", ...(version === "2.2" ? ["l.item.b"] : [])] },
  { drop: [version === "2.2" ? "m" : "f", "u.p"] },
  { drop: ["st"] },
];

const MAIN_ROWS = 12;
const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let tables = 0;

/** Two equal tables by the reference: fragments with and without deleted rows, inherited and not. */
async function twins(version: string, stableRowIds: boolean, branch?: string): Promise<[Side, Side]> {
  const name = `t${tables++}`;
  const schema = schemaOf(version);
  const sides = [name, `${name}b`].map(async (each) => {
    const first = arrow.tableToIPC(rowsOf(schema, 0, MAIN_ROWS, version));
    await reference.createTable(root, each, first, { dataStorageVersion: version, stableRowIds });
    await reference.appendTable(root, each, arrow.tableToIPC(rowsOf(schema, MAIN_ROWS, 5, version)));
    await reference.deleteRows(root, each, "id = 4 or id = 7");
    if (branch !== undefined) {
      await reference.createBranch(root, each, branch);
      await reference.appendTable(root, each, arrow.tableToIPC(rowsOf(schema, 40, 3, version)), { branch });
      await reference.deleteRows(root, each, "id = 13 or id = 41", { branch });
    }
    return new Side(namespace, root, each, branch);
  });
  return [await sides[0], await sides[1]];
}

async function append(
  sides: readonly Side[],
  by: "us" | "them",
  first: number,
  version: string,
): Promise<void> {
  const { schema } = arrow.tableFromIPC(await sides[1].readByThem());
  const rows = rowsOf(schema, first, 3, version);
  for (const { request: target, name, branch } of sides) {
    if (by === "us") await namespace.insertIntoTable(target, rows);
    else await reference.appendTable(root, name, arrow.tableToIPC(rows), { branch });
  }
}

/** Compares columns and rows that lie in different files of one fragment. */
async function expectPartsAlike(side: Side, what: string): Promise<void> {
  const { name, branch } = side;
  const table = namespace.table([name], { branch });
  const { names } = (await table.scan({ limit: 1 }).toArrow()).schema;
  const some = (names as string[]).filter((_, index) => index % 2 === 1).reverse();
  for (const columns of [some, (names as string[]).slice(-1)]) {
    compareTables(
      await reference.readTable(root, name, { branch, columns, offset: 3, limit: 14 }),
      await table.scan({ columns, offset: 3, limit: 14 }).toArrow(),
    );
  }
  const offsets = [0, 5, 9, 13, 15];
  const taken = await reference.takeRows(root, name, offsets, { branch, columns: some });
  compareTables(taken, await table.take(offsets, some));
  expect(await table.countRows(), what).toBe(await reference.countRows(root, name, undefined, { branch }));
}

const shapes = [
  { version: "2.0", stable: false, branch: undefined },
  { version: "2.0", stable: true, branch: "dev/x" },
  { version: "2.1", stable: true, branch: undefined },
  { version: "2.1", stable: false, branch: "dev" },
  { version: "2.2", stable: false, branch: undefined },
  { version: "2.2", stable: true, branch: "dev" },
];

describe.each(someOf(shapes, 5))("in $version, stable row ids $stable, branch $branch", ({
  version,
  stable,
  branch,
}) => {
  it("each change", async () => {
    const [ours, theirs] = await twins(version, stable, branch);
    const steps: { change: Change; version: number }[] = [];
    let rows = 100;
    for (const [index, change] of scriptOf(version).entries()) {
      const what = `change ${index}: ${JSON.stringify(change)}`;
      const made = await theirs.byThem(change);
      expect(await ours.byUs(change), what).toBe(made);
      steps.push({ change, version: made });
      await expectAlike(ours, theirs, what);
      await append([ours, theirs], index % 2 === 0 ? "us" : "them", (rows += 10), version);
      await expectAlike(ours, theirs, `${what}, rows appended`);
      if (index % 2 === 0) await expectPartsAlike(ours, what);
    }
    for (const step of steps.filter((_, index) => index % 3 === 1)) {
      await expectAlike(ours, theirs, `version ${step.version}`, step.version);
    }
    // Compaction keeps the rows of all files. In 2.0 files cannot say that structs of u are null, and the
    // reference fails.
    const before = await ours.readByUs();
    expect((await namespace.optimizeTable(ours.request)).fragmentsRemoved).toBeGreaterThan(1);
    compareTables(before, await ours.readByUs());
    compareTables(before, await ours.readByThem());
  });
});

describe("where the reference goes wrong, we do not", () => {
  /** The reference's rows after our change, with our rows before it. */
  async function changed(
    version: string,
    change: Change,
  ): Promise<{ before: arrow.Table; after: arrow.Table }> {
    const [ours] = await twins(version, false);
    const before = await ours.readByUs();
    await ours.byUs(change);
    const after = await ours.readByThem();
    compareTables(after, await ours.readByUs());
    return { before, after: arrow.tableFromIPC(after) };
  }
  const rowsIn = (table: arrow.Table, column: string) =>
    JSON.stringify(table.getChild(column), (_, value) => (typeof value === "bigint" ? Number(value) : value));

  it("a member of a struct is cast in 2.0", async () => {
    const { before, after } = await changed("2.0", {
      alter: [{ path: "st.x", dataType: { type: "int64" } }],
    });
    expect(String(after.schema.fields[2].type.children[0])).toContain("Int64");
    expect(rowsIn(after, "st")).toBe(rowsIn(before, "st"));
  });

  it("a member of a list's structs is dropped in 2.1, and the others stay", async () => {
    const { before, after } = await changed("2.1", { drop: ["l.item.b"] });
    const kept = before
      .toArray()
      .map(({ l }) => l && Array.from(l as Iterable<{ a: number }>, (item) => item && { a: item.a }));
    expect(rowsIn(after, "l")).toBe(JSON.stringify(kept));
  });
});
