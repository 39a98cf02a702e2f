/**
 * Columns added, altered and dropped, and metadata changed: the same change by us to one copy of a table and by the
 * reference to another leaves the same schema, rows and metadata, whoever reads them; and both go on with what the
 * other made.
 */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import {
  type DataType,
  Field,
  FixedSizeList,
  Float32,
  Int32,
  type Int64,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Manifest } from "../../src/format/table.js";
import { NodeDisk } from "../../src/io/nodeDisk.js";
import type { AlterTableAddColumnsRequest, AlterTableAlterColumnsRequest } from "../../src/namespace.js";
import { readManifestFile } from "../../src/table/manifest.js";
import { findLatestVersion } from "../../src/table/versions.js";
import { FILE_VERSIONS } from "../support/interop.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const STRUCT = new Struct([
  new Field("a", new Int32(), true),
  new Field("b.c", new Utf8(), true),
  new Field("l", new List(new Field("item", new Int32(), true)), true),
]);
const COLUMNS: Record<string, DataType> = {
  id: new Int32(),
  s: new Utf8(),
  n: new Int32(),
  f: new Float32(),
  st: STRUCT,
  v: new List(new Field("item", new Float32(), true)),
};
const SCHEMA = new Schema(
  Object.entries(COLUMNS).map(([name, type]) => new Field(name, type, name !== "id")),
  new Map([["owner", "tests"]]),
);

/** Deterministic values of a type; every fifth row is null where it may be. */
function sampleOf(type: DataType, row: number, nullable: boolean): unknown {
  if (nullable && row % 5 === 4) return null;
  switch (type.typeId) {
    case 2:
      return (type as Int64 | Int32).bitWidth === 64 ? BigInt(row % 100) : row % 100;
    case 3:
      return (row % 50) / 2;
    case 5:
    case 20:
      return `row ${row % 7}`;
    case 6:
      return row % 2 === 0;
    case 12:
    case 21:
      return Array.from({ length: row % 3 }, (_, index) =>
        sampleOf(type.children[0].type, row + index, true),
      );
    case 13:
      return Object.fromEntries(
        type.children.map(({ name, type: child, nullable: may }) => [name, sampleOf(child, row, may)]),
      );
  }
  return null;
}

/** Files of 2.0 cannot say that a struct is null. */
function rowsOf(schema: Schema, first: number, count: number, version: string): Table {
  const children = schema.fields.map(({ type, nullable }) => {
    const mayBeNull = nullable && !(version === "2.0" && type instanceof Struct);
    const values = Array.from({ length: count }, (_, row) => sampleOf(type, first + row, mayBeNull));
    return vectorFromArray(values as never[], type as never).data[0];
  });
  const data = makeData({ type: new Struct(schema.fields), length: count, children: children as never });
  return new Table(schema, new RecordBatch(schema, data as never));
}

type Added = AlterTableAddColumnsRequest["newColumns"];
type Alterations = AlterTableAlterColumnsRequest["alterations"];

/** A change that both can make. */
type Change =
  | { readonly add: Readonly<Record<string, string>> }
  | { readonly addNull: readonly string[] }
  | { readonly alter: Alterations }
  | { readonly drop: readonly string[] }
  | {
      readonly metadata: readonly {
        path: string;
        metadata: Record<string, string | null>;
        replace?: boolean;
      }[];
    };

/** Columns of nulls, as we and as the reference are told of them. */
const NULL_COLUMNS: Record<string, { json: unknown; type: DataType }> = {
  w: { json: { type: "int32" }, type: new Int32() },
  u: {
    json: {
      type: "struct",
      fields: [
        { name: "p", type: { type: "utf8" } },
        { name: "q", type: { type: "list", fields: [{ name: "item", type: { type: "float32" } }] } },
      ],
    },
    type: new Struct([
      new Field("p", new Utf8(), true),
      new Field("q", new List(new Field("item", new Float32(), true)), true),
    ]),
  },
  z: {
    json: { type: "fixed_size_list", length: 3, fields: [{ name: "item", type: { type: "float" } }] },
    type: new FixedSizeList(3, new Field("item", new Float32(), true)),
  },
};

class Side {
  constructor(
    readonly namespace: DirectoryNamespace,
    readonly root: string,
    readonly name: string,
  ) {}

  async byUs(change: Change): Promise<number> {
    const id = [this.name];
    if ("add" in change) {
      const newColumns: Added = Object.entries(change.add).map(([name, expression]) => ({
        name,
        expression,
      }));
      return (await this.namespace.alterTableAddColumns({ id, newColumns })).version;
    }
    if ("addNull" in change) {
      const newColumns = change.addNull.map((name) => ({ name, dataType: NULL_COLUMNS[name].json as never }));
      return (await this.namespace.alterTableAddColumns({ id, newColumns })).version;
    }
    if ("alter" in change) {
      return (await this.namespace.alterTableAlterColumns({ id, alterations: change.alter })).version;
    }
    if ("drop" in change)
      return (await this.namespace.alterTableDropColumns({ id, columns: change.drop })).version;
    return (await this.namespace.updateFieldMetadata({ id, updates: change.metadata })).version;
  }

  async byThem(change: Change): Promise<number> {
    const { root, name } = this;
    if ("add" in change) return (await reference.addColumns(root, name, change.add)).version;
    if ("addNull" in change) {
      const fields = change.addNull.map((column) => new Field(column, NULL_COLUMNS[column].type, true));
      const schema = tableToIPC(new Table(new Schema(fields)));
      return (await reference.addNullColumns(root, name, schema)).version;
    }
    if ("alter" in change) return (await reference.alterColumns(root, name, change.alter as never)).version;
    if ("drop" in change) return (await reference.dropColumns(root, name, [...change.drop])).version;
    return (await reference.updateFieldMetadata(root, name, [...change.metadata])).version;
  }

  readByUs = (): Promise<Table> => this.namespace.table([this.name]).scan().toArrow();
  readByThem = (): Promise<Uint8Array> => reference.readTable(this.root, this.name);
}

const disk = new NodeDisk({ durability: "none" });
async function latestManifest({ root, name }: Side) {
  const entry = await findLatestVersion(disk, join(root, `${name}.lance`));
  return (await readManifestFile(disk, entry!.path))!;
}

let root: string;
let namespace: DirectoryNamespace;
let tables = 0;
beforeAll(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none" });
});
afterAll(() => namespace.close());

/** Two copies of one table of the reference: two fragments, one with deleted rows. */
async function twins(dataStorageVersion: string, stableRowIds: boolean): Promise<[Side, Side]> {
  const name = `t${tables++}`;
  await reference.createTable(root, name, tableToIPC(rowsOf(SCHEMA, 0, 12, dataStorageVersion)), {
    dataStorageVersion,
    stableRowIds,
  });
  await reference.appendTable(root, name, tableToIPC(rowsOf(SCHEMA, 12, 7, dataStorageVersion)));
  await reference.deleteRows(root, name, "id = 4 or id = 7");
  await cp(join(root, `${name}.lance`), join(root, `${name}b.lance`), { recursive: true });
  return [new Side(namespace, root, name), new Side(namespace, root, `${name}b`)];
}

/** Everything that both see of both tables is the same. */
async function expectAlike(ours: Side, theirs: Side, what: string): Promise<void> {
  const expected = await theirs.readByThem();
  for (const [who, read] of [
    ["we of ours", ours.readByUs],
    ["they of ours", ours.readByThem],
    ["we of theirs", theirs.readByUs],
  ] as const) {
    try {
      compareTables(expected, await read());
    } catch (error) {
      throw new Error(`${what}: ${who}: ${String(error)}`);
    }
  }
  const [a, b] = await Promise.all([latestManifest(ours), latestManifest(theirs)]);
  expect(outline(a.manifest), what).toEqual(outline(b.manifest));
}

/** With stable row ids, both say the same of which version changed which rows. */
async function expectSameUpdates(ours: Side, theirs: Side, what: string): Promise<void> {
  const [a, b] = await Promise.all([latestManifest(ours), latestManifest(theirs)]);
  for (const [index, fragment] of a.manifest.fragments.entries()) {
    const other = b.manifest.fragments[index];
    expect(fragment.inlineLastUpdatedAtVersions, what).toEqual(other.inlineLastUpdatedAtVersions);
  }
}

const outline = (manifest: Manifest) => ({
  version: manifest.version,
  fields: manifest.fields.map((field) => ({ ...field, metadata: Object.fromEntries(field.metadata) })),
  flags: [manifest.readerFeatureFlags, manifest.writerFeatureFlags],
  fragments: manifest.fragments.map((fragment) => [
    fragment.id,
    fragment.physicalRows,
    fragment.deletionFile?.numDeletedRows,
    fragment.inlineCreatedAtVersions,
    fragment.inlineRowIds,
  ]),
});

const CAST_NULLS = "a column of nulls in another type";

/** Changes one after the other, each of what the one before left. */
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
    for (const [index, change] of script.entries()) {
      const what = `change ${index}`;
      expect(await ours.byUs(change), what).toBe(await theirs.byThem(change));
      await expectAlike(ours, theirs, what);
      // The reference writes a file of nulls where it casts a column that had none.
      if (name !== CAST_NULLS) await expectSameUpdates(ours, theirs, what);
    }
  });
});

describe("each goes on with what the other made", () => {
  it.each(FILE_VERSIONS)("in %s", async (version) => {
    const seed = Number(process.env.FC_SEED ?? Date.now() % 1_000_000_007);
    console.info(`columns in ${version}: seed ${seed}`);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.boolean(), fc.nat(6), fc.nat(20)), { minLength: 3, maxLength: 8 }),
        async (steps) => {
          const [mixed, theirs] = await twins(version, steps.length % 2 === 0);
          let count = 19;
          for (const [index, [us, kind, pick]] of steps.entries()) {
            const { schema } = tableFromIPC(await reference.schemaIpc(root, theirs.name));
            const what = `step ${index}: ${us ? "we" : "they"}, ${kind}, ${pick}`;
            if (kind === 0) {
              const rows = rowsOf(schema, count, 3, version);
              count += 3;
              if (us) await namespace.insertIntoTable({ id: [mixed.name] }, rows);
              else await reference.appendTable(root, mixed.name, tableToIPC(rows));
              await reference.appendTable(root, theirs.name, tableToIPC(rows));
            } else {
              const change = changeOf(schema, kind, pick, index);
              if (us) await mixed.byUs(change);
              else await mixed.byThem(change);
              await theirs.byThem(change);
            }
            await expectAlike(mixed, theirs, what);
          }
        },
      ),
      { numRuns: Number(process.env.COLUMN_RUNS ?? 3), seed },
    );
  });
});

/** A change of that kind that the schema allows. */
function changeOf(schema: Schema, kind: number, pick: number, step: number): Change {
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
