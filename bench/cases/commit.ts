/** Commits per second of several processes that append to one table. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
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

const fourProcesses: BenchCase = {
  area: "commit",
  name: "4 processes, 100 one-row appends each",
  rounds: { small: 1, large: 5 },
  collectFirst: true,
  async prepare(directory, size) {
    const [processes, commits] = size === "large" ? [4, 100] : [2, 2];
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
};

function expectRows(actual: number, expected: number): void {
  if (actual !== expected) throw new Error(`${actual} rows after the race instead of ${expected}`);
}

export const commitCases: readonly BenchCase[] = [fourProcesses];
