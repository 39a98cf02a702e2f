/** Both engines keep unknown extension types on any storage type, also through appends. */

import * as arrow from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fieldOf } from "../support/arrowColumns.js";
import { sharedDirectory } from "../support/fixtures.js";
import { compareTables, reference } from "../support/reference.js";

const VERSIONS = ["2.0", "2.1", "2.2"] as const;
const root = sharedDirectory();

const extension = (name: string, metadata?: string): Map<string, string> =>
  new Map([
    ["ARROW:extension:name", name],
    ...(metadata === undefined ? [] : [["ARROW:extension:metadata", metadata] as const]),
    ["other", "kept as well"],
  ]);
const item = (type: arrow.DataType, metadata?: Map<string, string>) =>
  new arrow.Field("item", type, true, metadata);
const BFLOAT16 = new Map([
  ["ARROW:extension:name", "lance.bfloat16"],
  ["ARROW:extension:metadata", ""],
]);

const COLUMNS: [arrow.Field, unknown[]][] = [
  [
    new arrow.Field("uuid", new arrow.FixedSizeBinary(16), true, extension("arrow.uuid", "")),
    [new Uint8Array(16).fill(7), null],
  ],
  [
    new arrow.Field("shape", new arrow.Binary(), true, extension("geoarrow.wkb", '{"crs":"é"}')),
    [Uint8Array.of(1, 2), null],
  ],
  [new arrow.Field("number", new arrow.Int32(), true, extension("some.number")), [1, null]],
  [
    new arrow.Field(
      "tensor",
      new arrow.FixedSizeList(4, item(new arrow.Float32())),
      true,
      extension("arrow.fixed_shape_tensor", '{"shape":[2,2]}'),
    ),
    [[1, 2, 3, 4], null],
  ],
  [
    fieldOf("bfloats", new arrow.FixedSizeList(2, item(new arrow.FixedSizeBinary(2), BFLOAT16))),
    [[Uint8Array.of(1, 2), Uint8Array.of(3, 4)], null],
  ],
  [
    new arrow.Field(
      "choice",
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
      true,
      extension("some.choice", "c"),
    ),
    ["a", null],
  ],
  [
    new arrow.Field(
      "outer",
      new arrow.Struct([new arrow.Field("inner", new arrow.Int32(), true, extension("in.ner", "i"))]),
      true,
      extension("out.er", "o"),
    ),
    [{ inner: 1 }, { inner: null }],
  ],
  [
    new arrow.Field(
      "words",
      new arrow.List(item(new arrow.Utf8(), extension("some.word"))),
      true,
      extension("some.words", ""),
    ),
    [["a"], null],
  ],
];

describe.each(VERSIONS)("version %s", (version) => {
  let namespace: DirectoryNamespace;
  beforeAll(() => {
    namespace = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: version });
  });
  afterAll(() => namespace.close());

  it("extension types on every kind of storage", async () => {
    const tableOf = (withMetadata: boolean) => {
      const fields = COLUMNS.map(
        ([{ name, type, metadata }]) =>
          new arrow.Field(name, type, true, withMetadata ? metadata : undefined),
      );
      const columns = COLUMNS.map(([{ name, type }, values]) => [name, arrow.vectorFromArray(values, type)]);
      return new arrow.Table(new arrow.Schema(fields), Object.fromEntries(columns));
    };
    const rows = tableOf(true);
    const [ours, theirs] = [`ours${version}`, `theirs${version}`];
    await namespace.createTable({ id: [ours] }, rows);
    await reference.createTable(root, theirs, arrow.tableToIPC(rows), { dataStorageVersion: version });
    for (const name of [ours, theirs]) {
      await reference.appendTable(root, name, arrow.tableToIPC(rows));
      // The table's schema names the extension; appended rows need not.
      await namespace.insertIntoTable({ id: [name] }, tableOf(false));
      const expected = rows.concat(rows, rows);
      compareTables(expected, arrow.tableFromIPC(await reference.readTable(root, name)));
      compareTables(expected, await namespace.table([name]).scan().toArrow());
    }
    expect(await reference.schemaJson(root, ours)).toEqual(await reference.schemaJson(root, theirs));
  });
});
