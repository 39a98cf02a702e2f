/** JSON, bfloat16, extension types, dictionaries and blobs, in both directions. */

import * as arrow from "apache-arrow";
import { describe, expect, it } from "vitest";
import { columnsOf, int32s } from "../support/arrowColumns.js";
import { FILE_VERSIONS, type FileVersion } from "../support/interop.js";
import { Exchange } from "./support/exchange.js";
import { ITS_OWN_FAULT, MAJORS, openPair } from "./support/pylance.js";

const extension = (name: string, metadata?: string): Map<string, string> =>
  new Map([
    ["ARROW:extension:name", name],
    ...(metadata === undefined ? [] : [["ARROW:extension:metadata", metadata] as const]),
  ]);
const item = (type: arrow.DataType, metadata?: Map<string, string>) =>
  new arrow.Field("item", type, true, metadata);
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** A field of each type, and values for it, which repeat. */
const COLUMNS: readonly (readonly [arrow.Field, readonly unknown[]])[] = [
  [
    new arrow.Field("uuid", new arrow.FixedSizeBinary(16), true, extension("arrow.uuid", "")),
    [new Uint8Array(16).fill(7), null, new Uint8Array(16).fill(255)],
  ],
  [new arrow.Field("unknown", new arrow.Int32(), true, extension("some.number", "é")), [1, null, -5]],
  [
    new arrow.Field("wkb", new arrow.Binary(), true, extension("geoarrow.wkb", '{"crs":"é"}')),
    [bytes(1, 2), null, bytes()],
  ],
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
    new arrow.Field("bfloat16", new arrow.FixedSizeBinary(2), true, extension("lance.bfloat16", "")),
    [bytes(0x80, 0x3f), null, bytes(0, 0xc0)],
  ],
  [
    new arrow.Field(
      "bfloat16Vector",
      new arrow.FixedSizeList(2, item(new arrow.FixedSizeBinary(2), extension("lance.bfloat16", ""))),
      true,
    ),
    [[bytes(0x80, 0x3f), bytes(0, 0x40)], null],
  ],
  [
    new arrow.Field("float16Vector", new arrow.FixedSizeList(3, item(new arrow.Float16())), true),
    [[1, 2, -0.5], null],
  ],
  [
    new arrow.Field("codes", new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8(), 101), true),
    ["red", null, "green", "red"],
  ],
  [
    new arrow.Field("wide", new arrow.Dictionary(new arrow.Int64(), new arrow.Int32(), 102), true),
    [7n, null, 2n ** 62n],
  ],
  [
    new arrow.Field(
      "nested",
      new arrow.Struct([new arrow.Field("inner", new arrow.Int32(), true, extension("in.ner", "i"))]),
      true,
    ),
    [{ inner: 1 }, { inner: null }],
  ],
  [
    new arrow.Field(
      "words",
      new arrow.List(item(new arrow.Utf8(), extension("some.word", ""))),
      true,
      extension("some.words", ""),
    ),
    [["a", null], null, []],
  ],
];

const ROWS = 300;

function rowsOf(columns: readonly (readonly [arrow.Field, readonly unknown[]])[]): arrow.Table {
  const vectors = columns.map(([{ name, type }, values]) => [
    name,
    columnsOf(type)(ROWS, (row) => values[row % values.length]),
  ]);
  return new arrow.Table(new arrow.Schema(columns.map(([field]) => field)), Object.fromEntries(vectors));
}

const JSON_FIELD = new arrow.Field("j", new arrow.Utf8(), true, extension("arrow.json", ""));
const DOCUMENTS = [
  '{"a":1,"b":[true,null,"x"],"c":{"d":-2.5}}',
  null,
  '"text"',
  "[]",
  '{"a":"ü","e":18446744073709551615}',
];

/** Kinds of blobs, with sizes for the data file, a shared side file, and a side file of their own. */
const BLOBS = [
  {
    kind: "blobs of version 1",
    versions: ["2.0", "2.1"],
    fieldOf: () =>
      new arrow.Field("b", new arrow.LargeBinary(), true, new Map([["lance-encoding:blob", "true"]])),
    wrap: (value: Uint8Array) => value,
    sizes: [5, 0, 64, null, 3000, 70_000, null, 1],
    largest: 300_000,
  },
  {
    kind: "blobs of version 2",
    versions: ["2.2"],
    // Up to Lance 11, a range of a file beside the bytes belongs to the type.
    fieldOf: (major: number) => {
      const members = [
        new arrow.Field("data", new arrow.LargeBinary(), true),
        new arrow.Field("uri", new arrow.Utf8(), true),
      ];
      const range = ["position", "size"].map((name) => new arrow.Field(name, new arrow.Uint64(), true));
      const type = new arrow.Struct(major < 12 ? [...members, ...range] : members);
      return new arrow.Field("b", type as arrow.DataType, true, extension("lance.blob.v2"));
    },
    wrap: (data: Uint8Array) => ({ data, uri: null, position: null, size: null }),
    sizes: [5, 64, null, 70_000, 65_536, 65_537, null, 9],
    /** Sent to one release only, because it takes seconds. */
    largest: 4_194_305,
  },
] as const;

/** Bytes that tell their row. */
const blobOf = (row: number, size: number): Uint8Array =>
  Uint8Array.from({ length: size }, (_, index) => row * 31 + index * 7 + (index >>> 8));
const hex = (value: Uint8Array | null): string | null =>
  value === null ? null : Buffer.from(value).toString("hex");

describe.each(MAJORS)("pylance %i", (major) => {
  const pair = openPair(major);

  describe.each(FILE_VERSIONS)("data files %s", (version: FileVersion) => {
    const exchange = () => new Exchange(pair, version, { metadata: true });

    it("reads our extension types, half floats and dictionaries", async () => {
      expect(await exchange().columnsWrittenHere(rowsOf(COLUMNS))).toEqual(new Map());
    });

    it("writes extension types, half floats and dictionaries that we read", async () => {
      expect(await exchange().columnsWrittenThere(rowsOf(COLUMNS))).toEqual(new Map());
    });

    it.each(["here", "there"] as const)("reads JSON written %s as we do", async (by) => {
      const name = pair.freshName();
      const rows = rowsOf([[JSON_FIELD, DOCUMENTS]]);
      if (by === "here") await pair.namespaces[version].createTable({ id: [name] }, rows);
      else await pair.there("write", name, rows, { data_storage_version: version });
      const textsOf = (table: arrow.Table) => Array.from(table.getChild("j") ?? []);
      const here = textsOf(await pair.rowsHere(name));
      expect(textsOf(await pair.rowsThere(name))).toEqual(here);
      expect(here.map((text) => (text === null ? null : JSON.parse(text)))).toEqual(
        Array.from({ length: ROWS }, (_, row) => DOCUMENTS[row % DOCUMENTS.length]).map((text) =>
          text === null ? null : JSON.parse(text),
        ),
      );
    });
  });

  describe.each(BLOBS)("$kind", ({ versions, fieldOf, wrap, sizes: usual, largest }) => {
    const sizes = major === MAJORS.at(-1) ? [...usual, largest] : usual;
    const ids = (first: number) => sizes.map((_, row) => first + row);
    const bytesFrom = (first: number) =>
      sizes.map((size, row) => (size === null ? null : blobOf(first + row, size)));
    const rowsFrom = (first: number) => {
      const field = fieldOf(major);
      return new arrow.Table(new arrow.Schema([new arrow.Field("id", new arrow.Int32(), true), field]), {
        id: int32s(ids(first)),
        b: columnsOf(field.type)(bytesFrom(first).map((value) => (value === null ? null : wrap(value)))),
      });
    };
    // pylance makes blobs of version 2 from bytes only.
    const writeThere = (name: string, version: FileVersion, first: number, options: object) =>
      version === "2.2"
        ? pair.there("write_blobs", name, ids(first), bytesFrom(first).map(hex), options)
        : pair.there("write", name, rowsFrom(first), options);
    const presentOf = (values: readonly unknown[]) =>
      [...values.keys()].filter((row) => values[row] !== null);
    const blobsThere = (name: string, values: readonly unknown[]) =>
      pair.there("blobs", name, "b", presentOf(values));
    /** Both engines read these values. */
    const expectBlobs = async (name: string, values: readonly (Uint8Array | null)[]) => {
      const present = presentOf(values);
      const wanted = present.map((row) => hex(values[row]));
      const table = pair.namespace.table([name]);
      const taken = await table.takeBlobs("b", present);
      expect(await Promise.all(taken.map(async (blob) => hex((await blob?.read()) ?? null)))).toEqual(wanted);
      expect(await table.countRows("b IS NULL")).toBe(values.length - present.length);
      expect(await blobsThere(name, values)).toEqual(wanted);
    };
    const values = [...bytesFrom(0), ...bytesFrom(100)];
    // The first row of each fragment is deleted.
    const GONE = "id % 100 = 0";
    const left = values.filter((_, row) => row % sizes.length !== 0);

    it.for(
      versions.flatMap((version) => [
        { version, by: "here" as const, said: `written by us, data files ${version}` },
        { version, by: "there" as const, said: `written by pylance, data files ${version}` },
      ]),
    )("$said", async ({ version, by }, { annotate }) => {
      const name = pair.freshName();
      const table = pair.namespace.table([name]);
      if (by === "here") {
        await pair.namespaces[version].createTable({ id: [name] }, rowsFrom(0));
        await writeThere(name, version, 100, { mode: "append" });
      } else {
        await writeThere(name, version, 0, { data_storage_version: version });
        await table.insert(rowsFrom(100));
      }
      await expectBlobs(name, values);
      await table.delete(GONE);
      await expectBlobs(name, left);
      if (by === "there") {
        await table.optimize();
        await expectBlobs(name, left);
        return;
      }
      if (major > 9 || version !== "2.0") {
        await pair.there("compact", name);
        await expectBlobs(name, left);
        return;
      }
      // pylance 9 makes all blobs empty, in a table of its own too.
      const alone = pair.freshName();
      await writeThere(alone, version, 0, { data_storage_version: version });
      await writeThere(alone, version, 100, { mode: "append" });
      await pair.there("delete", alone, GONE);
      await pair.there("compact", alone);
      const lost = presentOf(left).map(() => "");
      expect(await blobsThere(alone, left)).toEqual(lost);
      await annotate("a compaction makes blobs of data files 2.0 empty", ITS_OWN_FAULT);
    });
  });
});
