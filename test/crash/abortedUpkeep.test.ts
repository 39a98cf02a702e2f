/**
 * Cancels cleanups and compactions at every call to the disk. A rejected one has changed nothing but files
 * that no version refers to; a resolved one has done all of its work.
 *
 * `npm run soak` covers more of the calls than `npm test`.
 */

import { cp, mkdir, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, ServiceUnavailableError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { temporaryName } from "../../src/io/names/temporaryNames.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { strideOf } from "../support/effort.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { watchedDisk } from "../support/watchedDisk.js";

const STRIDE = Math.ceil(strideOf("CRASH_STRIDE", 6) / 3);
const id = ["t"];
const rowsOf = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });
const valuesOf = (table: Table) => Array.from(table.getChild("v") ?? [], Number);
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

/** Orphans in the table's directory. */
const GARBAGE = [
  join("data", "1".repeat(50).concat(".lance")),
  join("_versions", temporaryName()),
  join("_tiltyard", "versions", "77.json"),
];

/** Makes six versions, with a tag of the second and a branch of the third, and orphans. */
async function prepare(root: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1, 2, 3));
  for (const row of [4, 5]) await ns.insertIntoTable({ id }, rowsOf(row));
  await reference.deleteRows(root, "t", "v = 2");
  await ns.createTableTag({ id, tag: "kept", version: 2 });
  await ns.createTableBranch({ id, name: "dev", fromVersion: 3 });
  await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(30));
  await ns.insertIntoTable({ id }, rowsOf(6));
  await ns.insertIntoTable({ id }, rowsOf(7));
  await ns.close();
  const then = new Date(Date.now() - 2 * WEEK_MS);
  for (const path of GARBAGE) {
    const file = join(root, "t.lance", path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, "garbage");
    await utimes(file, then, then);
  }
}

/** Returns the rows of each version, and of tags and branches. */
async function contentOf(root: string): Promise<Record<string, number[]>> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const content: Record<string, number[]> = {};
  for (const branch of [undefined, "dev"]) {
    for (const { version } of (await ns.listTableVersions({ id, branch })).versions) {
      const rows = await ns.table(id, { branch, version }).scan().toArrow();
      content[`${branch} ${version}`] = valuesOf(rows);
    }
  }
  content["tag"] = valuesOf(await ns.table(id, { tag: "kept" }).scan().toArrow());
  await ns.close();
  return content;
}

type Operation = (ns: DirectoryNamespace, signal?: AbortSignal) => Promise<unknown>;

const operations: { title: string; run: Operation }[] = [
  { title: "a cleanup", run: (ns, signal) => ns.cleanupTable({ id, olderThanMs: 0, signal }) },
  {
    title: "a cleanup of a branch",
    run: (ns, signal) => ns.cleanupTable({ id, branch: "dev", olderThanMs: 0, signal }),
  },
  { title: "a compaction", run: (ns, signal) => ns.optimizeTable({ id, targetRowsPerFragment: 4, signal }) },
];

describe.each(operations)("$title", ({ run }) => {
  it("changes nothing if it is cancelled, or completes", async () => {
    const base = await makeTempDir();
    // Prepare in place: the branch refers to its source by an absolute path.
    const root = join(base, "inner", "root");
    const template = join(base, "template");
    await mkdir(dirname(root));
    await prepare(root);
    await cp(root, template, { recursive: true, preserveTimestamps: true });
    const files = Object.entries(await directorySnapshot(join(root, "t.lance"))).filter(
      ([path]) => !GARBAGE.includes(path),
    );
    const content = await contentOf(root);
    const untouched = new DirectoryNamespace({ root, durability: "none" });
    await run(untouched);
    await untouched.close();
    const done = await contentOf(root);
    expect(done).not.toEqual(content);

    const outcomes = { resolved: 0, rejected: 0 };
    for (let abortAt = 0; ; abortAt += STRIDE) {
      await rm(root, { recursive: true });
      await cp(template, root, { recursive: true, preserveTimestamps: true });
      const controller = new AbortController();
      let where = `${abortAt}`;
      const disk = watchedDisk(new NodeDisk({ durability: "none" }), {
        before({ index, verb, path }) {
          if (index !== abortAt) return;
          where += `: ${verb} ${path}`;
          controller.abort();
        },
      });
      const ns = new DirectoryNamespace({ root, disk } as { root: string });
      const outcome = await run(ns, controller.signal).then(
        () => "resolved" as const,
        (error: unknown) => {
          expect(error, where).toBeInstanceOf(ServiceUnavailableError);
          return "rejected" as const;
        },
      );
      await ns.close();
      if (!controller.signal.aborted) break;
      outcomes[outcome]++;
      if (outcome === "rejected") {
        const after = await directorySnapshot(join(root, "t.lance"));
        expect(Object.fromEntries(files.map(([path]) => [path, after[path]])), where).toEqual(
          Object.fromEntries(files),
        );
        expect(Object.keys(after).length, where).toBeLessThanOrEqual(files.length + GARBAGE.length);
      }
      if (outcome === "resolved" || abortAt % (5 * STRIDE) === 0) {
        expect(await contentOf(root), where).toEqual(outcome === "rejected" ? content : done);
      }
    }
    expect(outcomes.rejected).toBeGreaterThan(3);
    expect(outcomes.resolved).toBeGreaterThan(3);
  });
});
