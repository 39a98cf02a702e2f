/** Computed columns in one process: declared, filled, stale, filled again; the reference reads each state. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FixedSizeList, Float32, Int64, Table, Utf8 } from "apache-arrow";
import {
  type DirectoryNamespace,
  type DirectoryNamespaceOptions,
  InternalError,
  InvalidInputError,
  TableColumnNotFoundError,
  TableSchemaValidationError,
  TableVersionNotFoundError,
  type UserFunction,
} from "tiltyard";
import { describe, expect, it } from "vitest";
import { fieldOf, int32s, utf8s } from "../support/arrowColumns.js";
import { withResolvers } from "../support/deferred.js";
import { reference } from "../support/reference.js";
import { createParts, freshStage } from "../support/stage.js";

const stage = freshStage();

function open(functions: DirectoryNamespaceOptions["functions"]): DirectoryNamespace {
  const ns = stage.open({ functions });
  return ns;
}

const ID = { id: ["t"] };
const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n);
const rows = (from: number, count: number): Table =>
  new Table({
    n: int32s(numbers(from, count)),
    s: utf8s(numbers(from, count).map((n) => `row ${n}`)),
  });

function doubling(change: Partial<Record<string, unknown>> = {}) {
  const seen: number[] = [];
  const batches: number[] = [];
  const double = {
    version: "1",
    inputs: ["n"],
    output: new Int64(),
    batch: (columns: Record<string, Iterable<number>>, { rowCount }: { rowCount: number }) => {
      const numbers = [...columns.n];
      expect(numbers.length).toBe(rowCount);
      seen.push(...numbers);
      batches.push(rowCount);
      return numbers.map((n) => BigInt(n) * 2n);
    },
    ...change,
  } as unknown as UserFunction;
  return { functions: { double }, seen, batches };
}

async function makeTable(ns: DirectoryNamespace, fragments = 3, rowCount = 100): Promise<void> {
  const parts = numbers(0, fragments).map((part) => rows(part * rowCount, rowCount));
  await createParts(ns, ID.id, parts);
}

const declare = (ns: DirectoryNamespace) =>
  ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", virtualColumn: { udfName: "double" } }] });

async function fill(ns: DirectoryNamespace, options: object = {}) {
  const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "d", ...options });
  return ns.waitForJob({ jobId });
}

async function theirPairs(): Promise<[number, number | null][]> {
  const table = await stage.rowsThere();
  const d = table.getChild("d");
  const pairs = [...(table.getChild("n") ?? [])].map((n, row): [number, number | null] => {
    const value = d?.get(row);
    return [n, value === null || value === undefined ? null : Number(value)];
  });
  return pairs.sort(([a], [b]) => a - b);
}

const doubled = (values: readonly number[]): [number, number][] => values.map((n) => [n, n * 2]);
const stale = async (ns: DirectoryNamespace) => (await ns.describeComputedColumns(ID)).columns[0];

async function checkpointNames(): Promise<string[]> {
  return stage.checkpoints();
}

describe("a column of a function", () => {
  it("is null at first, filled by a job, and read by the reference", async () => {
    const { functions, seen } = doubling();
    const ns = open(functions);
    await makeTable(ns);
    await declare(ns);
    expect(await theirPairs()).toEqual(numbers(0, 300).map((n) => [n, null]));
    expect(await stale(ns)).toMatchObject({
      ...{
        column: "d",
        kind: "function",
        udfName: "double",
        udfVersion: "1",
        inputs: ["n"],
        isRegistered: true,
      },
      ...{ staleRows: 300, staleFragments: [0, 1, 2] },
    });
    const job = await fill(ns);
    expect(job).toMatchObject({
      state: "Succeeded",
      done: 300,
      total: 300,
      result: { rows: 300, fragments: 3 },
    });
    expect(seen.length).toBe(300);
    expect(await theirPairs()).toEqual(doubled(numbers(0, 300)));
    expect(await stale(ns)).toMatchObject({ staleRows: 0, staleFragments: [] });
    expect(await checkpointNames()).toEqual([]);
    const field = (await reference.schemaJson(stage.root, "t")).fields.find(({ name }) => name === "d");
    expect(field).toMatchObject({ nullable: true });
  });

  it("is stale in rows that were appended, or whose inputs were changed by us, and only there", async () => {
    const { functions, seen } = doubling();
    const ns = open(functions);
    await makeTable(ns);
    await declare(ns);
    await fill(ns);
    seen.length = 0;
    await ns.insertIntoTable(ID, rows(300, 50));
    await ns.updateTable({ ...ID, predicate: "n = 7", updates: [["n", "1007"]] });
    await ns.updateTable({ ...ID, predicate: "n = 8", updates: [["s", "'other'"]] });
    await ns.mergeInsertIntoTable(
      { ...ID, on: "s", whenMatchedUpdateAll: true },
      new Table({
        s: utf8s(["row 9"]),
        n: int32s([1009]),
      }),
    );
    expect((await stale(ns)).staleRows).toBe(52);
    await fill(ns);
    expect(seen.sort((a, b) => a - b)).toEqual([...numbers(300, 50), 1007, 1009]);
    const expected = [...numbers(0, 7), 8, ...numbers(10, 340), 1007, 1009];
    expect(await theirPairs()).toEqual(doubled(expected));
    seen.length = 0;
    expect(await fill(ns)).toMatchObject({ result: { rows: 0, fragments: 0, version: null } });
    expect(seen).toEqual([]);
  });

  it("is filled after a compaction, an append by the reference, and its deletes", async () => {
    const { functions, seen } = doubling();
    const ns = open(functions);
    await makeTable(ns);
    await declare(ns);
    await fill(ns, { numFrags: 1 });
    expect((await stale(ns)).staleRows).toBe(200);
    await reference.deleteRows(stage.root, "t", "n % 10 = 3");
    await ns.optimizeTable(ID);
    expect((await stale(ns)).staleRows).toBe(180);
    seen.length = 0;
    await fill(ns);
    expect(seen.length).toBe(180);
    expect(await theirPairs()).toEqual(doubled(numbers(0, 300).filter((n) => n % 10 !== 3)));
    await reference.optimizeTable(stage.root, "t");
    expect(await theirPairs()).toEqual(doubled(numbers(0, 300).filter((n) => n % 10 !== 3)));
  });

  it.each([true, false])("is filled where %s: where selects the rows", async (all) => {
    const { functions, seen } = doubling();
    const ns = open(functions);
    await makeTable(ns);
    await declare(ns);
    await fill(ns, { where: "n >= 250 or n < 5" });
    expect(seen.length).toBe(55);
    expect((await stale(ns)).staleRows).toBe(245);
    seen.length = 0;
    await fill(ns, all ? { where: "true" } : {});
    expect(seen.length).toBe(all ? 300 : 245);
    expect(await theirPairs()).toEqual(doubled(numbers(0, 300)));
  });

  it.each([
    "2.0",
    "2.1",
    "2.2",
  ] as const)("of vectors is filled in files of %s", async (dataStorageVersion) => {
    const output = new FixedSizeList(4, fieldOf("item", new Float32()));
    const embed: UserFunction = {
      ...{ version: "a", inputs: ["s", "n"], output },
      batch: ({ n }, { rowCount }) => {
        const flat = new Float32Array(rowCount * 4);
        for (let row = 0; row < rowCount; row++) flat.fill(n.get(row), row * 4, row * 4 + 4);
        return flat;
      },
    };
    const ns = stage.open({ dataStorageVersion, functions: { embed } });
    await makeTable(ns);
    await ns.deleteFromTable({ ...ID, predicate: "n % 7 = 2" });
    await ns.alterTableAddColumns({
      ...ID,
      newColumns: [{ name: "v", virtualColumn: { udfName: "embed" } }],
    });
    const { jobId } = await ns
      .table("t")
      .backfill("v", { checkpointSize: 13, batchCheckpointFlushIntervalSeconds: 0 });
    await ns.waitForJob({ jobId });
    const table = await stage.rowsThere();
    expect(table.numRows).toBe(257);
    for (const row of table) expect([...row.v]).toEqual([row.n, row.n, row.n, row.n]);
  });

  it("computed row by row, sync and async, with as many calls at a time as asked", async () => {
    let running = 0;
    let most = 0;
    const double: UserFunction = {
      ...{ version: "1", inputs: ["n"], output: new Int64() },
      row: async ({ n }, { signal }) => {
        expect(signal.aborted).toBe(false);
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 1));
        running--;
        return (n as number) * 2;
      },
    };
    const ns = open({ double });
    await makeTable(ns);
    await declare(ns);
    await fill(ns, { intraApplierConcurrency: 5, concurrency: 3, taskSize: 40 });
    expect(most).toBeGreaterThan(5);
    expect(most).toBeLessThanOrEqual(15);
    expect(await theirPairs()).toEqual(doubled(numbers(0, 300)));
    const sync = open({ double: { ...double, row: ({ n }) => (n as number) * 2 } as UserFunction });
    await fill(sync, { where: "true" });
    expect(await theirPairs()).toEqual(doubled(numbers(0, 300)));
  });

  it("hands out no more rows than asked, and commits as many fragments at once as asked", async () => {
    const { functions, batches } = doubling();
    const ns = open(functions);
    await makeTable(ns, 5);
    await declare(ns);
    const before = (await ns.describeTable(ID)).version ?? 0;
    await fill(ns, {
      checkpointSize: 30,
      commitGranularity: 2,
      minCheckpointSize: 30,
      maxCheckpointSize: 30,
    });
    expect(Math.max(...batches)).toBe(30);
    expect((await ns.describeTable(ID)).version).toBe(before + 3);
  });
});

describe("a column of SQL", () => {
  it("is null until it is filled, and keys and values are those that the reference reads", async () => {
    const ns = open({});
    await makeTable(ns);
    await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", computed: "n * 2" }] });
    expect((await theirPairs())[5]).toEqual([5, null]);
    await fill(ns);
    expect(await theirPairs()).toEqual(doubled(numbers(0, 300)));
    expect(await stale(ns)).toMatchObject({ kind: "sql", expression: "n * 2", inputs: ["n"], staleRows: 0 });
    await ns.updateTable({ ...ID, predicate: "n = 5", updates: [["n", "6"]] });
    expect((await stale(ns)).staleRows).toBe(1);
    await fill(ns);
    expect((await theirPairs()).filter(([n]) => n === 6)).toEqual([
      [6, 12],
      [6, 12],
    ]);
  });
});

describe("a backfill that can't be", () => {
  it("is refused with typed errors that name what is wrong", async () => {
    const { functions } = doubling();
    const ns = open(functions);
    await makeTable(ns, 1);
    await declare(ns);
    const refused = async (request: object, error: new (...args: never[]) => Error, text: RegExp) => {
      const call = ns.alterTableBackfillColumns({ ...ID, column: "d", ...request });
      await expect(call).rejects.toThrow(error);
      await expect(call).rejects.toThrow(text);
    };
    await refused({ column: "n" }, InvalidInputError, /n is not computed/);
    await refused({ column: "nowhere" }, TableColumnNotFoundError, /nowhere/);
    await refused({ column: "a..b" }, InvalidInputError, /path/);
    await refused({ column: "" }, InvalidInputError, /column/);
    await refused({ where: "n +" }, InvalidInputError, /where/);
    await refused({ readVersion: 77 }, TableVersionNotFoundError, /77/);
    for (const member of [
      "concurrency",
      "intraApplierConcurrency",
      "checkpointSize",
      "taskSize",
      "numFrags",
    ]) {
      await refused({ [member]: 0 }, InvalidInputError, new RegExp(member));
      await refused({ [member]: 1.5 }, InvalidInputError, new RegExp(member));
    }
    await refused({ minCheckpointSize: 9, maxCheckpointSize: 8 }, InvalidInputError, /minCheckpointSize/);
    await refused({ batchCheckpointFlushIntervalSeconds: -1 }, InvalidInputError, /FlushInterval/);
    await refused({ cluster: 5 }, InvalidInputError, /cluster/);
    const second = open({});
    await expect(second.alterTableBackfillColumns({ ...ID, column: "d" })).rejects.toThrow(
      /no function double; none/,
    );
    const newer = open(doubling({ version: "2" }).functions);
    await expect(newer.alterTableBackfillColumns({ ...ID, column: "d" })).rejects.toThrow(
      /version 1 .* version 2 is registered.*udf_version to "2".*updateFieldMetadata.*where: "true"/,
    );
    const wider = open(doubling({ inputs: ["n", "s"] }).functions);
    await expect(wider.alterTableBackfillColumns({ ...ID, column: "d" })).rejects.toThrow(
      /registered with n, s/,
    );
    const turned = open(doubling({ output: new Utf8() }).functions);
    await expect(turned.alterTableBackfillColumns({ ...ID, column: "d" })).rejects.toThrow(/int64.*string/);
    await reference.dropColumns(stage.root, "t", ["n"]);
    await expect(ns.alterTableBackfillColumns({ ...ID, column: "d" })).rejects.toThrow(
      TableColumnNotFoundError,
    );
  });

  it("of a function that throws fails with the row, after retries, and keeps what was computed", async () => {
    let calls = 0;
    let isBroken = true;
    const seen: number[] = [];
    const double: UserFunction = {
      ...{ version: "1", inputs: ["n"], output: new Int64(), retries: 1 },
      row: ({ n }) => {
        if (n === 142 && isBroken) {
          calls++;
          throw new Error("no luck");
        }
        seen.push(n as number);
        return (n as number) * 2;
      },
    };
    const ns = open({ double });
    await makeTable(ns);
    await declare(ns);
    const how = { checkpointSize: 10, batchCheckpointFlushIntervalSeconds: 0, commitGranularity: 1 };
    const failing = fill(ns, how);
    await expect(failing).rejects.toThrow(InternalError);
    await expect(failing).rejects.toThrow(/double, fragment 1, row 42.*2 times.*no luck/);
    expect(calls).toBe(2);
    expect((await theirPairs()).filter(([, d]) => d !== null)).toEqual(doubled(numbers(0, 100)));
    isBroken = false;
    seen.length = 0;
    await fill(ns, how);
    expect(seen).toEqual(numbers(140, 160));
    expect(await theirPairs()).toEqual(doubled(numbers(0, 300)));
    expect(await checkpointNames()).toEqual([]);
  });

  it("of a function that throws what can't be looked at names the function and the row", async () => {
    const evil = {
      get message() {
        throw new Error("not to be read");
      },
    };
    const throwing = (): never => {
      throw evil;
    };
    const ns = open(doubling({ batch: undefined, row: throwing, retries: 0 }).functions);
    await makeTable(ns, 1);
    await declare(ns);
    await expect(fill(ns)).rejects.toThrow(/double, fragment 0, row 0: failed: an object that is no error/);
  });

  it.each([
    ["too few values", () => [1n], /1 values were returned for/],
    [
      "words for numbers",
      (numbers: number[]) => numbers.map((number) => `no ${number}`),
      /^function double, fragment 0, row 0, result: the text "no 0"/,
    ],
    ["a vector of another type", (numbers: number[]) => int32s(numbers), /int32.*int64/],
    ["nothing", () => undefined, /undefined/],
    ["a null", (numbers: number[]) => numbers.map(() => null), /null was returned/],
    [
      "too many in a typed array",
      (numbers: number[]) => new BigInt64Array(numbers.length + 1),
      /values were returned/,
    ],
    ["another typed array", (numbers: number[]) => Float64Array.from(numbers, () => 0.5), /0.5/],
  ] as const)("of a function that returns %s fails and shows nothing", async (_, result, message) => {
    const { functions } = doubling({
      nullable: false,
      batch: ({ n }: { n: Iterable<number> }) => (result as (numbers: number[]) => unknown)([...n]),
    });
    const ns = open(functions);
    await makeTable(ns, 2);
    await declare(ns);
    const failing = fill(ns);
    await expect(failing).rejects.toThrow(TableSchemaValidationError);
    await expect(failing).rejects.toThrow(message);
    expect((await stale(ns)).staleRows).toBe(200);
  });

  it("of functions that are none is refused when the namespace is opened", () => {
    const good = { version: "1", inputs: ["n"], output: new Int64(), row: () => 1 };
    const refused = (change: object, text: RegExp) =>
      expect(() => open({ f: { ...good, ...change } as unknown as UserFunction })).toThrow(text);
    refused({ version: "" }, /functions.f.version/);
    refused({ inputs: [] }, /functions.f.inputs/);
    refused({ inputs: ["n", "`n`"] }, /twice/);
    refused({ inputs: ["a..b"] }, /path/);
    refused({ output: "int64" }, /functions.f.output/);
    refused({ row: 1 }, /functions.f.row/);
    refused({ batch: () => [] }, /either row or batch/);
    refused({ row: undefined }, /either row or batch/);
    refused({ rows: () => 1 }, /no member rows/);
    refused({ retries: -1 }, /retries/);
    refused({ nullable: "yes" }, /nullable/);
  });
});

describe("while a backfill runs", () => {
  function during(work: (ns: DirectoryNamespace) => Promise<unknown>) {
    const seen: number[] = [];
    let rivalJob: Promise<unknown> | null = null;
    const double: UserFunction = {
      ...{ version: "1", inputs: ["n"], output: new Int64() },
      batch: async ({ n }) => {
        const numbers = [...n] as number[];
        seen.push(...numbers);
        rivalJob ??= work(open({}));
        await rivalJob;
        return numbers.map((each) => BigInt(each) * 2n);
      },
    };
    return { functions: { double }, seen };
  }

  it("rows are appended and deleted, and no value is computed twice for it", async () => {
    const { functions, seen } = during(async (rival) => {
      await rival.insertIntoTable(ID, rows(1000, 10));
      await rival.deleteFromTable({ ...ID, predicate: "n % 2 = 1" });
      await reference.deleteRows(stage.root, "t", "n % 10 = 4");
    });
    const ns = open(functions);
    await makeTable(ns);
    await declare(ns);
    await fill(ns);
    expect(seen.length).toBe(300);
    const left = numbers(0, 300).filter((n) => n % 2 === 0 && n % 10 !== 4);
    const added = numbers(1000, 10).filter((n) => n % 2 === 0 && n % 10 !== 4);
    expect(await theirPairs()).toEqual([...doubled(left), ...added.map((n): [number, null] => [n, null])]);
  });

  it("a compaction makes its fragments be done again", async () => {
    const { functions } = during((rival) => rival.optimizeTable(ID));
    const ns = open(functions);
    await makeTable(ns);
    await declare(ns);
    const job = await fill(ns);
    expect(job.result).toMatchObject({ rows: 300, fragments: 1 });
    expect(await theirPairs()).toEqual(doubled(numbers(0, 300)));
    expect(await checkpointNames()).toEqual([]);
  });

  it("a cast of an input by the reference, and columns that come and go, are seen", async () => {
    const { functions } = during(async (rival) => {
      await reference.alterColumns(stage.root, "t", [{ path: "n", dataType: { type: "int64" } }]);
      await rival.alterTableAddColumns({ ...ID, newColumns: [{ name: "x", expression: "n + 1" }] });
      await rival.alterTableDropColumns({ ...ID, columns: ["s"] });
    });
    const ns = open(functions);
    await makeTable(ns);
    await declare(ns);
    const { batch } = functions.double as { batch: (...args: never[]) => unknown };
    expect(batch).toBeDefined();
    await fill(ns);
    const table = await stage.rowsThere();
    expect(table.schema.fields.map(({ name }) => name)).toEqual(["n", "d", "x"]);
    expect([...table].every(({ n, d }) => d === BigInt(n) * 2n)).toBe(true);
  });

  it("a cancel ends it, aborts the call, and leaves the table whole", async () => {
    let aborted = false;
    const { promise: isCalled, resolve: called } = withResolvers();
    const double: UserFunction = {
      ...{ version: "1", inputs: ["n"], output: new Int64() },
      batch: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          called();
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(signal.reason);
          });
        }),
    };
    const ns = open({ double });
    await makeTable(ns);
    await declare(ns);
    const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "d" });
    await isCalled;
    expect(await ns.cancelJob({ jobId })).toMatchObject({ state: "Cancelled" });
    expect(aborted).toBe(true);
    expect((await stale(ns)).staleRows).toBe(300);
  });

  it("whoever asks for the same gets the same job", async () => {
    const { functions, seen } = doubling();
    const namespaces = [open(functions), open(functions), open(functions)];
    await makeTable(namespaces[0]);
    await declare(namespaces[0]);
    const jobs = await Promise.all(
      namespaces.map((ns) => ns.alterTableBackfillColumns({ ...ID, column: "d", where: "true" })),
    );
    for (const { jobId } of jobs) await namespaces[0].waitForJob({ jobId });
    // A job requested after the first has ended is a new one.
    expect(seen.length).toBe(300 * new Set(jobs.map(({ jobId }) => jobId)).size);
  });
});

describe("checkpoints", () => {
  it("that are damaged, of other values or in each other's way are computed again", async () => {
    const { functions, seen } = doubling();
    let isBroken = true;
    const { double } = functions;
    const breaking = {
      ...double,
      retries: 0,
      batch: (columns: never, call: never) => {
        const result = (double.batch as (...args: never[]) => unknown)(columns, call);
        if (isBroken && seen.includes(90)) throw new Error("broken");
        return result;
      },
    } as unknown as UserFunction;
    const ns = open({ double: breaking });
    await makeTable(ns, 1);
    await declare(ns);
    const how = { checkpointSize: 10, batchCheckpointFlushIntervalSeconds: 0 };
    await expect(fill(ns, how)).rejects.toThrow(/broken/);
    const directory = join(stage.root, "t.lance", "_tiltyard", "checkpoints");
    const names = (await checkpointNames()).sort();
    expect(names.length).toBe(9);
    const byFirst = (first: number) => names.find((name) => name.includes(`-${first}-${first + 9}.`)) ?? "";
    const whole = await readFile(join(directory, byFirst(0)));
    await writeFile(join(directory, byFirst(10)), whole);
    await writeFile(join(directory, byFirst(20)), whole.subarray(0, 100));
    await writeFile(join(directory, byFirst(30)), "");
    await writeFile(join(directory, byFirst(0).replace("-0-9.", "-5-14.")), whole);
    await writeFile(join(directory, byFirst(0).replace("-0-9.", "-0-4294967295.")), whole);
    await writeFile(join(directory, byFirst(0).replace(/-0-9.*/, "-x.tmp")), whole);
    isBroken = false;
    seen.length = 0;
    await fill(ns, how);
    expect(seen.sort((a, b) => a - b)).toEqual([...numbers(10, 30), ...numbers(90, 10)]);
    expect(await theirPairs()).toEqual(doubled(numbers(0, 100)));
    expect(await checkpointNames()).toEqual([]);
  });

  it("of work that nobody finishes go with a cleanup", async () => {
    const { functions } = doubling({
      retries: 0,
      row: ({ n }: { n: number }) => {
        if (n > 50) throw new Error("broken");
        return n;
      },
      batch: undefined,
    });
    const ns = open(functions);
    await makeTable(ns, 1);
    await declare(ns);
    const failing = fill(ns, { checkpointSize: 10, batchCheckpointFlushIntervalSeconds: 0 });
    await expect(failing).rejects.toThrow(/broken/);
    expect((await checkpointNames()).length).toBe(5);
    await ns.cleanupTable(ID);
    expect((await checkpointNames()).length).toBe(5);
    await ns.cleanupTable({ ...ID, deleteUnverified: true });
    expect(await checkpointNames()).toEqual([]);
  });
});
