/** List views in any order and overlap equal lists that JavaScript cuts. */

import { Int32, makeData, Struct, type Table, Utf8 } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeBatch, toTable } from "../../../src/arrow/exchange/batch.js";
import { type InputBounds, openInput } from "../../../src/arrow/exchange/input.js";
import { InvalidInputError, UnsupportedError } from "../../../src/errors.js";
import { int32s, utf8s } from "../../support/arrowColumns.js";
import { errorOf } from "../../support/outcomes.js";

const LIST_VIEW = 25;
const LARGE_LIST_VIEW = 26;

type View = readonly [offset: bigint | number, size: bigint | number] | null;

interface Data {
  readonly type: unknown;
  readonly length: number;
}

function listViews(typeId: number, views: readonly View[], items: Data, change: object = {}): Data {
  const integers = (member: 0 | 1) => {
    const values = views.map((view) => BigInt(view?.[member] ?? -99));
    return typeId === LIST_VIEW ? Int32Array.from(values, Number) : BigInt64Array.from(values);
  };
  const nullBitmap = new Uint8Array(Math.ceil(views.length / 8));
  for (const [row, view] of views.entries()) if (view !== null) nullBitmap[row >> 3] |= 1 << (row & 7);
  const field = { name: "item", type: items.type, nullable: true };
  return {
    type: { typeId, children: [field] },
    length: views.length,
    offset: 0,
    nullCount: views.filter((view) => view === null).length,
    nullBitmap,
    valueOffsets: integers(0),
    sizes: integers(1),
    children: [items],
    ...change,
  } as Data;
}

async function read(data: Data, bounds?: InputBounds): Promise<Table> {
  const schema = { fields: [{ name: "views", type: data.type, nullable: true }] };
  const table = { schema, batches: [{ schema, data: { length: data.length, children: [data] } }] };
  const input = await openInput(table, undefined, bounds);
  const batches = [];
  for await (const { columns, rowCount } of input.batches)
    batches.push(makeBatch(input.schema, columns, rowCount));
  return toTable(input.schema, batches);
}

const rowsOf = (table: Table): unknown[] =>
  table.toArray().map(({ views }) => JSON.parse(JSON.stringify(views)));
const failure = (data: Data, bounds?: InputBounds): Promise<unknown> => errorOf(read(data, bounds));

const numbers = (count: number): Data => int32s(count, (i) => i).data[0];

describe("list views", () => {
  it("become the lists that they view, in any order and at two depths", async () => {
    const words = ["a", null, "", "a longer word", "ä", "b"];
    const view = fc.option(fc.tuple(fc.nat(6), fc.nat(6)));
    const choices = fc.asyncProperty(
      fc.array(view, { minLength: 1, maxLength: 20 }),
      fc.array(view, { minLength: 6, maxLength: 6 }),
      fc.constantFrom(LIST_VIEW, LARGE_LIST_VIEW),
      fc.constantFrom(LIST_VIEW, LARGE_LIST_VIEW),
      async (outer, inner, outerType, innerType) => {
        const inside = (views: typeof outer) =>
          views.map((choice) => choice && ([choice[0], Math.min(choice[1], 6 - choice[0])] as const));
        const cut = (views: readonly View[], items: readonly unknown[]) =>
          views.map(
            (choice) => choice && items.slice(Number(choice[0]), Number(choice[0]) + Number(choice[1])),
          );
        const items = utf8s(words).data[0];
        const lists = listViews(innerType, inside(inner), items);
        const table = await read(listViews(outerType, inside(outer), lists));
        expect(rowsOf(table)).toEqual(cut(inside(outer), cut(inside(inner), words)));
        expect(String(table.schema.fields[0].type)).toMatch(outerType === LIST_VIEW ? /^List/ : /^LargeList/);
      },
    );
    await fc.assert(choices, { numRuns: 200 });
  });

  it("share the items where these follow each other", async () => {
    const items = numbers(10);
    const table = await read(listViews(LIST_VIEW, [[2, 3], null, [5, 0], [5, 5]], items));
    expect(rowsOf(table)).toEqual([[2, 3, 4], null, [], [5, 6, 7, 8, 9]]);
    const values = table.batches[0].data.children[0].children[0].values;
    expect(values.buffer).toBe((items as unknown as { values: Int32Array }).values.buffer);
  });

  it.each([
    ["a negative offset", LIST_VIEW, [-1, 1]],
    ["a negative size", LIST_VIEW, [1, -1]],
    ["an end outside the items", LIST_VIEW, [3, 3]],
    ["a start outside the items", LIST_VIEW, [6, 0]],
    ["a sum that overflows 32 bits", LIST_VIEW, [2 ** 31 - 1, 2 ** 31 - 1]],
    ["a sum that overflows 64 bits", LARGE_LIST_VIEW, [2n ** 63n - 1n, 2n ** 63n - 1n]],
    ["a size that wraps to a small one", LARGE_LIST_VIEW, [1n, 2n ** 32n]],
    ["the least offset", LARGE_LIST_VIEW, [-(2n ** 63n), 1n]],
  ] as const)("are refused with %s", async (_, typeId, view) => {
    const error = await failure(listViews(typeId, [[0, 5], view], numbers(5)));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toMatch(
      /^column views: row 1: a list view of .* is outside its 5 items$/,
    );
  });

  it.each([
    ["sizes", { sizes: Int32Array.of(1) }],
    ["offsets", { valueOffsets: new Int32Array(0) }],
    ["all sizes", { sizes: undefined }],
    ["items", { children: [] }],
  ])("are refused where %s lack", async (_, change) => {
    expect(
      await failure(
        listViews(
          LIST_VIEW,
          [
            [0, 1],
            [1, 1],
          ],
          numbers(5),
          change,
        ),
      ),
    ).toBeInstanceOf(InvalidInputError);
  });

  it("are refused with items whose own offsets are damaged", async () => {
    const texts = makeData({
      type: new Utf8(),
      length: 3,
      nullCount: 0,
      valueOffsets: Int32Array.of(0, 900_000_000, 5, 6),
      data: new Uint8Array(6),
    });
    expect(
      await failure(
        listViews(
          LIST_VIEW,
          [
            [1, 2],
            [0, 1],
          ],
          texts,
        ),
      ),
    ).toBeInstanceOf(InvalidInputError);
  });

  it("that ask for gigabytes are refused before memory is taken for them", async () => {
    const many = (count: number, size: number): View[] => Array.from({ length: count }, () => [0, size]);
    const wide = numbers(2 ** 20);
    // 4 GiB of items, and more items than 32 bits count.
    for (const views of [many(2 ** 10, 2 ** 20), many(2 ** 12, 2 ** 20)]) {
      expect(await failure(listViews(LIST_VIEW, views, wide))).toBeInstanceOf(InvalidInputError);
    }
    const inner = listViews(LIST_VIEW, many(2 ** 12, 2 ** 10), numbers(2 ** 10));
    expect(await failure(listViews(LARGE_LIST_VIEW, many(2 ** 12, 2 ** 12), inner))).toBeInstanceOf(
      InvalidInputError,
    );
    // Items without bytes.
    const bare = makeData({ type: new Struct([]), length: 2 ** 20, nullCount: 0, children: [] });
    const error = await failure(listViews(LIST_VIEW, many(2 ** 10, 2 ** 20), bare), {
      maxBatchBytes: 2 ** 26,
    });
    expect(error).toBeInstanceOf(InvalidInputError);
    // Only null rows, whose bitmap has an eighth of the bytes.
    const nulls = listViews(LARGE_LIST_VIEW, [null], numbers(1), {
      length: 2 ** 26,
      nullCount: 2 ** 26,
      nullBitmap: new Uint8Array(2 ** 23),
    });
    expect(await failure(nulls)).toBeInstanceOf(InvalidInputError);
  });

  it("count against the bound on a batch", async () => {
    const views = (): Data =>
      listViews(
        LIST_VIEW,
        Array.from({ length: 100 }, () => [0, 100]),
        numbers(100),
      );
    expect((await read(views(), { maxBatchBytes: 2 ** 16 })).numRows).toBe(100);
    const error = await failure(views(), { maxBatchBytes: 40_000 });
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as Error).message).toContain("at most 40000 are taken at once");
  });

  it("of a dictionary are refused as not supported", async () => {
    const lists = listViews(LIST_VIEW, [[0, 1]], numbers(1));
    const type = { typeId: -1, dictionary: lists.type, indices: new Int32() };
    const coded = { ...numbers(1), type, dictionary: { data: [lists] } };
    expect(await failure(coded)).toBeInstanceOf(UnsupportedError);
  });
});
