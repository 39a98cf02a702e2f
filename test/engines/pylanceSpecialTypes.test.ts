/** Types with a meaning of their own: JSON, bfloat16, extension types, dictionaries, and blobs, in both directions. */

import {
  Binary,
  type DataType,
  Dictionary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float16,
  Float32,
  Int8,
  Int32,
  Int64,
  List,
  Schema,
  Struct,
  Table,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeAll, FILE_VERSIONS, type FileVersion, namespacesOf } from "../support/interop.js";
import { Exchange } from "./support/exchange.js";
import { MAJORS, PylancePair } from "./support/pylance.js";

const extension = (name: string, metadata?: string): Map<string, string> =>
  new Map([
    ["ARROW:extension:name", name],
    ...(metadata === undefined ? [] : [["ARROW:extension:metadata", metadata] as const]),
  ]);
const item = (type: DataType, metadata?: Map<string, string>) => new Field("item", type, true, metadata);
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** A field of each type, and values for it, which repeat. */
const COLUMNS: readonly (readonly [Field, readonly unknown[]])[] = [
  [
    new Field("uuid", new FixedSizeBinary(16), true, extension("arrow.uuid", "")),
    [new Uint8Array(16).fill(7), null, new Uint8Array(16).fill(255)],
  ],
  [new Field("unknown", new Int32(), true, extension("some.number", "é")), [1, null, -5]],
  [
    new Field("wkb", new Binary(), true, extension("geoarrow.wkb", '{"crs":"é"}')),
    [bytes(1, 2), null, bytes()],
  ],
  [
    new Field(
      "tensor",
      new FixedSizeList(4, item(new Float32())),
      true,
      extension("arrow.fixed_shape_tensor", '{"shape":[2,2]}'),
    ),
    [[1, 2, 3, 4], null],
  ],
  [
    new Field("bfloat16", new FixedSizeBinary(2), true, extension("lance.bfloat16", "")),
    [bytes(0x80, 0x3f), null, bytes(0, 0xc0)],
  ],
  [
    new Field(
      "bfloat16Vector",
      new FixedSizeList(2, item(new FixedSizeBinary(2), extension("lance.bfloat16", ""))),
      true,
    ),
    [[bytes(0x80, 0x3f), bytes(0, 0x40)], null],
  ],
  [new Field("float16Vector", new FixedSizeList(3, item(new Float16())), true), [[1, 2, -0.5], null]],
  [new Field("codes", new Dictionary(new Utf8(), new Int8(), 101), true), ["red", null, "green", "red"]],
  [new Field("wide", new Dictionary(new Int64(), new Int32(), 102), true), [7n, null, 2n ** 62n]],
  [
    new Field("nested", new Struct([new Field("inner", new Int32(), true, extension("in.ner", "i"))]), true),
    [{ inner: 1 }, { inner: null }],
  ],
  [
    new Field(
      "words",
      new List(item(new Utf8(), extension("some.word", ""))),
      true,
      extension("some.words", ""),
    ),
    [["a", null], null, []],
  ],
];

const ROWS = 300;

function rowsOf(columns: readonly (readonly [Field, readonly unknown[]])[]): Table {
  const vectors = columns.map(([{ name, type }, values]) => [
    name,
    vectorFromArray(
      Array.from({ length: ROWS }, (_, row) => values[row % values.length]),
      type,
    ),
  ]);
  return new Table(new Schema(columns.map(([field]) => field)), Object.fromEntries(vectors));
}

const JSON_FIELD = new Field("j", new Utf8(), true, extension("arrow.json", ""));
const DOCUMENTS = [
  '{"a":1,"b":[true,null,"x"],"c":{"d":-2.5}}',
  null,
  '"text"',
  "[]",
  '{"a":"ü","e":18446744073709551615}',
];

describe.each(MAJORS)("pylance %i", (major) => {
  let pair: PylancePair;
  let namespaces: ReturnType<typeof namespacesOf>;
  beforeAll(async () => {
    pair = await PylancePair.open(major);
    namespaces = namespacesOf(pair.root);
  });
  afterAll(async () => {
    await closeAll(namespaces);
    await pair[Symbol.asyncDispose]();
  });

  describe.each(FILE_VERSIONS)("data files %s", (version: FileVersion) => {
    it("reads our extension types, half floats and dictionaries", async () => {
      expect(
        await new Exchange(pair, namespaces, version, { metadata: true }).columnsWrittenHere(rowsOf(COLUMNS)),
      ).toEqual(new Map());
    });

    it("writes extension types, half floats and dictionaries that we read", async () => {
      expect(
        await new Exchange(pair, namespaces, version, { metadata: true }).columnsWrittenThere(
          rowsOf(COLUMNS),
        ),
      ).toEqual(new Map());
    });

    it.each(["here", "there"] as const)("reads JSON written %s as we do", async (by) => {
      const name = pair.freshName();
      const rows = rowsOf([[JSON_FIELD, DOCUMENTS]]);
      if (by === "here") await namespaces[version].createTable({ id: [name] }, rows);
      else await pair.there("write", name, rows, { data_storage_version: version });
      const textsOf = (table: Table) => Array.from(table.getChild("j") ?? []);
      const here = textsOf(await pair.rowsHere(name));
      expect(textsOf(await pair.rowsThere(name))).toEqual(here);
      expect(here.map((text) => (text === null ? null : JSON.parse(text)))).toEqual(
        Array.from({ length: ROWS }, (_, row) => DOCUMENTS[row % DOCUMENTS.length]).map((text) =>
          text === null ? null : JSON.parse(text),
        ),
      );
    });
  });
});
