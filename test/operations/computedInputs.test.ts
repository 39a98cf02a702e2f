/** Inputs of computed columns: a change that would silently make computed values outdated is refused. */

import { Int64 } from "apache-arrow";
import { DirectoryNamespace, InvalidInputError, TableColumnNotFoundError, type TableHandle } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { expectInvalid } from "../support/outcomes.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];
const functions = {
  scaled: {
    version: "1",
    inputs: ["st.x"],
    output: new Int64(),
    row: (inputs: Record<string, unknown>) => BigInt(inputs["st.x"] as bigint) * 10n,
  },
  whole: { version: "1", inputs: ["st"], output: new Int64(), row: () => 1n },
};
/** `s` and `b` are computed from plain columns, `c` from a computed one. */
const COMPUTED = [
  { name: "s", computed: "a + 1" },
  { name: "b", virtualColumn: { udfName: "scaled" } },
];

let root: string;
let ns: DirectoryNamespace;
let t: TableHandle;
beforeEach(async () => {
  root = await makeTempDir();
  ns = new DirectoryNamespace({ root, durability: "none", functions });
  t = ns.table(id);
  await t.create([
    { id: 1n, a: 1n, o: 5n, st: { x: 1n, y: 5n }, k: 1n },
    { id: 2n, a: 2n, o: 6n, st: { x: 2n, y: 6n }, k: 2n },
  ]);
});
afterEach(() => ns.close());

const declare = async (): Promise<void> => {
  await t.addColumns(COMPUTED);
  await t.addColumns({ name: "c", computed: "s * 2" });
};

describe("a column that is computed", () => {
  it("a computed column can be renamed but not cast, because its rule decides the type", async () => {
    await t.addColumns(COMPUTED);
    const { version } = await t.describe();
    for (const path of ["s", "b"]) {
      await expectInvalid(
        t.alterColumns({ path, dataType: "int32" }),
        `column ${path} cannot be cast to type int32: what computes ${path} gives values of its type; drop it and add it again`,
      );
    }
    expect((await t.describe()).version).toBe(version);
    await t.alterColumns([
      { path: "s", rename: "sum", dataType: "int64" },
      { path: "b", rename: "scaled" },
    ]);
    for (const column of ["sum", "scaled"]) {
      await ns.waitForJob(await ns.alterTableBackfillColumns({ id, column }));
    }
    const rows = await t.scan({ columns: ["sum", "scaled"] }).toArray();
    expect(rows).toEqual([
      { sum: 2n, scaled: 10n },
      { sum: 3n, scaled: 20n },
    ]);
  });
});

describe("a column that another is computed from", () => {
  it("an input and its parents can't be renamed, swapped, cast or dropped", async () => {
    await declare();
    const { version } = await t.describe();
    const ofA = "column a cannot be renamed or cast: s is computed from it; drop s first";
    const ofX = "column st.x cannot be renamed or cast: b is computed from it; drop b first";
    await expectInvalid(t.alterColumns({ path: "a", rename: "z" }), ofA);
    await expectInvalid(t.alterColumns({ path: "a", dataType: "int32" }), ofA);
    const swap = [
      { path: "a", rename: "o" },
      { path: "o", rename: "a" },
    ];
    await expectInvalid(t.alterColumns(swap), ofA);
    await expectInvalid(t.alterColumns({ path: "st.x", rename: "q" }), ofX);
    await expectInvalid(t.alterColumns({ path: "st.x", dataType: "int32" }), ofX);
    const around = "column st cannot be renamed or cast: b is computed from st.x; drop b first";
    await expectInvalid(t.alterColumns({ path: "st", rename: "q" }), around);
    await expectInvalid(
      t.dropColumns("a"),
      "column a cannot be dropped: s is computed from it; drop s first",
    );
    await expectInvalid(
      t.dropColumns(["st", "a", "s", "c"]),
      "column st cannot be dropped: b is computed from st.x; drop b first",
    );
    await expectInvalid(t.dropColumns("st.x"), "column st.x cannot be dropped");
    // An input that is itself computed.
    await expectInvalid(t.alterColumns({ path: "s", rename: "q" }), "c is computed from it");
    await expectInvalid(t.dropColumns(["s", "a"]), "c is computed from it");
    expect((await t.describe()).version).toBe(version);
  });

  it("an input struct can't change if the function reads all of it", async () => {
    await t.addColumns({ name: "w", virtualColumn: { udfName: "whole" } });
    const changed = "column st.y cannot be renamed or cast: w is computed from st; drop w first";
    await expectInvalid(t.alterColumns({ path: "st.y", rename: "q" }), changed);
    await expectInvalid(t.alterColumns({ path: "st.y", dataType: "int32" }), changed);
    await expectInvalid(
      t.dropColumns("st.y"),
      "column st.y cannot be dropped: w is computed from st; drop w first",
    );
  });

  it("the error names the computed column by its current name", async () => {
    await declare();
    const both = [
      { path: "s", rename: "s2" },
      { path: "a", rename: "z" },
    ];
    await expectInvalid(
      t.alterColumns(both),
      "column a cannot be renamed or cast: s is computed from it; drop s first",
    );
  });

  it("changes that keep the values of an input are allowed, and so are changes of other columns", async () => {
    await declare();
    await t.alterColumns([
      { path: "a", nullable: true },
      { path: "a", dataType: "int64" },
      { path: "st.y", rename: "z" },
      { path: "o", dataType: "int32", rename: "p" },
      { path: "b", rename: "bb" },
    ]);
    await t.dropColumns(["st.z", "p"]);
    for (const column of ["s", "bb", "c"]) {
      const { state } = await ns.waitForJob(await t.backfill(column));
      expect(state, column).toBe("Succeeded");
    }
    const [row] = await t.scan({ filter: "id = 2", columns: ["s", "bb", "c"] }).toArray();
    expect(row).toEqual({ s: 3n, bb: 20n, c: 6n });
    await t.dropColumns(["a", "s", "c"]);
    expect((await t.schema()).fields.map(({ name }) => name)).toEqual(["id", "st", "k", "bb"]);
  });

  it("the reference keeps the inputs of SQL columns too, and its renames can be reverted", async () => {
    await t.addColumns(COMPUTED);
    const renamed = reference.alterColumns(root, "t", [{ path: "a", rename: "z" }]);
    await expect(renamed).rejects.toThrow(
      "column 'a' is read by computed column 's'; drop that column first",
    );
    await reference.alterColumns(root, "t", [{ path: "st", rename: "z" }]);
    await expect(t.backfill("b")).rejects.toBeInstanceOf(TableColumnNotFoundError);
    await t.alterColumns({ path: "z", rename: "st" });
    expect((await ns.waitForJob(await t.backfill("b"))).state).toBe("Succeeded");
  });
});

it("an input that an overwrite removed can't be added again under its name", async () => {
  await t.addColumns(COMPUTED);
  await ns.waitForJob(await t.backfill("s"));
  const rest = await t.scan({ columns: ["id", "s"] }).toArrow();
  await t.insert(rest, { mode: "overwrite" });
  const added = t.addColumns({ name: "a", expression: "id * 100" });
  await expectInvalid(
    added,
    "column a cannot be added: s was computed from another of that name; drop s first",
  );
  await t.dropColumns("s");
  await t.addColumns({ name: "a", expression: "id * 100" });
  await t.addColumns(COMPUTED.slice(0, 1));
  await ns.waitForJob(await t.backfill("s"));
  expect(await t.scan({ columns: ["s"], filter: "id = 2" }).toArray()).toEqual([{ s: 201n }]);
});

describe("concurrent changes of an input and its computed column", () => {
  /** Returns the table in a namespace that runs a function before the next commit. */
  function interrupted(happens: () => Promise<unknown>): { table: TableHandle; close(): Promise<void> } {
    const disk = interruptedDisk(
      new NodeDisk({ durability: "none" }),
      (verb, path) => verb === "create" && path.includes("_transactions"),
      happens,
    );
    const namespace = new DirectoryNamespace({ root, durability: "none", functions, disk });
    const close = async () => {
      expect(disk.interrupted).toBe(true);
      await namespace.close();
    };
    return { table: namespace.table(id), close };
  }

  it.each([
    ["a rename", (table: TableHandle) => table.alterColumns({ path: "a", rename: "z" })],
    ["a cast", (table: TableHandle) => table.alterColumns({ path: "a", dataType: "int32" })],
    ["a drop", (table: TableHandle) => table.dropColumns("a")],
  ] as const)("%s sees a column that is declared meanwhile, and the other way around", async (_, change) => {
    const first = interrupted(() => t.addColumns(COMPUTED));
    await expectInvalid(change(first.table), "s is computed from it");
    await first.close();
    await t.dropColumns(["s", "b"]);
    const second = interrupted(() => change(t));
    const declared = second.table.addColumns({ name: "s", computed: "a + 1" });
    const { fields } = await declared.then(
      () => t.schema(),
      (error) => {
        expect([InvalidInputError, TableColumnNotFoundError]).toContain(error.constructor);
        return { fields: [] };
      },
    );
    // The column has its new type.
    if (fields.length > 0) expect(fields.find(({ name }) => name === "a")?.type.toString()).toBe("Int32");
    await second.close();
  });
});
