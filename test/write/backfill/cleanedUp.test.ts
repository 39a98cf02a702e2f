/** A cleanup may remove files of a running backfill, which then computes their values again. */

import { rm } from "node:fs/promises";
import { Int64 } from "apache-arrow";
import { ConcurrentModificationError, type DirectoryNamespace } from "tiltyard";
import { beforeEach, expect, it } from "vitest";
import type { Disk } from "../../../src/io/disk/disk.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { createParts, freshStage } from "../../support/stage.js";

const ID = { id: ["t"] };
const stage = freshStage();
let ns: DirectoryNamespace;
let calls: number;
beforeEach(() => {
  calls = 0;
});

/** Makes fragments of five rows, and a column of ten times the number. `during` gets the first rows. */
async function makeTable(
  during: () => Promise<unknown>,
  disk: Disk = new NodeDisk({ durability: "none" }),
  fragments = 3,
): Promise<void> {
  const tenfold = {
    ...{ version: "1", inputs: ["a"], output: new Int64() },
    async batch({ a }: { a: Iterable<bigint> }) {
      if (calls++ === 0) await during();
      return [...a].map((each) => each * 10n);
    },
  };
  ns = stage.open({ disk, functions: { tenfold } as never });
  const rows = (from: number) => Array.from({ length: 5 }, (_, row) => ({ a: BigInt(from + row) }));
  await createParts(
    ns,
    ID.id,
    Array.from({ length: fragments }, (_, part) => rows(part * 5)),
  );
  await ns.alterTableAddColumns({
    ...ID,
    newColumns: [{ name: "b", virtualColumn: { udfName: "tenfold" } }],
  });
}

const fill = async () =>
  ns.waitForJob(
    await ns.alterTableBackfillColumns({ ...ID, column: "b", batchCheckpointFlushIntervalSeconds: 0 }),
  );

async function expectFilled(): Promise<void> {
  const rows = [...(await stage.rowsThere())].map(({ a, b }) => [Number(a), Number(b)]);
  rows.sort(([a], [b]) => a - b);
  expect(rows).toEqual(Array.from({ length: 15 }, (_, a) => [a, a * 10]));
  expect(await stage.checkpoints()).toEqual([]);
}

it("a backfill survives a cleanup of the version it reads", async () => {
  await makeTable(async () => {
    await ns.optimizeTable(ID);
    await ns.cleanupTable({ ...ID, olderThanMs: 0 });
  });
  expect(await fill()).toMatchObject({ done: 15, total: 15, result: { rows: 15, fragments: 1 } });
  await expectFilled();
});

/** Makes a disk that removes a number of checkpoints right before their rename. */
function removing(times: number): Disk {
  let left = times;
  return new Proxy(new NodeDisk({ durability: "none" }), {
    get(target, member) {
      const value = Reflect.get(target, member);
      if (typeof value !== "function") return value;
      return async (...operands: unknown[]) => {
        const path = String(operands[0]);
        if (member === "rename" && /checkpoints.*\.tmp$/.test(path) && left-- > 0) await rm(path);
        return Reflect.apply(value, target, operands);
      };
    },
  });
}

it("a removed checkpoint is written again, and no row is computed again", async () => {
  await makeTable(async () => undefined, removing(2));
  expect(await fill()).toMatchObject({ result: { rows: 15, fragments: 3 } });
  expect(calls).toBe(3);
  await expectFilled();
});

it("a job whose every checkpoint is removed fails with a conflict", async () => {
  await makeTable(async () => undefined, removing(Number.POSITIVE_INFINITY), 1);
  await expect(fill()).rejects.toThrow(ConcurrentModificationError);
});
