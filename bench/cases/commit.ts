/** Commits per second of several processes, or several callers, that append to one table. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DirectoryNamespace } from "tiltyard";
import type { BenchCase, Side } from "../case.js";
import { makeRows } from "../data.js";
import { openReference, openTiltyard, referenceTable, tiltyardTable } from "../sides.js";

const COMMITTER = fileURLToPath(new URL("../committer.js", import.meta.url));

/** Waits for a message, or fails when the process ends before. */
async function messageFrom(child: ChildProcess): Promise<void> {
  const message = once(child, "message").then(() => null);
  const exit = once(child, "exit").then(
    ([code]) => new Error(`a committing process ended with code ${code}`),
  );
  const failure = await Promise.race([message, exit]);
  if (failure !== null) throw failure;
}

/** Processes are started, and have opened the table, before the clock runs. */
function side(
  name: Side["name"],
  kind: string,
  root: string,
  processes: number,
  commits: number,
  create: () => Promise<void>,
  verify: (rows: number) => Promise<void>,
): Side {
  let children: ChildProcess[] = [];
  return {
    name,
    async reset() {
      await Promise.all(children.map((child) => child.exitCode === null && once(child, "exit")));
      await rm(root, { recursive: true, force: true });
      await create();
      children = Array.from({ length: processes }, () => fork(COMMITTER, [kind, root, String(commits)]));
      await Promise.all(children.map(messageFrom));
    },
    async run() {
      const done = children.map(messageFrom);
      for (const child of children) child.send("go");
      await Promise.all(done);
      await verify(1 + processes * commits);
    },
  };
}

const racing = (processCount: number, commitCount: number): BenchCase => ({
  area: "commit",
  name: `${processCount} processes, ${commitCount} one-row appends each`,
  rounds: { small: 1, large: 5 },
  collectFirst: true,
  async prepare(directory, size) {
    const [processes, commits] = size === "large" ? [processCount, commitCount] : [2, 2];
    const rows = makeRows(1, 1, ["id", "score"]);
    const tiltyard = (name: Side["name"], durability: "fsync" | "none") => {
      const root = join(directory, durability);
      const withEngine = async <T>(use: (ns: ReturnType<typeof openTiltyard>) => Promise<T>): Promise<T> => {
        const ns = openTiltyard(root, durability);
        const result = await use(ns);
        await ns.close();
        return result;
      };
      return side(
        name,
        durability,
        root,
        processes,
        commits,
        () => withEngine((ns) => ns.createTable({ id: ["t"] }, tiltyardTable(rows))).then(() => undefined),
        async (expected) => expectRows(await withEngine((ns) => ns.countTableRows({ id: ["t"] })), expected),
      );
    };
    const root = join(directory, "reference");
    const reference = side(
      "reference",
      "reference",
      root,
      processes,
      commits,
      async () => {
        const connection = await openReference(root);
        await connection.createTable("t", referenceTable(rows));
        connection.close();
      },
      async (expected) => {
        const connection = await openReference(root);
        expectRows(await (await connection.openTable("t")).countRows(), expected);
        connection.close();
      },
    );
    return {
      work: { amount: processes * commits, unit: "commits" },
      sides: [tiltyard("tiltyard", "none"), tiltyard("tiltyard, fsync", "fsync"), reference],
      async close() {},
    };
  },
});

/** Inserts that one process makes at once, each of one row. */
const concurrentInserts = (insertCount: number): BenchCase => ({
  area: "commit",
  name: `${insertCount} one-row inserts at once, groupInserts`,
  rounds: { small: 1, large: 20 },
  async prepare(directory, size) {
    const inserts = size === "large" ? insertCount : 3;
    const rows = makeRows(1, 1, ["id", "score"]);
    const all = async (insert: () => Promise<unknown>) => {
      await Promise.all(Array.from({ length: inserts }, insert));
    };
    const tiltyard = (name: Side["name"], groupInserts: boolean) => {
      const root = join(directory, name);
      const ns = new DirectoryNamespace({ root, durability: "none", groupInserts });
      return {
        close: () => ns.close(),
        side: {
          name,
          async reset() {
            await ns.createTable({ id: ["t"], mode: "Overwrite" }, tiltyardTable(rows));
          },
          run: () => all(() => ns.insertIntoTable({ id: ["t"] }, tiltyardTable(rows))),
        },
      };
    };
    const [grouped, plain] = [tiltyard("tiltyard", true), tiltyard("tiltyard, plain", false)];
    const connection = await openReference(join(directory, "reference"));
    let table = await connection.createTable("t", referenceTable(rows));
    const reference: Side = {
      name: "reference",
      async reset() {
        table.close();
        table = await connection.createTable("t", referenceTable(rows), { mode: "overwrite" });
      },
      run: () => all(() => table.add(referenceTable(rows))),
    };
    return {
      work: { amount: inserts, unit: "calls" },
      sides: [grouped.side, plain.side, reference],
      async close() {
        await grouped.close();
        await plain.close();
        table.close();
        connection.close();
      },
    };
  },
});

function expectRows(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${actual} rows after the race instead of ${expected}`);
}

export const commitCases: readonly BenchCase[] = [racing(4, 100), racing(8, 50), concurrentInserts(50)];
