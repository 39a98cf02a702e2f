/** Changes of columns and metadata, by us on one copy and by the reference on another, leave equal tables. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arrowTypeFromLogical } from "../../src/arrow/types/logicalTypes.js";
import { parseType } from "../../src/arrow/types/type.js";
import { fieldOf, listOf } from "../support/arrowColumns.js";
import { type Change, expectAlike, latestManifest, rowsOf, Side } from "../support/columnChanges.js";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { FILE_VERSIONS } from "../support/interop.js";
import { compareTables, reference } from "../support/reference.js";

const STRUCT = new arrow.Struct([
  fieldOf("a", new arrow.Int32()),
  fieldOf("b.c", new arrow.Utf8()),
  fieldOf("l", listOf(new arrow.Int32())),
]);
const COLUMNS: Record<string, arrow.DataType> = {
  id: new arrow.Int32(),
  s: new arrow.Utf8(),
  n: new arrow.Int32(),
  f: new arrow.Float32(),
  st: STRUCT,
  v: listOf(new arrow.Float32()),
};
const SCHEMA = new arrow.Schema(
  Object.entries(COLUMNS).map(([name, type]) => fieldOf(name, type, name !== "id")),
  new Map([["owner", "tests"]]),
);

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let tables = 0;

/** Number of versions that {@link twins} make. */
const FIRST_VERSIONS = 3;

/** Two copies of one table of the reference: two fragments, one with deleted rows. */
async function twins(dataStorageVersion: string, stableRowIds: boolean): Promise<[Side, Side]> {
  const name = `t${tables++}`;
  await reference.createTable(root, name, arrow.tableToIPC(rowsOf(SCHEMA, 0, 12, dataStorageVersion)), {
    dataStorageVersion,
    stableRowIds,
  });
  await reference.appendTable(root, name, arrow.tableToIPC(rowsOf(SCHEMA, 12, 7, dataStorageVersion)));
  await reference.deleteRows(root, name, "id = 4 or id = 7");
  await cp(join(root, `${name}.lance`), join(root, `${name}b.lance`), { recursive: true });
  return [new Side(namespace, root, name), new Side(namespace, root, `${name}b`)];
}

async function expectSameUpdates(ours: Side, theirs: Side, what: string): Promise<void> {
  const [a, b] = await Promise.all([latestManifest(ours), latestManifest(theirs)]);
  for (const [index, fragment] of a.manifest.fragments.entries()) {
    const counterpart = b.manifest.fragments[index];
    expect(fragment.inlineLastUpdatedAtVersions, what).toEqual(counterpart.inlineLastUpdatedAtVersions);
  }
}

const CAST_NULLS = "a column of nulls in another type";

/** Each change works on the result of the one before. */
const scripts: Record<string, Change[]> = {
  "constants of all types": [
    {
      add: {
        c1: "7",
        c2: "'it''s'",
        c3: "1.5",
        c4: "true",
        c5: "cast(7 as int)",
        c6: "cast(1.5 as decimal(10,2))",
        c7: "date '2020-02-29'",
        c8: "timestamp '2020-01-01 00:00:00'",
        c9: "x'00ff'",
      },
    },
    { add: { d1: "cast(null as double)", d2: "cast(null as string)", d3: "cast(1 as smallint)" } },
    { drop: ["c1", "c5", "d1"] },
    { add: { e: "-3" } },
  ],
  "columns of nulls": [
    { addNull: ["w", "u", "z"] },
    { drop: ["u.p"] },
    { drop: ["id", "s", "n", "f", "st", "w", "z"] },
  ],
  [CAST_NULLS]: [{ addNull: ["w"] }, { alter: [{ path: "w", dataType: { type: "int64" } }] }],
  "other names": [
    { alter: [{ path: "s", rename: "text" }] },
    {
      alter: [
        { path: "st.a", rename: "A" },
        { path: "st.`b.c`", rename: "d.e" },
      ],
    },
    {
      alter: [
        { path: "n", rename: "f" },
        { path: "f", rename: "n" },
      ],
    },
    { alter: [{ path: "v", rename: "w" }] },
    { alter: [{ path: "w.item", rename: "element" }] },
  ],
  nullability: [
    { alter: [{ path: "id", nullable: true }] },
    { alter: [{ path: "id", nullable: false }] },
    { alter: [{ path: "id", nullable: false, rename: "key" }] },
  ],
  "other types": [
    { alter: [{ path: "n", dataType: { type: "int64" } }] },
    {
      alter: [
        { path: "n", dataType: { type: "int16" } },
        { path: "id", dataType: { type: "uint32" } },
      ],
    },
    {
      alter: [
        { path: "s", dataType: { type: "large_string" }, rename: "text" },
        { path: "f", rename: "g" },
      ],
    },
    { alter: [{ path: "g", dataType: { type: "double" } }] },
    {
      alter: [
        {
          path: "v",
          dataType: { type: "list", fields: [{ name: "item", type: { type: "double" }, nullable: true }] },
        },
      ],
    },
    { drop: ["text", "n"] },
  ],
  "columns dropped": [
    { drop: ["n"] },
    { drop: ["st.a"] },
    { drop: ["st.`b.c`", "s"] },
    { drop: ["st.l"] },
    { drop: ["v.item"] },
    { drop: [] },
  ],
  "versions before and after": [
    { alter: [{ path: "n", dataType: { type: "int64" } }] },
    { drop: ["s", "st.a"] },
    { restore: 3 },
    { append: rowsOf(SCHEMA, 30, 4, "2.0") },
    // The field id that the cast of n used is free again.
    { add: { c: "7" } },
    { restore: 4 },
    { add: { d: "'x'" } },
    { overwrite: rowsOf(SCHEMA, 50, 6, "2.0") },
    { addNull: ["w"] },
    { alter: [{ path: "w", dataType: { type: "int64" } }] },
    { delete: "id = 51" },
    { restore: 9 },
    { alter: [{ path: "id", rename: "key" }] },
  ],
  metadata: [
    { metadata: [{ path: "s", metadata: { a: "1", b: "2" } }] },
    {
      metadata: [
        { path: "s", metadata: { a: null, c: "3" } },
        { path: "st.`b.c`", metadata: { é: "ü" } },
      ],
    },
    { metadata: [{ path: "s", metadata: { d: "4", x: null }, replace: true }] },
    { metadata: [{ path: "v.item", metadata: { "": "empty" } }] },
    { metadata: [{ path: "id", metadata: { "lance-schema:unenforced-primary-key": "true", k: "v" } }] },
    { metadata: [] },
    { metadata: [{ path: "n", metadata: { nothing: null } }] },
    { metadata: [{ path: "n", metadata: { "ARROW:extension:name": "some.thing" } }] },
    { alter: [{ path: "id", rename: "pk" }] },
    { drop: ["pk"] },
  ],
};

describe.each(
  FILE_VERSIONS.flatMap((version) => [false, true].map((stable) => ({ version, stable }))),
)("in $version, stable row ids $stable", ({ version, stable }) => {
  it.each(Object.entries(scripts))("%s", async (name, script) => {
    const [ours, theirs] = await twins(version, stable);
    let latest = 0;
    for (const [index, change] of script.entries()) {
      const what = `change ${index}`;
      latest = await theirs.byThem(change);
      expect(await ours.byUs(change), what).toBe(latest);
      await expectAlike(ours, theirs, what);
      // The reference writes a file of nulls if it casts a column without values.
      if (name !== CAST_NULLS && name !== "versions before and after")
        await expectSameUpdates(ours, theirs, what);
    }
    for (let old = 1; old < latest; old += 3) await expectAlike(ours, theirs, `version ${old}`, old);
  });
});

describe("each goes on with what the other made", () => {
  it.each(FILE_VERSIONS)("in %s", async (version) => {
    const seed = RUN_SEED;
    console.info(`columns in ${version}: seed ${seed}`);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.boolean(), fc.nat(9), fc.nat(20)), { minLength: 3, maxLength: 9 }),
        async (steps) => {
          const [mixed, theirs] = await twins(version, steps.length % 2 === 0);
          let latest = FIRST_VERSIONS;
          for (const [index, [us, kind, pick]] of steps.entries()) {
            const { schema } = arrow.tableFromIPC(await reference.schemaIpc(root, theirs.name));
            const what = `step ${index}: ${us ? "we" : "they"}, ${kind}, ${pick}`;
            const first = 20 + 3 * index;
            const change =
              rowChangeOf(schema, kind, pick, { first, latest, version }) ??
              changeOf(schema, kind, pick, index);
            latest = await theirs.byThem(change);
            expect(us ? await mixed.byUs(change) : await mixed.byThem(change), what).toBe(latest);
            await expectAlike(mixed, theirs, what);
          }
          for (let old = 1; old < latest; old += 2) await expectAlike(mixed, theirs, `version ${old}`, old);
        },
      ),
      { numRuns: runsOf("COLUMN_RUNS", 2), seed },
    );
  });
});

interface RowState {
  readonly first: number;
  readonly latest: number;
  readonly version: string;
}

/** A change of rows, or null if `kind` is a change of columns. */
function rowChangeOf(
  schema: arrow.Schema,
  kind: number,
  pick: number,
  { first, latest, version }: RowState,
): Change | null {
  switch (kind) {
    case 0:
      return { append: rowsOf(schema, first, 3, version) };
    case 7: {
      const kept = schema.fields.filter(({ name }, index) => name === "id" || index % 4 !== pick % 4);
      return { overwrite: rowsOf(new arrow.Schema(kept, schema.metadata), first, 6, version) };
    }
    case 8:
      return { restore: 1 + (pick % latest) };
    case 9:
      return { delete: `id % 5 = ${pick % 5}` };
  }
  return null;
}

function changeOf(schema: arrow.Schema, kind: number, pick: number, step: number): Change {
  const others = schema.fields.filter((field) => field.name !== "id");
  const field = others[pick % Math.max(others.length, 1)];
  const added: Change = {
    add: { [`c${step}`]: ["7", "'x'", "cast(null as string)", "cast(2 as int)", "2.5"][pick % 5] },
  };
  if (field === undefined) return added;
  const path = field.name;
  switch (kind) {
    case 1:
      return added;
    case 2:
      return { alter: [{ path, rename: `r${step}` }] };
    case 3:
      return { drop: [path] };
    case 4:
      return {
        metadata: [{ path: "id", metadata: { [`k${pick % 3}`]: String(step) }, replace: pick % 4 === 0 }],
      };
    case 5:
      return field.nullable ? added : { alter: [{ path, nullable: true }] };
  }
  const wider = WIDER[String(field.type)];
  return wider === undefined ? added : { alter: [{ path, dataType: { type: wider } }] };
}

const WIDER: Record<string, string> = {
  Int32: "int64",
  Int64: "int16",
  Int16: "int32",
  Float32: "double",
  Float64: "float",
  Utf8: "large_string",
};

describe("columns of nulls of every type", () => {
  const types = [
    ...["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
    ...["halffloat", "float", "double", "string", "large_string", "binary", "large_binary"],
    ...["date32:day", "date64:ms", "timestamp:s:-", "timestamp:ns:UTC", "timestamp:us:Europe/Berlin"],
    ...["time32:s", "time32:ms", "time64:us", "time64:ns", "duration:s", "duration:ns"],
    ...["decimal:128:10:2", "decimal:256:40:3", "fixed_size_binary:7", "fixed_size_list:float:4"],
    ...["dict:string:int32:false", "dict:large_string:int8:false"],
  ];

  it.each(FILE_VERSIONS)("in %s", async (version) => {
    const [ours, theirs] = await twins(version, false);
    const newColumns = types.map((type, index) => ({ name: `x${index}`, dataType: type }));
    await namespace.alterTableAddColumns({ id: [ours.name], newColumns });
    const fields = types.map((type, index) =>
      fieldOf(`x${index}`, arrowTypeFromLogical(parseType(type), "x")),
    );
    await reference.addNullColumns(
      root,
      theirs.name,
      arrow.tableToIPC(new arrow.Table(new arrow.Schema(fields))),
    );
    await expectAlike(ours, theirs, "all");
    // Appended rows may have values of computed columns, or none.
    const { schema } = arrow.tableFromIPC(await theirs.readByThem());
    const rows = rowsOf(
      new arrow.Schema(schema.fields.filter(({ name }) => !name.startsWith("x"))),
      30,
      3,
      version,
    );
    await ours.byUs({ append: rows });
    const seen = arrow.tableFromIPC(await ours.readByThem());
    expect(seen.numRows).toBe(20);
    compareTables(seen, await ours.readByUs());
  });
});
