/** Backfills store the function's value for each row, in every form of arguments and results. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace, type UserFunction } from "tiltyard";
import { expect } from "vitest";
import { bools, columnsOf, fieldOf, utf8s } from "../../support/arrowColumns.js";
import { runsOf } from "../../support/effort.js";
import { it } from "../../support/fixtures.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";

const ID = { id: ["t"] };
const LIST = new arrow.List(fieldOf("item", new arrow.Int32()));
const VECTOR = new arrow.FixedSizeList(4, fieldOf("item", new arrow.Float32()));

interface Row {
  readonly text: string | null;
  readonly flag: boolean | null;
  readonly list: (number | null)[] | null;
  readonly vector: number[] | null;
}

const rowArbitrary: fc.Arbitrary<Row> = fc.record({
  text: fc.option(fc.oneof(fc.string({ maxLength: 12, unit: "grapheme" }), fc.constant("x".repeat(300)))),
  flag: fc.option(fc.boolean()),
  list: fc.option(fc.array(fc.option(fc.integer({ min: -9, max: 9 })), { maxLength: 4 })),
  vector: fc.option(fc.array(fc.integer({ min: -99, max: 99 }), { minLength: 4, maxLength: 4 })),
});

const tableOf = (rows: readonly Row[], from: number): arrow.Table =>
  new arrow.Table({
    n: arrow.vectorFromArray(Int32Array.from(rows, (_, index) => from + index)),
    text: utf8s(rows.map(({ text }) => text)),
    flag: bools(rows.map(({ flag }) => flag)),
    list: columnsOf(LIST)(rows.map(({ list }) => list)),
    vector: columnsOf(VECTOR)(rows.map(({ vector }) => vector)),
  });

const plain = (value: unknown): unknown => {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return value;
  return Array.from(value as Iterable<unknown>, plain);
};

type Inputs = Record<"n" | "text" | "flag" | "list" | "vector", unknown>;

/** Outputs of a row: every input counts, and some rows get null. */
const OUTPUTS = {
  text: {
    type: new arrow.Utf8(),
    of: ({ n, text, flag }: Inputs) => (flag === null ? null : `${n}:${text === null ? "-" : text}`),
  },
  float: {
    type: new arrow.Float64(),
    of: ({ n, list, vector }: Inputs) => {
      const items = [...((plain(list) ?? []) as number[]), ...((plain(vector) ?? []) as number[])];
      return (n as number) % 5 === 3 ? null : items.reduce((sum, item) => sum + (item ?? 0.5), n as number);
    },
  },
  list: {
    type: LIST,
    of: ({ n, list }: Inputs) => (list === null ? null : [n, ...(plain(list) as unknown[])]),
  },
  vector: {
    type: VECTOR,
    of: ({ n, text, vector }: Inputs) => {
      const items = (plain(vector) ?? [1, 2, 3, 4]) as number[];
      return text === null ? null : items.map((item) => item + (n as number));
    },
  },
} as const;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const isOdd = ({ n }: Inputs): boolean => (n as number) % 2 === 1;

const rowAt = (columns: Readonly<Record<string, arrow.Vector>>, index: number): Inputs =>
  Object.fromEntries(Object.entries(columns).map(([name, vector]) => [name, vector.get(index)])) as Inputs;

/** Forms in which a function takes rows and returns values; `of` gives a row's value. */
const FORMS = {
  "row by row": (of) => ({ row: (values) => of(values as Inputs) }),
  "row by row, async": (of) => ({
    row: async (values) => {
      if (isOdd(values as Inputs)) await turn();
      return of(values as Inputs);
    },
  }),
  "row by row, async now and then": (of) => ({
    row: (values) =>
      isOdd(values as Inputs) ? turn().then(() => of(values as Inputs)) : of(values as Inputs),
  }),
  "row by row, a vector as a typed array": (of) => ({
    row: (values) => {
      const value = of(values as Inputs);
      return Array.isArray(value) && value.every((item) => typeof item === "number")
        ? Float32Array.from(value)
        : value;
    },
  }),
  "in batches, an array": (of) => ({
    batch: (columns, { rowCount }) =>
      Array.from({ length: rowCount }, (_, index) => of(rowAt(columns, index))),
  }),
  "in batches, a vector, async": (of, type) => ({
    batch: async (columns, { rowCount }) => {
      const values = Array.from({ length: rowCount }, (_, index) => of(rowAt(columns, index)));
      await turn();
      return arrow.vectorFromArray(values, type);
    },
  }),
} satisfies Record<string, (of: (row: Inputs) => unknown, type: arrow.DataType) => Partial<UserFunction>>;

interface Plan {
  readonly output: keyof typeof OUTPUTS;
  readonly form: keyof typeof FORMS;
  readonly fragments: readonly (readonly Row[])[];
  readonly deletedEvery: number;
  readonly settings: object;
}

const planArbitrary: fc.Arbitrary<Plan> = fc.record({
  output: fc.constantFrom(...(Object.keys(OUTPUTS) as (keyof typeof OUTPUTS)[])),
  form: fc.constantFrom(...(Object.keys(FORMS) as (keyof typeof FORMS)[])),
  fragments: fc.array(fc.array(rowArbitrary, { minLength: 1, maxLength: 40 }), {
    minLength: 1,
    maxLength: 3,
  }),
  deletedEvery: fc.constantFrom(0, 0, 3, 7),
  settings: fc.record(
    {
      checkpointSize: fc.integer({ min: 1, max: 30 }),
      taskSize: fc.integer({ min: 1, max: 30 }),
      concurrency: fc.integer({ min: 1, max: 3 }),
      intraApplierConcurrency: fc.integer({ min: 1, max: 4 }),
      commitGranularity: fc.integer({ min: 1, max: 3 }),
      batchCheckpointFlushIntervalSeconds: fc.constantFrom(0, 60),
    },
    { requiredKeys: [] },
  ),
});

/** Reads the rows with the reference, by number. */
async function readByReference(root: string): Promise<Map<number, { inputs: Inputs; value: unknown }>> {
  const table = arrow.tableFromIPC(await reference.readTable(root, "t"));
  return new Map(
    [...table].map((row) => {
      const { value, ...inputs } = row.toJSON() as Inputs & { value: unknown };
      return [inputs.n as number, { inputs, value: plain(value) }];
    }),
  );
}

async function runPlan({ output, form, fragments, deletedEvery, settings }: Plan): Promise<void> {
  const { type, of } = OUTPUTS[output];
  const root = await makeTempDir();
  let version = 1;
  const compute = (row: Inputs): unknown => {
    const value = of(row);
    // The second run gives every row another value.
    return version === 1 || value === null ? value : of({ ...row, n: (row.n as number) + 1000 });
  };
  const made = {
    ...{ version: "1", inputs: ["n", "text", "flag", "list", "vector"], output: type },
    ...FORMS[form](compute, type),
  } as unknown as UserFunction;
  await using ns = new DirectoryNamespace({ root, durability: "none", functions: { made } });
  const fill = async (more: object): Promise<void> => {
    const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "value", ...settings, ...more });
    await ns.waitForJob({ jobId });
  };
  let rowCount = 0;
  for (const rows of fragments) {
    if (rowCount === 0) await ns.createTable(ID, tableOf(rows, 0));
    else await ns.insertIntoTable(ID, tableOf(rows, rowCount));
    rowCount += rows.length;
  }
  if (deletedEvery > 0) await ns.deleteFromTable({ ...ID, predicate: `n % ${deletedEvery} = 1` });
  await ns.alterTableAddColumns({
    ...ID,
    newColumns: [{ name: "value", virtualColumn: { udfName: "made" } }],
  });
  await fill({});
  const first = await readByReference(root);
  expect(first.size).toBe(
    Array.from({ length: rowCount }, (_, n) => n).filter((n) => deletedEvery === 0 || n % deletedEvery !== 1)
      .length,
  );
  for (const { inputs, value } of first.values()) expect(value).toEqual(plain(of(inputs)));
  version = 2;
  await fill({ where: "n % 2 = 0" });
  for (const [n, { inputs, value }] of await readByReference(root)) {
    expect(value).toEqual(plain(n % 2 === 0 ? compute(inputs) : of(inputs)));
  }
}

it("values equal those of the function for every form of arguments and results", async () => {
  await fc.assert(fc.asyncProperty(planArbitrary, runPlan), { numRuns: runsOf("BACKFILL_RUNS", 160) });
}, 240_000);

/** Fills `value` by a function of the numbers in `n`; returns the table that the reference reads. */
async function filledBy(made: UserFunction, settings: object = { checkpointSize: 10 }): Promise<arrow.Table> {
  const root = await makeTempDir();
  await using ns = new DirectoryNamespace({ root, durability: "none", functions: { made } });
  await ns.createTable(
    ID,
    new arrow.Table({ n: arrow.vectorFromArray(Int32Array.from({ length: 64 }, (_, n) => n)) }),
  );
  await ns.alterTableAddColumns({
    ...ID,
    newColumns: [{ name: "value", virtualColumn: { udfName: "made" } }],
  });
  const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "value", ...settings });
  await ns.waitForJob({ jobId });
  return arrow.tableFromIPC(await reference.readTable(root, "t"));
}

it("missing elements of an array are null", async () => {
  const holes: UserFunction = {
    ...{ version: "1", inputs: ["n"], output: VECTOR },
    batch(_, { rowCount }) {
      const rows = new Array<Float32Array>(rowCount);
      rows[0] = new Float32Array(4);
      return rows;
    },
  };
  const values = Array.from(await filledBy(holes), ({ value }) => plain(value));
  expect(values.length).toBe(64);
  for (const [n, value] of values.entries()) expect(value).toEqual(n % 10 === 0 ? [0, 0, 0, 0] : null);
});

it("typed arrays become the items of vectors, and the function may reuse them", async () => {
  const shared = new Float32Array(4 * 10);
  const made: UserFunction = {
    ...{ version: "1", inputs: ["n"], output: VECTOR },
    batch({ n }, { rowCount }) {
      const items = shared.subarray(0, 4 * rowCount);
      for (let row = 0; row < rowCount; row++) items.fill(n.get(row), 4 * row, 4 * row + 4);
      return items;
    },
  };
  const table = await filledBy(made);
  for (const { n, value } of table) expect(plain(value)).toEqual([n, n, n, n]);
});

it("a function may reuse its array for another running call", async ({ open }) => {
  const out = new Int32Array(10);
  const twice: UserFunction = {
    ...{ version: "1", inputs: ["n"], output: new arrow.Int32() },
    batch: ({ n }) => {
      for (let row = 0; row < n.length; row++) out[row] = n.get(row) * 2;
      return out.subarray(0, n.length);
    },
  };
  const ns = open({ functions: { twice } });
  await ns.createTable(
    ID,
    new arrow.Table({ n: arrow.vectorFromArray(Int32Array.from({ length: 1000 }, (_, row) => row)) }),
  );
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", virtualColumn: { udfName: "twice" } }] });
  const cut = { checkpointSize: 10, taskSize: 50, concurrency: 4 };
  await ns.waitForJob(await ns.alterTableBackfillColumns({ ...ID, column: "d", ...cut }));
  const table = await (await ns.queryTable(ID)).toArrow();
  expect(table.toArray().filter(({ n, d }) => d !== n * 2)).toEqual([]);
});

it("only the call of a failed row is repeated", async () => {
  const asked = new Map<number, number>();
  const failing = new Set([0, 7, 63]);
  const made: UserFunction = {
    ...{ version: "1", inputs: ["n"], output: new arrow.Utf8(), retries: 1 },
    row({ n }) {
      const count = (asked.get(n as number) ?? 0) + 1;
      asked.set(n as number, count);
      if (count === 1 && failing.has(n as number)) throw new Error("not yet");
      return (n as number) % 9 === 0 ? null : `row ${n}`;
    },
  };
  const table = await filledBy(made, {});
  expect([...asked.values()].reduce((sum, count) => sum + count, 0)).toBe(64 + failing.size);
  for (const n of failing) expect(asked.get(n)).toBe(2);
  for (const { n, value } of table) expect(value).toBe(n % 9 === 0 ? null : `row ${n}`);
});

const LONG_ROWS = 40_000;
/** Texts long enough to be stored one by one, or as codes; some are null. */
const longText = (n: number): string | null =>
  n % 97 === 5 ? null : `text ${n} `.repeat(30 + (n % 17)) + "é".repeat(n % 3);

/** Fills a column of texts in a table of several pages of long texts, some rows of which are deleted. */
async function fillFromLongTexts(made: UserFunction, settings: object): Promise<Map<number, unknown>> {
  const root = await makeTempDir();
  await using ns = new DirectoryNamespace({ root, durability: "none", functions: { made } });
  const texts = Array.from({ length: LONG_ROWS }, (_, n) => longText(n));
  const numbers = Int32Array.from(texts.keys());
  await ns.createTable(ID, new arrow.Table({ n: arrow.vectorFromArray(numbers), text: utf8s(texts) }));
  await ns.deleteFromTable({ ...ID, predicate: "n >= 20000 AND n % 10 = 3" });
  await ns.alterTableAddColumns({
    ...ID,
    newColumns: [{ name: "value", virtualColumn: { udfName: "made" } }],
  });
  const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "value", ...settings });
  await ns.waitForJob({ jobId });
  const table = arrow.tableFromIPC(await reference.readTable(root, "t"));
  return new Map(Array.from(table, ({ n, value }) => [n as number, plain(value)]));
}

const isLive = (n: number): boolean => n < 20_000 || n % 10 !== 3;

it("long texts belong to their rows, for every form of functions and concurrent calls", async () => {
  const text = { version: "1", inputs: ["text"], output: new arrow.Utf8() };
  const later = <Value>(value: Value): Promise<Value> =>
    new Promise((resolve) => setImmediate(resolve, value));
  const functions: readonly UserFunction[] = [
    { ...text, batch: ({ text }) => text },
    { ...text, batch: async ({ text }) => await later(Array.from(text as arrow.Vector<arrow.Utf8>)) },
    { ...text, row: ({ text }) => text },
  ];
  for (const made of functions) {
    const values = await fillFromLongTexts(made, { checkpointSize: 700, intraApplierConcurrency: 3 });
    for (let n = 0; n < LONG_ROWS; n++) {
      if (values.get(n) !== (isLive(n) ? longText(n) : undefined))
        expect([n, values.get(n)]).toBe(longText(n));
    }
  }
}, 60_000);

it.each([
  ["utf8", new arrow.Utf8()],
  ["large_utf8", new arrow.LargeUtf8()],
] as const)("a function of rows gets each %s text as it is stored", async (_, type) => {
  const texts = ["", null, "\ufeffmark", "a\0b", "é😀", "x".repeat(2_000_000), null, "\ufeff"];
  const seen: unknown[] = [];
  const made: UserFunction = {
    ...{ version: "1", inputs: ["text"], output: new arrow.Int32() },
    row: ({ text }) => seen.push(text),
  };
  await using ns = new DirectoryNamespace({
    ...{ root: await makeTempDir(), durability: "none", functions: { made } },
  });
  await ns.createTable(ID, new arrow.Table({ text: columnsOf(type)(texts) }));
  await ns.alterTableAddColumns({
    ...ID,
    newColumns: [{ name: "value", virtualColumn: { udfName: "made" } }],
  });
  const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "value" });
  await ns.waitForJob({ jobId });
  expect(seen).toEqual(texts);
});

it("a function may keep its vectors of texts beyond the call", async () => {
  const kept: { readonly text: arrow.Vector; readonly first: string | null }[] = [];
  const made: UserFunction = {
    ...{ version: "1", inputs: ["text"], output: VECTOR },
    batch({ text }, { rowCount }) {
      kept.push({ text, first: text.get(0) });
      const items = new Float32Array(4 * rowCount);
      for (let row = 0; row < rowCount; row++) items.fill(text.get(row)?.length ?? -1, 4 * row, 4 * row + 4);
      return items;
    },
  };
  const values = await fillFromLongTexts(made, {});
  for (const [n, value] of values) {
    const length = longText(n)?.length ?? -1;
    if ((value as number[])[3] !== length) expect([n, value]).toEqual([n, [length, length, length, length]]);
  }
  expect(kept.length).toBeGreaterThan(10);
  expect(kept.map(({ text }) => text.get(0))).toEqual(kept.map(({ first }) => first));
}, 60_000);

it("texts that a function writes into its vector are read by it, whichever page they lie in", async () => {
  const made: UserFunction = {
    ...{ version: "1", inputs: ["text"], output: VECTOR },
    batch({ text }, { rowCount }) {
      const items = new Float32Array(4 * rowCount);
      for (let row = 0; row < rowCount; row++) {
        const ownText = text.get(row);
        if (ownText !== null && ownText !== "")
          text.set(row, "#".repeat(new TextEncoder().encode(ownText).length));
        const isRead = ownText === null || ownText === "" || text.get(row)?.startsWith("#") === true;
        items.fill(isRead ? 1 : 0, 4 * row, 4 * row + 4);
      }
      return items;
    },
  };
  const values = await fillFromLongTexts(made, {});
  let wrong = 0;
  for (const [, value] of values) if ((value as number[])[3] !== 1) wrong++;
  expect(wrong).toBe(0);
}, 60_000);

it("rows of numbers become the items of vectors for every kind of list", async () => {
  for (const answer of [
    (n: number) => Float32Array.of(n, 1, 2, 3),
    (n: number) => [n, 1, 2, 3],
    (n: number) => (n % 5 === 0 ? null : Float32Array.of(n, 1, 2, 3)),
    (n: number) => (n % 5 === 0 ? Float64Array.of(n, 1, 2, 3) : Float32Array.of(n, 1, 2, 3)),
  ]) {
    const made: UserFunction = {
      ...{ version: "1", inputs: ["n"], output: VECTOR },
      row: ({ n }) => answer(n as number),
    };
    const table = await filledBy(made);
    for (const { n, value } of table) expect(plain(value)).toEqual(plain(answer(n)));
  }
});

it("a function may reuse the memory of a row's list for the next row", async () => {
  const items = new Float32Array(4);
  const alternating = [new Float32Array(8).subarray(2, 6), [0, 0, 0, 0]];
  for (const listOf of [() => items, (n: number) => alternating[n % 2]]) {
    const made: UserFunction = {
      ...{ version: "1", inputs: ["n"], output: VECTOR },
      row: ({ n }) => {
        const list = listOf(n as number);
        if (!Array.isArray(list)) return list.fill(n as number);
        return [n, n, n, n];
      },
    };
    for (const { n, value } of await filledBy(made)) expect(plain(value)).toEqual([n, n, n, n]);
  }
});

it.each([
  ["Float64Array", (items: number[]) => Float64Array.from(items)],
  ["Int32Array", (items: number[]) => Int32Array.from(items)],
  ["Uint8Array", (items: number[]) => Uint8Array.from(items)],
] as const)("lists of float32 may be a %s of all items", async (_, made) => {
  const table = await filledBy({
    ...{ version: "1", inputs: ["n"], output: VECTOR },
    batch: ({ n }) => made([...n].flatMap((each: number) => [each, 1, 2, 3])),
  });
  for (const { n, value } of table) expect(plain(value)).toEqual([n, 1, 2, 3]);
});

class Floats extends Float32Array {}
const sharedFloats = (items: readonly number[]): Float32Array => {
  const shared = new Float32Array(new SharedArrayBuffer(4 * items.length));
  shared.set(items);
  return shared;
};
const itemsFrom = (n: number): number[] => [n, n + 0.5, -n, 2];

it("rows of lists keep their items when the kind of list varies", async () => {
  const others: readonly ((n: number) => unknown)[] = [
    (n) => itemsFrom(n),
    (n) => Floats.from(itemsFrom(n)),
    (n) => Float64Array.from(itemsFrom(n)),
    (n) => sharedFloats(itemsFrom(n)),
    async (n) => Float32Array.from(itemsFrom(n)),
    () => null,
    () => undefined,
  ];
  for (const otherTask of others) {
    for (const isOther of [() => true, (n: number) => n % 10 === 0, (n: number) => n % 7 === 5]) {
      const made: UserFunction = {
        ...{ version: "1", inputs: ["n"], output: VECTOR },
        row: ({ n }) =>
          isOther(n as number) ? otherTask(n as number) : Float32Array.from(itemsFrom(n as number)),
      };
      for (const { n, value } of await filledBy(made)) {
        const isNull = isOther(n) && (await otherTask(n)) == null;
        expect(plain(value)).toEqual(isNull ? null : itemsFrom(n));
      }
    }
  }
}, 60_000);

it("a row's list of another length, or with detached memory, is refused after any rows", async () => {
  const detached = (): Float32Array => {
    const list = new Float32Array(4);
    structuredClone(list.buffer, { transfer: [list.buffer] });
    return list;
  };
  for (const wrong of [() => new Float32Array(3), () => new Float32Array(5), detached]) {
    const made: UserFunction = {
      ...{ version: "1", inputs: ["n"], output: VECTOR, retries: 0 },
      row: ({ n }) => (n === 37 ? wrong() : new Float32Array(4)),
    };
    await expect(filledBy(made)).rejects.toThrow("row 37");
  }
});

it("each row gets objects and texts that no other row changes", async () => {
  const seen: Readonly<Record<string, unknown>>[] = [];
  const made: UserFunction = {
    ...{ version: "1", inputs: ["n"], output: new arrow.Int32() },
    row(values) {
      seen.push(values);
      const { n } = values;
      (values as Record<string, unknown>).n = -1;
      (values as Record<string, unknown>).other = n;
      return n;
    },
  };
  for (const { n, value } of await filledBy(made)) expect(value).toBe(n);
  expect(new Set(seen).size).toBe(64);
  expect(seen.map((values) => values.other)).toEqual(Array.from({ length: 64 }, (_, n) => n));
});

it("a failed row among others fails alone: the calls before it are not repeated", async () => {
  const asked: number[] = [];
  const made: UserFunction = {
    ...{ version: "1", inputs: ["n"], output: VECTOR, retries: 2 },
    row({ n }) {
      asked.push(n as number);
      if (n === 13 && asked.filter((each) => each === 13).length < 3) throw new Error("not yet");
      return new Float32Array(4).fill(n as number);
    },
  };
  for (const { n, value } of await filledBy(made)) expect(plain(value)).toEqual([n, n, n, n]);
  expect(asked.filter((each) => each !== 13)).toEqual(
    Array.from({ length: 64 }, (_, n) => n).filter((n) => n !== 13),
  );
  expect(asked.filter((each) => each === 13)).toHaveLength(3);
});

it("a vector of texts gives the same for each place, past its end too, as a vector that Arrow made of it", async ({
  root,
}) => {
  const seen: unknown[] = [];
  const compared: UserFunction = {
    ...{ version: "1", inputs: ["text"], output: new arrow.Int32() },
    batch({ text }, { rowCount }) {
      const twin = text.slice(0, rowCount);
      for (let index = 0; index <= rowCount; index++) seen.push([text.get(index), twin.get(index)]);
      return Int32Array.from({ length: rowCount }, (_, row) => text.get(row)?.length ?? -1);
    },
  };
  await using ns = new DirectoryNamespace({ root, functions: { compared } });
  const groups = [
    ["a", "bc", "", "def"],
    ["a", null, "", null, "bcd"],
    ["é", "a", null],
    ["", ""],
  ];
  for (const [number, texts] of groups.entries()) {
    const id = [`t${number}`];
    await ns.createTable({ id }, new arrow.Table({ text: utf8s(texts) }));
    await ns.alterTableAddColumns({
      id,
      newColumns: [{ name: "n", virtualColumn: { udfName: "compared" } }],
    });
    const { jobId } = await ns.alterTableBackfillColumns({ id, column: "n" });
    await ns.waitForJob({ jobId });
  }
  expect(seen.map((pair) => (pair as unknown[])[0])).toEqual(groups.flatMap((texts) => [...texts, null]));
  expect(seen.every((pair) => (pair as unknown[])[0] === (pair as unknown[])[1])).toBe(true);
});
