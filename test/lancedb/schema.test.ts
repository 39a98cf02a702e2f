/** Inference of schemas: the drop-in's against that of LanceDB's native package, on rows of all kinds. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as ours from "../../src/lancedb/arrow.js";
import { inferSchema } from "../../src/lancedb/schema.js";
import { runsOf } from "../support/effort.js";
import { nativeModule, outcomeOf, schemaText } from "../support/nativeLancedb.js";

const native = nativeModule<typeof ours>("arrow");

type Rows = Record<string, unknown>[];
type Options = (arrow: typeof ours) => Partial<ours.MakeArrowTableOptions>;

/** Expects the same table or the same sentence from both. */
function expectAlike(rows: Rows, options: Options = () => ({})): void {
  const expected = outcomeOf(() => native.makeArrowTable(rows, options(native)));
  expect(outcomeOf(() => ours.makeArrowTable(rows, options(ours)))).toBe(expected);
}

const INFERRED: Record<string, Rows> = {
  "no row": [],
  "an empty row": [{}],
  "only undefined": [{ d: undefined }],
  "sparse rows": [{ b: 1, a: 2 }, { c: 3 }],
  "a null before a value": [{ d: null }, { d: 1 }],
  "a struct of several rows": [{ d: { a: 1 } }, { d: { b: 2 } }],
  "a struct that is null": [{ d: { a: 1 } }, { d: null }],
  "an empty struct": [{ d: {} }, { d: { a: 1 } }],
  "structs in structs": [
    { a: { b: { c: { d: [1] } } } },
    { a: { b: { c: { e: "x" } } } },
    { a: { f: true } },
  ],
  "an empty list before another": [{ d: [] }, { d: [1] }],
  "a list of lists": [{ d: [[1], [2, 3]] }],
  "lists that are empty inside": [{ d: [[], [1]] }],
  "a list with holes": [{ d: Array.of(undefined, 1) }],
  "a vector": [{ vector: [1, 2] }],
  "a vector with holes": [{ vector: Array(3) }],
  "a null vector": [{ vector: null }, { vector: [1, 2] }],
  "a column named for embeddings": [{ Doc_Embeddings: [1, 2] }],
  "a vector in a struct": [{ s: { vector: [1, 2] } }],
  "a buffer": [{ x: Buffer.from("ab") }],
  "typed arrays": [
    { a: new Float64Array(2), b: new Int32Array(1), c: new Uint8Array(3), d: new Uint16Array(1) },
  ],
  "a list of typed arrays": [{ s: [new Float32Array(1), new Float32Array(1)] }],
  "lists of nulls beside vectors": [{ embedding: [null, null] }, { embedding: [1, 2] }],
  "an object of a class": [
    new (class {
      x = 1;
      get y() {
        return 2;
      }
    })() as unknown as Record<string, unknown>,
  ],
  "an object without prototype": [Object.assign(Object.create(null), { x: 1 })],
  "names with dots": [{ "a.b": 1, "": 2 }],
  "members by symbols": [{ [Symbol("a")]: 1, b: 1 }],
};

const REFUSED: Record<string, Rows> = {
  "a date": [{ d: new Date(0) }],
  "a date after a null": [{ d: null }, { d: new Date(0) }],
  "only nulls": [{ a: 1 }, { d: null }, { d: null }],
  "only empty lists": [{ d: [] }, { d: [[]] }],
  "a list of different values": [{ d: [1, "a"] }],
  "a list of objects": [{ d: [{ a: 1 }] }],
  "a list of dates": [{ d: [1] }, { d: [new Date(0)] }],
  "numbers and texts": [{ d: 1 }, { d: "a" }],
  "numbers and bigints": [{ d: 1n }, { d: 2 }],
  "lists and numbers": [{ d: [] }, { d: 1 }],
  "lists of different items": [{ d: [[1]] }, { d: [["a"]] }],
  "structs and numbers": [{ s: { t: { u: 1 } } }, { s: { t: "a" } }],
  "structs and lists": [{ s: { t: 1 } }, { s: [1] }],
  "vectors of two lengths": [{ vector: [1, 2] }, { vector: [1, 2, 3] }],
  "an empty vector": [{ vector: [1, 2] }, { vector: [] }],
  "typed arrays of two kinds": [{ v: new Float32Array(1) }, { v: new Float64Array(1) }],
  "a buffer and a typed array": [{ x: Buffer.from("ab") }, { x: new Uint8Array(2) }],
  "maps and sets": [{ x: new Map([["a", 1]]) }],
  functions: [{ x: () => 1 }],
  symbols: [{ x: Symbol("a") }],
  "a regular expression": [{ x: /a/ }],
  "a bigint array": [{ x: new BigInt64Array(1) }],
  "a null in a struct": [{ a: 1 }, { s: { t: null } }],
};

describe("inferSchema", () => {
  it.each(Object.keys(INFERRED))("gives %s the type that LanceDB gives", (name) => {
    expectAlike(INFERRED[name]);
  });

  it.each(Object.keys(REFUSED))("refuses %s with LanceDB's sentence", (name) => {
    expect(outcomeOf(() => ours.makeArrowTable(REFUSED[name]))).toMatch(/^throws Failed to infer /);
    expectAlike(REFUSED[name]);
  });

  it("takes the vector columns and the dictionaries that options name", () => {
    const rows = [{ x: [1, 2], vector: [1], t: "a" }];
    expectAlike(rows, ({ Float16, Float64 }) => ({
      vectorColumns: { x: { type: new Float16() }, vector: { type: new Float64() } },
    }));
    expectAlike(rows, () => ({ vectorColumns: {}, dictionaryEncodeStrings: true }));
    expectAlike([{ s: { x: [1, 2] } }], ({ Float16 }) => ({ vectorColumns: { x: { type: new Float16() } } }));
  });

  it("agrees with LanceDB on generated rows", () => {
    const scalar = fc.oneof(
      fc.constantFrom(null, true, false),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.string(),
      fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
      fc.float32Array({ maxLength: 2, noNaN: true }),
    );
    const items = fc.oneof(fc.array(fc.integer(), { maxLength: 2 }), fc.array(fc.string(), { maxLength: 2 }));
    const lists = fc.oneof(items, fc.array(fc.option(items), { maxLength: 2 }));
    const struct = fc.record(
      {
        x: fc.option(fc.string()),
        y: fc.record({ z: fc.option(fc.boolean()) }, { requiredKeys: [], noNullPrototype: true }),
      },
      { requiredKeys: [], noNullPrototype: true },
    );
    const vectors = fc.array(fc.option(fc.integer(), { freq: 5 }), { minLength: 2, maxLength: 2 });
    const row = fc.record(
      {
        a: fc.oneof({ weight: 4, arbitrary: fc.option(fc.integer()) }, scalar),
        l: lists,
        s: struct,
        vector: vectors,
      },
      { requiredKeys: [], noNullPrototype: true },
    );
    fc.assert(
      fc.property(
        fc.array(row, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (rows, dictionaryEncodeStrings) => {
          const outcome = (arrow: typeof ours) =>
            outcomeOf(() => arrow.makeArrowTable(rows, { dictionaryEncodeStrings }));
          const [expected, actual] = [outcome(native), outcome(ours)];
          // Rows with two faults are refused for one of them.
          const isRefused = expected.startsWith("throws") && actual.startsWith("throws Failed to infer");
          if (!isRefused) expect(actual).toBe(expected);
        },
      ),
      { numRuns: runsOf("SCHEMA_RUNS", 2000) },
    );
  });

  it("gives lists of texts, and of lists, their own types in columns that are named for vectors", () => {
    const rows = [{ vector_tags: ["a"], embeddings: [new Float32Array(2), new Float32Array(2)] }];
    expect(schemaText(ours.makeArrowTable(rows).schema)).toBe(
      "vector_tags: List<Utf8>?{item: Utf8?}, embeddings: List<FixedSizeList[2]<Float32>>?{item: FixedSizeList[2]<Float32>?{item: Float32?}}",
    );
  });

  it("infers memory of any kind as Binary", () => {
    expect(schemaText(ours.makeArrowTable([{ x: new ArrayBuffer(2) }]).schema)).toBe("x: Binary?");
  });

  it("returns the part of a schema that rows name", () => {
    const schema = new ours.Schema([
      new ours.Field("a", new ours.Int32(), true),
      new ours.Field(
        "s",
        new ours.Struct([
          new ours.Field("x", new ours.Int32(), true),
          new ours.Field("y", new ours.Utf8(), true),
        ]),
        true,
      ),
    ]);
    const options = { dictionaryEncodeStrings: false, vectorColumns: {} };
    expect(schemaText(inferSchema([{ s: null }, { s: { y: "b" } }], schema, options))).toBe(
      "s: Struct<{y:Utf8}>?{y: Utf8?}",
    );
    expect(() => inferSchema([{ a: 1 }, { s: { z: 1 } }], schema, options)).toThrow(
      "Found field not in schema: s.z at row 1",
    );
  });
});

describe("hostile rows", () => {
  it("fail with the error of a getter that throws", () => {
    const boom = new Error("boom");
    const row = {
      get x() {
        throw boom;
      },
    };
    expect(() => ours.makeArrowTable([row])).toThrow(boom);
  });

  it("fail by a sentence if they contain themselves", () => {
    const row: Record<string, unknown> = { a: 1 };
    row.self = row;
    expect(() => ours.makeArrowTable([row])).toThrow(
      "Objects are nested more than 64 deep in field self.self",
    );
    const list: unknown[] = [];
    list.push(list);
    expect(() => ours.makeArrowTable([{ list }])).toThrow(
      "Failed to infer data type for field list at row 0",
    );
  });

  it("keep a member named __proto__ and pollute nothing", () => {
    const rows = JSON.parse('[{ "__proto__": 1, "s": { "__proto__": "a", "constructor": 2 } }]');
    const table = ours.makeArrowTable(rows);
    expect(schemaText(table.schema)).toBe(
      "__proto__: Float64?, s: Struct<{__proto__:Utf8, constructor:Float64}>?{__proto__: Utf8?, constructor: Float64?}",
    );
    expect(table.getChildAt(0)?.get(0)).toBe(1);
    expect(({} as Record<string, unknown>).s).toBeUndefined();
    const later = ours.makeArrowTable([{ constructor: "a" }, { b: 1 }]);
    expect(later.getChild("constructor")?.toArray()).toEqual(["a", null]);
  });

  it.each([{}, 5, "abc", new Map(), new Float32Array(1)])("that are no array are refused: %s", (rows) => {
    expect(() => ours.makeArrowTable(rows as never)).toThrow("Expected an array of objects but found ");
  });

  it.each([null, undefined, 1, "a"])("that are %s are refused by their number", (row) => {
    expect(() => ours.makeArrowTable([{ a: 1 }, row as never])).toThrow(
      /^Expected an object at row 1 but found /,
    );
  });
});
