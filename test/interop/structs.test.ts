/** Packed structs and fixed-size lists of structs in both directions. */

import { tableFromIPC } from "apache-arrow";
import { TableSchemaValidationError, UnsupportedError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { sharedDirectory } from "../support/fixtures.js";
import { NULL_PATTERNS } from "../support/generators.js";
import * as interop from "../support/interop.js";
import {
  existsIn,
  LEAF_TYPES,
  leaf,
  makeNestedTable,
  NESTING_NAMES,
  NESTINGS,
  type NestedSpec,
  packed,
  sized,
  struct,
  withValidStructs,
} from "../support/nestedGenerators.js";
import { compareTables, reference } from "../support/reference.js";

const root = sharedDirectory();
const namespaces = interop.sharedNamespaces(root);

describe.each(interop.FILE_VERSIONS)("file version %s", (version) => {
  const nestings = NESTING_NAMES.filter(
    (name) => /packed|sized/i.test(name) && existsIn(version, NESTINGS[name](leaf("int32"), "none", "short")),
  );
  it.each(nestings)("%s", async (nesting) => {
    for (const nulls of NULL_PATTERNS) {
      const columns = LEAF_TYPES.filter((type) => type !== "null")
        .map((type) => NESTINGS[nesting](leaf(type, nulls), nulls, "short"))
        .map((column) => (version === "2.0" ? withValidStructs(column) : column))
        .filter((column) => existsIn(version, column));
      for (const rowCount of [40, 900]) {
        const rows = makeNestedTable({ columns, rowCount, seed: rowCount });
        await interop.writeHere(namespaces[version], root, rows, version);
        // The reference cannot write packed structs of 2.0 without rows.
        const fault = await interop.writeThere(namespaces[version], root, rows, version);
        if (version !== "2.0" || nulls !== "all") expect(fault).toBeUndefined();
      }
    }
  });
});

describe("rows in part", () => {
  it.each([
    ["2.0", packed([leaf("int32"), leaf("int64")])],
    ["2.1", packed([leaf("int32"), leaf("int64")], "some")],
    ["2.2", packed([leaf("int32"), leaf("utf8")], "some")],
    ["2.2", sized(struct([leaf("int32", "some"), leaf("utf8", "some")], "some"), "some")],
  ] as [interop.FileVersion, NestedSpec][])("of version %s", async (version, column) => {
    const namespace = namespaces[version];
    const id = [`part_${version.replace(".", "_")}_${column.kind}`];
    const part = (seed: number) =>
      makeNestedTable({ columns: [column], rowCount: 20_000, seed, batchRows: 3_000 });
    await namespace.createTable({ id }, part(1));
    await namespace.insertIntoTable({ id }, part(2));
    for (const [offset, limit] of [
      [19_990, 30],
      [5, 1],
    ]) {
      const expected = tableFromIPC(await reference.readTable(root, id[0], { offset, limit }));
      compareTables(expected, await namespace.table(id).scan({ offset, limit }).toArrow(), {
        metadata: false,
      });
    }
    const offsets = [0, 7_777, 19_999, 20_000, 39_999];
    const taken = tableFromIPC(await reference.takeRows(root, id[0], offsets));
    compareTables(taken, await namespace.table(id).take(offsets), { metadata: false });
  });
});

describe("what cannot be stored is refused", () => {
  it("null members, members of other kinds, lists in older versions", async () => {
    const create = (version: interop.FileVersion, column: NestedSpec) =>
      namespaces[version].createTable(
        { id: ["refused"] },
        makeNestedTable({ columns: [column], rowCount: 20, seed: 1 }),
      );
    const nullMembers: NestedSpec = {
      kind: "struct",
      packed: true,
      nulls: "none",
      members: [leaf("int32", "some")],
    };
    for (const version of interop.FILE_VERSIONS) {
      await expect(create(version, nullMembers)).rejects.toThrow(TableSchemaValidationError);
      await expect(create(version, packed([leaf("bool")]))).rejects.toThrow(UnsupportedError);
    }
    await expect(create("2.1", packed([leaf("utf8")]))).rejects.toThrow(UnsupportedError);
    await expect(create("2.0", packed([leaf("utf8")]))).rejects.toThrow(UnsupportedError);
    await expect(create("2.1", sized(struct([leaf("int32")])))).rejects.toThrow(UnsupportedError);
    expect((await namespaces["2.2"].listTables({})).tables).not.toContain("refused");
  });
});
