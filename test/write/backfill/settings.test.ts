/** Each setting of a backfill has its documented effect. */

import { setTimeout as sleep } from "node:timers/promises";
import { Int64, Table, vectorFromArray } from "apache-arrow";
import {
  type AlterTableBackfillColumnsRequest,
  type DirectoryNamespace,
  InvalidInputError,
  NamespaceError,
  TableColumnNotFoundError,
  type UserFunction,
} from "tiltyard";
import { afterEach, describe, expect, it, vi } from "vitest";
import { BatchSize } from "../../../src/write/backfill/batchSize.js";
import { EarlyFile } from "../../../src/write/backfill/earlyFile.js";
import { withResolvers } from "../../support/deferred.js";
import { createParts, freshStage } from "../../support/stage.js";

type Settings = Omit<AlterTableBackfillColumnsRequest, "id" | "column">;

const ID = { id: ["t"] };
const stage = freshStage();
afterEach(() => {
  vi.restoreAllMocks();
});

const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n);
const rows = (from: number, count: number): Table =>
  new Table({ n: vectorFromArray(Int32Array.from({ length: count }, (_, n) => from + n)) });

function open(double: UserFunction): DirectoryNamespace {
  const ns = stage.open({ functions: { double } });
  return ns;
}

/** Doubles numbers by batch; `call` sees each batch first. */
const batches = (
  call: (numbers: number[], signal: AbortSignal) => unknown,
  change: object = {},
): UserFunction =>
  ({
    ...{ version: "1", inputs: ["n"], output: new Int64() },
    batch: async ({ n }: { n: Iterable<number> }, { signal }: { signal: AbortSignal }) => {
      const numbers = [...n];
      await call(numbers, signal);
      return numbers.map((each) => BigInt(each) * 2n);
    },
    ...change,
  }) as unknown as UserFunction;

async function makeTable(ns: DirectoryNamespace, sizes: readonly number[]): Promise<void> {
  let from = 0;
  await createParts(
    ns,
    ID.id,
    sizes.map((size) => rows((from += size) - size, size)),
  );
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", virtualColumn: { udfName: "double" } }] });
}

async function fill(ns: DirectoryNamespace, settings: Settings = {}) {
  const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "d", ...settings });
  return ns.waitForJob({ jobId });
}

const versionOf = async (ns: DirectoryNamespace): Promise<number> =>
  (await ns.describeTable(ID)).version ?? 0;

/** Returns the numbers that have a double, ascending, and checks each double. */
async function filled(): Promise<number[]> {
  const table = await stage.rowsThere();
  const filledNumbers: number[] = [];
  for (const { n, d } of table) {
    if (d === null) continue;
    expect(Number(d)).toBe(n * 2);
    filledNumbers.push(n);
  }
  return filledNumbers.sort((a, b) => a - b);
}

const checkpoints = (): Promise<string[]> => stage.checkpoints();

/** Counts running calls; each waits until `wanted` of them run. */
function gate(wanted: number) {
  let underWay = 0;
  let most = 0;
  const { promise: isOpen, resolve: openGate } = withResolvers();
  return {
    most: () => most,
    async pass(): Promise<void> {
      most = Math.max(most, ++underWay);
      if (underWay === wanted) openGate();
      await isOpen;
      // Gives any further call the time to begin.
      await new Promise((resolve) => setTimeout(resolve, 5));
      underWay--;
    },
  };
}

describe("the number of running calls", () => {
  it.each([
    ["concurrency, in one fragment", [100], { concurrency: 3, taskSize: 20 }, 3],
    ["concurrency, over fragments", [20, 20, 20, 20, 20], { concurrency: 3 }, 3],
    ["intraApplierConcurrency", [100], { intraApplierConcurrency: 4, checkpointSize: 10 }, 4],
    ["both", [100, 100], { concurrency: 2, intraApplierConcurrency: 3, checkpointSize: 10, taskSize: 50 }, 6],
    ["neither", [100, 100], { checkpointSize: 10 }, 1],
  ] as const)("is set by %s, for batches", async (_, sizes, settings, wanted) => {
    const calls = gate(wanted);
    const ns = open(batches(() => calls.pass()));
    await makeTable(ns, sizes);
    await fill(ns, settings);
    expect(calls.most()).toBe(wanted);
    expect(await filled()).toEqual(
      numbers(
        0,
        sizes.reduce((sum, size) => sum + size, 0),
      ),
    );
  });

  it.each([
    [{ intraApplierConcurrency: 4 }, 4],
    [{ intraApplierConcurrency: 3, concurrency: 2, taskSize: 20 }, 6],
    [{}, 1],
  ] as const)("is set for rows by %s", async (settings, wanted) => {
    const calls = gate(wanted);
    const ns = open({
      ...{ version: "1", inputs: ["n"], output: new Int64() },
      row: async ({ n }) => {
        await calls.pass();
        return (n as number) * 2;
      },
    });
    await makeTable(ns, [60]);
    await fill(ns, settings);
    expect(calls.most()).toBe(wanted);
    expect(await filled()).toEqual(numbers(0, 60));
  });
});

describe("the number of rows of a call", () => {
  const sizesOf = async (rowCount: number, settings: Settings): Promise<number[]> => {
    const sizes: number[] = [];
    const ns = open(batches((numbers) => sizes.push(numbers.length)));
    await makeTable(ns, [rowCount]);
    await fill(ns, settings);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(rowCount);
    return sizes;
  };

  it.each([
    ["1024 by default", 2500, {}, [1024, 1024, 452]],
    ["checkpointSize", 250, { checkpointSize: 100 }, [100, 100, 50]],
    ["maxCheckpointSize, without the other", 250, { maxCheckpointSize: 100 }, [100, 100, 50]],
    ["the smaller of both", 250, { checkpointSize: 200, maxCheckpointSize: 100 }, [100, 100, 50]],
    [
      "checkpointSize where the maximum is larger",
      250,
      { checkpointSize: 100, maxCheckpointSize: 200 },
      [100, 100, 50],
    ],
    ["no more than a piece of work has", 100, { taskSize: 30 }, [30, 30, 30, 10]],
    ["a piece of work in batches", 100, { taskSize: 30, checkpointSize: 20 }, [20, 10, 20, 10, 20, 10, 10]],
  ] as const)("is %s", async (_, rowCount, settings, sizes) => {
    expect(await sizesOf(rowCount, settings)).toEqual(sizes);
  });

  it("is at least minCheckpointSize for any storage of the rows", async () => {
    const settings = { checkpointSize: 10_000, minCheckpointSize: 10_000 };
    expect(await sizesOf(45_000, settings)).toEqual([10_000, 10_000, 10_000, 10_000, 5000]);
  });

  it("begins at 32 rows for a function that computes row by row, within the bounds", () => {
    expect(new BatchSize({ least: 1, most: 1024 }, true).rows).toBe(32);
    expect(new BatchSize({ least: 100, most: 1024 }, true).rows).toBe(100);
    expect(new BatchSize({ least: 1, most: 10 }, true).rows).toBe(10);
  });

  it("lets a job tell its first rows long before a slow function has computed a thousand", async () => {
    const released = withResolvers();
    let calls = 0;
    const ns = open({
      ...{ version: "1", inputs: ["n"], output: new Int64() },
      row: async ({ n }) => {
        if (++calls > 40) await released.promise;
        return (n as number) * 2;
      },
    });
    await makeTable(ns, [700]);
    const filling = fill(ns, {});
    const [job] = await vi.waitUntil(async () => {
      const { jobs } = await ns.listJobs({});
      return (jobs[0]?.done ?? 0) >= 32 && jobs;
    });
    expect(job.done).toBe(32);
    released.resolve();
    await filling;
    expect(await filled()).toEqual(numbers(0, 700));
  });

  it("halves for slow calls and doubles for fast ones, within the bounds", () => {
    const size = new BatchSize({ least: 200, most: 1000 }, false);
    const sizeAfter = (rowCount: number, ms: number): number => {
      size.note(rowCount, ms);
      return size.rows;
    };
    expect(sizeAfter(1000, 9999)).toBe(1000);
    expect(sizeAfter(1000, 10_001)).toBe(500);
    expect(sizeAfter(500, 10_001)).toBe(250);
    expect(sizeAfter(250, 60_000)).toBe(200);
    expect(sizeAfter(200, 5000)).toBe(200);
    // A smaller last batch does not change the size.
    expect(sizeAfter(10, 1)).toBe(200);
    expect(sizeAfter(200, 1)).toBe(400);
    expect(sizeAfter(400, 1)).toBe(800);
    expect(sizeAfter(800, 1)).toBe(1000);
  });
});

describe("the time of a save", () => {
  /** Returns the number of checkpoint files at each call; a call takes three seconds of the fake clock. */
  const filesAtCalls = async (settings: Settings): Promise<number[]> => {
    vi.restoreAllMocks();
    let elapsedMs = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + elapsedMs);
    const counts: number[] = [];
    const ns = open(
      batches(async () => {
        counts.push((await checkpoints()).length);
        elapsedMs += 3000;
      }),
    );
    await makeTable(ns, [70]);
    await fill(ns, { checkpointSize: 10, ...settings });
    expect(await checkpoints()).toEqual([]);
    await ns.dropTable(ID);
    return counts;
  };

  it.each([
    ["after each call", 0, [0, 1, 2, 3, 4, 5, 6]],
    ["when they are older than five seconds, by default", undefined, [0, 0, 0, 1, 1, 1, 2]],
    ["when they are older than asked", 4, [0, 0, 0, 1, 1, 1, 2]],
    ["when they are older than a call took", 3, [0, 0, 1, 1, 2, 2, 3]],
    ["when they are older than half a second", 0.5, [0, 0, 1, 1, 2, 2, 3]],
    ["when they are older than three seconds and a half", 3.5, [0, 0, 0, 1, 1, 1, 2]],
    ["not at all, where there is time", 3600, [0, 0, 0, 0, 0, 0, 0]],
  ] as const)("is %s", async (_, batchCheckpointFlushIntervalSeconds, counts) => {
    expect(await filesAtCalls({ batchCheckpointFlushIntervalSeconds })).toEqual(counts);
    expect(await filesAtCalls({ batchCheckpointFlushIntervalSeconds, taskSize: 10 })).toEqual(counts);
  });
});

describe("a value that is computed before a call fails", () => {
  const failsAt = (row: number, computed: number[]) =>
    batches(
      async (numbers) => {
        if (numbers.includes(row)) await sleep(30);
        if (numbers.includes(row)) throw new Error("broken");
        computed.push(numbers[0]);
      },
      { retries: 0 },
    );

  it.each([
    ["committed", {}, 1, 20],
    ["committed as far as a version is whole", {}, 2, 20],
    ["saved", { concurrency: 3 }, 16, 0],
    ["saved where it waits for what is before it", { concurrency: 3 }, 1, undefined],
  ] as const)("is %s", async (_, settings, commitGranularity, count) => {
    const computed: number[] = [];
    const ns = open(failsAt(25, computed));
    await makeTable(ns, [10, 10, 10, 10]);
    await expect(fill(ns, { ...settings, commitGranularity })).rejects.toThrow("broken");
    if (count !== undefined) expect((await filled()).length).toBe(count);
    const first = [...computed];
    expect(first).toEqual(expect.arrayContaining([0, 10]));
    const again = open(failsAt(-1, computed));
    await fill(again, { ...settings, commitGranularity });
    expect(await filled()).toEqual(numbers(0, 40));
    expect([...computed].sort((a, b) => a - b)).toEqual([0, 10, 20, 30]);
  });

  it("is saved although an earlier call takes longer", async () => {
    let calls = 0;
    const { promise: mayGoOn, resolve: goOn } = withResolvers();
    const ns = open(
      batches(async ([first]) => {
        calls++;
        if (first === 0) await mayGoOn;
      }),
    );
    await makeTable(ns, [100]);
    const settings = {
      intraApplierConcurrency: 10,
      checkpointSize: 10,
      batchCheckpointFlushIntervalSeconds: 0,
    };
    const filling = fill(ns, settings);
    const savedRows = async (): Promise<number> => {
      const ranges = (await checkpoints()).map((name) => /-(\d+)-(\d+)\.lance$/.exec(name) ?? ["", "1", "0"]);
      return ranges.reduce((sum, [, first, last]) => sum + Number(last) - Number(first) + 1, 0);
    };
    while ((await savedRows()) < 90) await sleep(5);
    expect(calls).toBe(10);
    goOn();
    await filling;
    expect(await filled()).toEqual(numbers(0, 100));
  });

  it("is committed, and the first error is reported even if the commit fails", async () => {
    const { promise: hasFailed, resolve: fail } = withResolvers();
    const ns = open(
      batches(
        async ([first]) => {
          if (first < 10) return;
          fail();
          throw new Error("broken");
        },
        { retries: 0 },
      ),
    );
    await makeTable(ns, [10, 10]);
    const commit = vi.spyOn(EarlyFile.prototype, "handOver").mockImplementation(async () => {
      await hasFailed;
      await sleep(20);
      throw new Error("the commit failed later");
    });
    try {
      await expect(fill(ns, { commitGranularity: 1 })).rejects.toThrow("broken");
    } finally {
      commit.mockRestore();
    }
  });

  it("is computed in fragment order, whichever selection ends first", async () => {
    const computed: number[] = [];
    const ns = open(failsAt(-1, computed));
    await makeTable(ns, [3000, 10, 10]);
    await ns.deleteFromTable({ ...ID, predicate: "n = 5" });
    await fill(ns, { commitGranularity: 1, checkpointSize: 3000 });
    expect(computed).toEqual([0, 3000, 3010]);
  });
});

describe("the filled rows", () => {
  it("belong to at most numFrags fragments, not counting fragments without rows to fill", async () => {
    const seen: number[] = [];
    const ns = open(batches((numbers) => seen.push(...numbers)));
    await makeTable(ns, [10, 10, 10, 10]);
    expect((await fill(ns, { numFrags: 1 })).result).toMatchObject({ rows: 10, fragments: 1 });
    expect(await filled()).toEqual(numbers(0, 10));
    expect((await fill(ns, { numFrags: 2 })).result).toMatchObject({ rows: 20, fragments: 2 });
    expect(await filled()).toEqual(numbers(0, 30));
    expect((await fill(ns, { numFrags: 1, where: "n >= 15" })).result).toMatchObject({ fragments: 1 });
    expect(seen).toEqual([...numbers(0, 30), ...numbers(15, 5)]);
  });

  it.each([
    1, 3,
  ])("is what progress is told of, with numFrags and %s fragments at a time", async (concurrency) => {
    const ns = open(batches(() => undefined));
    await makeTable(ns, [10, 10, 10, 10]);
    expect(await fill(ns, { numFrags: 1, concurrency })).toMatchObject({ done: 10, total: 10 });
    expect(await fill(ns, { numFrags: 2, concurrency })).toMatchObject({ done: 20, total: 20 });
  });

  it.each([
    [1, 5],
    [2, 3],
    [3, 2],
    [undefined, 1],
  ])("is committed %s fragments at a time", async (commitGranularity, versions) => {
    const ns = open(batches(() => undefined));
    await makeTable(ns, [10, 10, 10, 10, 10]);
    const before = await versionOf(ns);
    await fill(ns, { commitGranularity });
    expect((await versionOf(ns)) - before).toBe(versions);
    expect(await filled()).toEqual(numbers(0, 50));
  });

  it("are those of readVersion in their current state", async () => {
    const seen: number[] = [];
    const ns = open(batches((numbers) => seen.push(...numbers)));
    await makeTable(ns, [100, 100]);
    const readVersion = await versionOf(ns);
    await ns.insertIntoTable(ID, rows(200, 500));
    await ns.deleteFromTable({ ...ID, predicate: "n % 2 = 1 and n < 100" });
    await ns.updateTable({ ...ID, predicate: "n = 50", updates: [["n", "1050"]] });
    // Rewrites the old fragments, and leaves the added one.
    await ns.optimizeTable({ ...ID, targetRowsPerFragment: 150 });
    const evens = numbers(0, 50)
      .map((n) => n * 2)
      .filter((n) => n !== 50);
    expect(await fill(ns, { readVersion })).toMatchObject({ done: 150, total: 150 });
    expect(await filled()).toEqual([...evens, ...numbers(100, 100), 1050]);
    expect(seen.length).toBe(150);
    // Merged with others, appended rows can't be told apart.
    await ns.optimizeTable(ID);
    await fill(ns, { readVersion });
    expect((await filled()).length).toBe(650);
    expect(seen.length).toBe(650);
  });

  it("are those of readVersion even if it lacks the column or has another one", async () => {
    const old = open(batches(() => undefined));
    await makeTable(old, [10]);
    const readVersion = await versionOf(old);
    const ns = open(batches(() => undefined, { version: "2" }));
    const metadata = { "virtual_column.udf_version": "2" };
    await ns.updateFieldMetadata({ ...ID, updates: [{ path: "d", metadata }] });
    await ns.insertIntoTable(ID, rows(10, 5));
    await fill(ns, { readVersion });
    expect(await filled()).toEqual(numbers(0, 10));
    await expect(fill(ns, { readVersion: 1 })).rejects.toThrow(TableColumnNotFoundError);
    await expect(fill(ns, { readVersion: 1 })).rejects.toThrow(/version 1 has no column d/);
  });

  it.each([
    undefined,
    "true",
  ])("are not those that are added meanwhile, where others are done again (where: %s)", async (where) => {
    let isFirst = true;
    const seen: number[] = [];
    const ns = open(
      batches(async (numbers) => {
        seen.push(...numbers);
        if (!isFirst) return;
        isFirst = false;
        await ns.insertIntoTable(ID, rows(200, 500));
        await ns.optimizeTable({ ...ID, targetRowsPerFragment: 150 });
      }),
    );
    await makeTable(ns, [100, 100]);
    await fill(ns, { where });
    expect(await filled()).toEqual(numbers(0, 200));
    expect(new Set(seen).size).toBe(200);
    await fill(ns);
    expect(await filled()).toEqual(numbers(0, 700));
  });
});

describe("invalid settings", () => {
  const counts = ["concurrency", "intraApplierConcurrency", "checkpointSize", "minCheckpointSize"];
  const sizes = ["maxCheckpointSize", "taskSize", "numFrags", "commitGranularity"];

  it("are refused by name and start no job", async () => {
    const ns = open(batches(() => undefined));
    await makeTable(ns, [10]);
    const refused = async (member: string, value: unknown): Promise<void> => {
      const call = ns.alterTableBackfillColumns({ ...ID, column: "d", [member]: value });
      await expect(call, `${member} ${value}`).rejects.toThrow(InvalidInputError);
      await expect(call).rejects.toThrow(new RegExp(member));
    };
    for (const member of [...counts, ...sizes]) {
      for (const value of [0, -1, 1.5, "4", Number.NaN, 2 ** 53]) await refused(member, value);
    }
    for (const member of counts.slice(0, 2)) await refused(member, 1025);
    for (const member of ["checkpointSize", "minCheckpointSize", "maxCheckpointSize"]) {
      await refused(member, 16_385);
    }
    for (const value of [-1, -0.5, "5", Number.NaN, Number.POSITIVE_INFINITY]) {
      await refused("batchCheckpointFlushIntervalSeconds", value);
    }
    await refused("readVersion", -1);
    await refused("where", 5);
    await refused("where", "n + 1");
    await refused("minCheckpointSize", 1025);
    for (const member of ["cluster", "manifest"]) await refused(member, 5);
    expect((await ns.listJobs()).jobs).toEqual([]);
  });

  it("include a manifest without a cluster", async () => {
    const ns = open(batches(() => undefined));
    await makeTable(ns, [10]);
    await fill(ns, { manifest: "m" });
    expect(await filled()).toEqual(numbers(0, 10));
  });
});

describe("the signal of a call", () => {
  /** Makes a function that waits until its signal aborts. */
  const waiting = (aborted: unknown[], begun: () => void) =>
    batches(
      (_, signal) =>
        new Promise((_resolve, reject) => {
          begun();
          signal.addEventListener("abort", () => {
            aborted.push(signal.reason);
            reject(signal.reason);
          });
        }),
    );

  it.each(["cancelled", "closed"])("aborts when the job is %s", async (how) => {
    const { promise: isBegun, resolve: begun } = withResolvers();
    const aborted: unknown[] = [];
    const ns = open(waiting(aborted, begun));
    await makeTable(ns, [10]);
    const { jobId } = await ns.alterTableBackfillColumns({ ...ID, column: "d" });
    await isBegun;
    if (how === "cancelled") await ns.cancelJob({ jobId });
    else await ns.close();
    expect(aborted.length).toBe(1);
  });

  // As many calls as run at a time; the disk decides which of more begin first.
  const failing: readonly [string, Settings, readonly number[], readonly number[]][] = [
    ["in another fragment", { concurrency: 3 }, [10, 10, 10], [10, 20]],
    ["in another piece of work", { concurrency: 3, taskSize: 4 }, [10], [4, 8]],
    ["in the same piece of work", { intraApplierConcurrency: 3, checkpointSize: 4 }, [10], [4, 8]],
  ];
  it.each(failing)("aborts when another call %s has failed for good", async (_, settings, sizes, others) => {
    const aborted: number[] = [];
    const ns = open(batches(([first], signal) => failOrWait(first, signal, aborted), { retries: 1 }));
    await makeTable(ns, sizes);
    await expect(fill(ns, settings)).rejects.toThrow(/double, fragment 0, rows 0 to .*2 times.*broken/);
    expect(aborted.sort((a, b) => a - b)).toEqual(others);
    expect(await filled()).toEqual([]);
    expect(await checkpoints()).toEqual([]);
  });

  it("has many listeners without a warning", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    try {
      const ns = open(
        batches((_, signal) => new Promise((resolve) => setTimeout(resolve, 20)).then(() => signal), {
          batch: async ({ n }: { n: Iterable<number> }, { signal }: { signal: AbortSignal }) => {
            await sleep(20, undefined, { signal });
            return Array.from(n, (each) => BigInt(each) * 2n);
          },
        }),
      );
      await makeTable(ns, [160]);
      await fill(ns, { intraApplierConcurrency: 16, checkpointSize: 5 });
      // Node emits warnings in the next turn.
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("warning", note);
    }
    expect(warnings).toEqual([]);
  });

  it.each([
    "dropTable",
    "dropColumn",
    "declareAnew",
  ] as const)("aborts, and no call is made any more, after %s", async (how) => {
    let calls = 0;
    const aborted: unknown[] = [];
    const { promise: isBegun, resolve: begun } = withResolvers();
    const ns = open(
      batches(async ([first], signal) => {
        calls++;
        begun();
        // One call lasts; others run beside it.
        if (first === 0) await sleep(60_000, undefined, { signal }).catch((error) => aborted.push(error));
        else await sleep(50, undefined, { signal });
      }),
    );
    await makeTable(ns, [10_000]);
    const { jobId } = await ns.alterTableBackfillColumns({
      ...{ ...ID, column: "d", checkpointSize: 10, taskSize: 1000, concurrency: 2 },
    });
    await isBegun;
    if (how === "dropTable") await ns.dropTable(ID);
    else if (how === "dropColumn") await ns.alterTableDropColumns({ ...ID, columns: ["d"] });
    else
      await ns.updateFieldMetadata({
        ...ID,
        updates: [{ path: "d", metadata: { "virtual_column.udf_name": "other" } }],
      });
    await expect(ns.waitForJob({ jobId })).rejects.toThrow(NamespaceError);
    expect(aborted.length).toBe(1);
    expect(calls).toBeLessThan(500);
  });

  it("aborts when a row has failed for good", async () => {
    const aborted: number[] = [];
    const ns = open({
      ...{ version: "1", inputs: ["n"], output: new Int64(), retries: 0 },
      row: ({ n }, { signal }) => failOrWait(n as number, signal, aborted),
    });
    await makeTable(ns, [10]);
    await expect(fill(ns, { intraApplierConcurrency: 4 })).rejects.toThrow(
      /fragment 0, row 0: failed: broken/,
    );
    expect(aborted.sort((a, b) => a - b)).toEqual([1, 2, 3]);
  });
});

/** Fails the call that begins with 0; all others wait until their signal aborts. */
async function failOrWait(first: number, signal: AbortSignal, aborted: number[]): Promise<void> {
  if (first === 0) throw new Error("broken");
  await new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      aborted.push(first);
      reject(signal.reason);
    });
  });
}
