/** Null structs have no values in either engine, however they were written. */

import * as arrow from "apache-arrow";
import type { IndexType } from "tiltyard";
import { Index } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { fieldOf, int32s, listOf } from "../support/arrowColumns.js";
import { sharedDirectory } from "../support/fixtures.js";
import { withReference } from "../support/indexedTable.js";
import { sharedNamespaces } from "../support/interop.js";
import {
  existsIn,
  leaf,
  makeNestedTable,
  NESTING_NAMES,
  NESTINGS,
  someNode,
} from "../support/nestedGenerators.js";
import { reference } from "../support/reference.js";

const VERSIONS = ["2.1", "2.2"] as const;

const root = sharedDirectory();
const namespaces = sharedNamespaces(root);
let tableCount = 0;

/** Leaves with different encodings. */
const TYPES = ["int32", "bool", "utf8", "vectorFloat32", "fixedSizeBinary200", "dictionary"] as const;

describe.each(VERSIONS)("the values in null structs of version %s", (version) => {
  const nestings = NESTING_NAMES.filter((name) => {
    const spec = NESTINGS[name](leaf("int32"), "some", "short");
    // The reference takes no large lists, and no null structs without members.
    return (
      existsIn(version, spec) &&
      !someNode(spec, ({ kind }) => kind === "largeList") &&
      !someNode(spec, (node) => node.kind === "struct" && node.members.length === 0)
    );
  });

  it.each(nestings)("are as null to the reference as in its own table: %s", async (nesting) => {
    for (const type of TYPES) {
      const column = NESTINGS[nesting](leaf(type, "none"), "some", "short");
      if (!existsIn(version, column)) continue;
      const rows = makeNestedTable({ columns: [column], rowCount: 60, seed: 7 });
      const name = `shape${tableCount++}`;
      await reference.createTable(root, `${name}_there`, arrow.tableToIPC(rows), {
        dataStorageVersion: version,
      });
      await namespaces[version].createTable({ id: [name] }, rows);
      const there = shownPaths(await reference.readTable(root, `${name}_there`));
      const here = shownPaths(await reference.readTable(root, name));
      expect(
        [...here].filter((path) => !there.has(path)),
        `${nesting} of ${type}`,
      ).toEqual([]);
    }
  });
});

/** Paths of members that have values in a null struct. */
function shownPaths(ipc: Uint8Array): Set<string> {
  const table = arrow.tableFromIPC(ipc);
  const shown = new Set<string>();
  for (const { name } of table.schema.fields) {
    for (const data of table.getChild(name)?.data ?? []) noteShown(data, () => true, name, shown);
  }
  return shown;
}

function noteShown(
  data: arrow.Data,
  isThere: (index: number) => boolean,
  path: string,
  shown: Set<string>,
): void {
  const isValid = (index: number): boolean => data.nullCount === 0 || data.getValid(index);
  for (let index = 0; index < data.length; index++) if (!isThere(index) && isValid(index)) shown.add(path);
  const { type, children } = data;
  for (const [index, child] of children.entries()) {
    const childPath = `${path}.${type.children[index].name}`;
    const valuesPerRow = arrow.DataType.isFixedSizeList(type) ? type.listSize : 1;
    const isList = arrow.DataType.isList(type) || arrow.DataType.isMap(type);
    const isParentThere = (value: number): boolean => {
      const row = Math.floor(value / valuesPerRow);
      return isList || (isThere(row) && isValid(row));
    };
    // Values in a null fixed-size list count for its members only.
    if (arrow.DataType.isFixedSizeList(type)) noteShownMembers(child, isParentThere, childPath, shown);
    else noteShown(child, isParentThere, childPath, shown);
  }
}

function noteShownMembers(
  item: arrow.Data,
  isThere: (index: number) => boolean,
  path: string,
  shown: Set<string>,
): void {
  if (!arrow.DataType.isStruct(item.type)) return;
  const isValid = (index: number): boolean =>
    isThere(index) && (item.nullCount === 0 || item.getValid(index));
  for (const [index, child] of item.children.entries()) {
    noteShown(child, isValid, `${path}.${item.type.children[index].name}`, shown);
  }
}

const INNER = new arrow.Struct([fieldOf("b", new arrow.Int64())]);
const PAIR = new arrow.Struct([
  fieldOf("a", new arrow.Int32()),
  fieldOf("s", new arrow.Utf8()),
  fieldOf("l", listOf(new arrow.Utf8())),
  fieldOf("q", INNER),
]);
const pairOf = (id: number) =>
  id % 2 === 1
    ? null
    : {
        a: id,
        s: id % 4 === 0 ? "even word" : "",
        l: id % 4 === 0 ? ["x"] : [],
        q: id % 4 === 0 ? { b: BigInt(id) } : null,
      };
const rowsOf = (ids: readonly number[]): arrow.Table =>
  new arrow.Table({
    id: int32s(ids),
    p: arrow.vectorFromArray(ids.map(pairOf), PAIR),
  });
const idsFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, row) => first + row);

/** Filters with their predicates. */
const FILTERS: readonly (readonly [filter: string, passes: (id: number) => boolean])[] = [
  ["p IS NULL", (id) => id % 2 === 1],
  ["p.a IS NULL", (id) => id % 2 === 1],
  ["p.a IS NOT NULL", (id) => id % 2 === 0],
  ["p.a != 4", (id) => id % 2 === 0 && id !== 4],
  ["p.a >= 0", (id) => id % 2 === 0],
  ["NOT (p.a = 2)", (id) => id % 2 === 0 && id !== 2],
  ["p.s = ''", (id) => id % 4 === 2],
  ["p.s IS NULL", (id) => id % 2 === 1],
  ["p.s != 'even word'", (id) => id % 4 === 2],
  ["p.q.b IS NULL", (id) => id % 4 !== 0],
  ["p.q.b >= 0", (id) => id % 4 === 0],
  ["p.l IS NULL", (id) => id % 2 === 1],
];

/** Both engines give the right rows for every filter, and no value in a null struct. */
async function expectNulls(name: string, ids: readonly number[]): Promise<void> {
  for (const [filter, passes] of FILTERS) {
    const expected = ids.filter(passes).length;
    expect(await reference.countRows(root, name, filter), `the reference: ${filter}`).toBe(expected);
    expect(await namespaces["2.2"].countTableRows({ id: [name], predicate: filter }), filter).toBe(expected);
  }
  expect([...shownPaths(await reference.readTable(root, name))]).toEqual([]);
}

describe.each(VERSIONS)("null structs in a table of version %s", (version) => {
  const make = async (ids: readonly number[]): Promise<string> => {
    const name = `path${tableCount++}`;
    await namespaces[version].createTable({ id: [name] }, rowsOf(ids));
    return name;
  };

  it("hold nothing when rows are made, added, changed, merged and compacted", async () => {
    const name = await make(idsFrom(0, 20));
    const table = namespaces[version].table([name]);
    await expectNulls(name, idsFrom(0, 20));
    await table.insert(rowsOf(idsFrom(20, 20)));
    await namespaces[version].updateTable({
      id: [name],
      updates: [["id", "id + 1000"]],
      predicate: "id < 10",
    });
    await namespaces[version].updateTable({
      id: [name],
      updates: [["id", "id - 1000"]],
      predicate: "id >= 1000",
    });
    await namespaces[version].mergeInsertIntoTable(
      { id: [name], on: ["id"], whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
      rowsOf(idsFrom(30, 20)),
    );
    await table.delete("id % 10 = 5");
    const ids = idsFrom(0, 50).filter((id) => id % 10 !== 5);
    await expectNulls(name, ids);
    await table.optimize();
    await expectNulls(name, ids);
    expect((await table.describe()).stats).toMatchObject({ numFragments: 1 });
  });

  it("hold nothing after a member was cast", async () => {
    const name = await make(idsFrom(0, 30));
    await namespaces[version].alterTableAlterColumns({
      id: [name],
      alterations: [{ path: "p.a", dataType: { type: "int64" } }],
    });
    // The reference filters no struct whose members lie in two files, but reads it.
    const read = arrow.tableFromIPC(await reference.readTable(root, name));
    expect(read.getChild("p")?.type.children[0].type).toEqual(new arrow.Int64());
    expect([...shownPaths(await reference.readTable(root, name))]).toEqual([]);
    for (const [filter, passes] of FILTERS) {
      const expected = idsFrom(0, 30).filter(passes).length;
      expect(await namespaces[version].countTableRows({ id: [name], predicate: filter }), filter).toBe(
        expected,
      );
    }
  });

  it("hold nothing in a column that was computed", async () => {
    const name = await make(idsFrom(0, 30));
    await namespaces[version].alterTableAddColumns({
      id: [name],
      newColumns: [{ name: "copy", expression: "p" }],
    });
    for (const [filter, passes] of FILTERS) {
      const copied = filter.replaceAll("p.", "copy.").replace(/^p IS/, "copy IS");
      const expected = idsFrom(0, 30).filter(passes).length;
      expect(await reference.countRows(root, name, copied), copied).toBe(expected);
    }
  });

  it("are left out of indexes, by whichever engine builds and asks", async () => {
    const kinds: readonly (readonly [column: string, kind: IndexType, there: Index])[] = [
      ["p.a", "BTREE", Index.btree()],
      ["p.a", "BITMAP", Index.bitmap()],
      ["p.s", "BTREE", Index.btree()],
      ["p.s", "BITMAP", Index.bitmap()],
      ["p.q.b", "BTREE", Index.btree()],
    ];
    for (const [column, indexType, there] of kinds) {
      const here = await make(idsFrom(0, 40));
      const { jobId } = await namespaces[version].createTableIndex({ id: [here], column, indexType });
      await namespaces[version].waitForJob({ jobId });
      await expectNulls(here, idsFrom(0, 40));
      const built = await make(idsFrom(0, 40));
      await withReference(root, built, (table) => table.createIndex(column, { config: there }));
      await expectNulls(built, idsFrom(0, 40));
    }
    for (const [column, indexType] of [
      ["p.a", "ZONEMAP"],
      ["p.a", "BLOOMFILTER"],
      ["p.s", "NGRAM"],
      ["p.s", "FTS"],
      ["p.l", "LABEL_LIST"],
    ] as const) {
      const name = await make(idsFrom(0, 40));
      const { jobId } = await namespaces[version].createTableIndex({ id: [name], column, indexType });
      await namespaces[version].waitForJob({ jobId });
      await expectNulls(name, idsFrom(0, 40));
    }
  });
});
