/** Cancels cleanups and compactions at every disk call. A rejected one changes no version. */

import { mkdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DirectoryNamespace, ServiceUnavailableError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { temporaryName } from "../../src/io/names/temporaryNames.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { strideOf } from "../support/effort.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { watchedDisk } from "../support/watchedDisk.js";
import { stage, withNamespace } from "./interruptions.js";

const STRIDE = Math.ceil(strideOf("CRASH_STRIDE", 6) / 3);
const id = ["t"];
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

const GARBAGE = [
  join("data", "1".repeat(50).concat(".lance")),
  join("_versions", temporaryName()),
  join("_tiltyard", "versions", "77.json"),
];

async function prepare(ns: DirectoryNamespace): Promise<void> {
  const { root } = ns;
  await ns.createTable({ id }, rowsOf(1, 2, 3));
  for (const row of [4, 5]) await ns.insertIntoTable({ id }, rowsOf(row));
  await reference.deleteRows(root, "t", "v = 2");
  await ns.createTableTag({ id, tag: "kept", version: 2 });
  await ns.createTableBranch({ id, name: "dev", fromVersion: 3 });
  await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(30));
  await ns.insertIntoTable({ id }, rowsOf(6));
  await ns.insertIntoTable({ id }, rowsOf(7));
  const then = new Date(Date.now() - 2 * WEEK_MS);
  for (const path of GARBAGE) {
    const file = join(root, "t.lance", path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, "garbage");
    await utimes(file, then, then);
  }
}

async function contentOf(ns: DirectoryNamespace): Promise<Record<string, number[]>> {
  const content: Record<string, number[]> = {};
  for (const branch of [undefined, "dev"]) {
    for (const { version } of (await ns.listTableVersions({ id, branch })).versions) {
      const rows = await ns.table(id, { branch, version }).scan().toArrow();
      content[`${branch} ${version}`] = valuesOf(rows);
    }
  }
  content["tag"] = valuesOf(await ns.table(id, { tag: "kept" }).scan().toArrow());
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
    const { root, restore } = await stage((root) => withNamespace(root, prepare));
    const files = Object.entries(await directorySnapshot(join(root, "t.lance"))).filter(
      ([path]) => !GARBAGE.includes(path),
    );
    const content = await withNamespace(root, contentOf);
    await withNamespace(root, (ns) => run(ns));
    const done = await withNamespace(root, contentOf);
    expect(done).not.toEqual(content);

    const outcomes = { resolved: 0, rejected: 0 };
    for (let abortAt = 0; ; abortAt += STRIDE) {
      await restore();
      const controller = new AbortController();
      let where = `${abortAt}`;
      const disk = watchedDisk(new NodeDisk({ durability: "none" }), {
        before({ index, verb, path }) {
          if (index !== abortAt) return;
          where += `: ${verb} ${path}`;
          controller.abort();
        },
      });
      const ns = new DirectoryNamespace({ root, disk });
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
        expect(await withNamespace(root, contentOf), where).toEqual(outcome === "rejected" ? content : done);
      }
    }
    expect(outcomes.rejected).toBeGreaterThan(3);
    expect(outcomes.resolved).toBeGreaterThan(3);
  });
});
