/** The option `upkeep`: tables that pass a threshold are compacted, indexed and cleaned up by themselves. */

import { fork } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DirectoryNamespace, InvalidInputError, type NamespaceWarning } from "tiltyard";
import { afterEach, expect, it } from "vitest";
import { openContext } from "../../src/operations/context.js";
import { contextOptionsOf } from "../../src/operations/namespaceOptions.js";
import { cleanupTable } from "../../src/operations/table/cleanupTable.js";
import { optimizeTable } from "../../src/operations/table/optimizeTable.js";
import { dueUpkeep } from "../../src/operations/upkeep/dueUpkeep.js";
import { startUpkeep } from "../../src/operations/upkeep/upkeep.js";
import type { ManifestFile } from "../../src/table/versions/manifest.js";
import { makeTempDir } from "../support/tempDir.js";

const open: DirectoryNamespace[] = [];
afterEach(async () => {
  for (const namespace of open.splice(0)) await namespace.close();
});

function namespaceOf(root: string, options: object = {}) {
  const namespace = new DirectoryNamespace({ root, durability: "none", workers: 0, ...options });
  open.push(namespace);
  return namespace;
}

const BODIES = { optimizeTable, cleanupTable };

/** Does upkeep with other operations than the namespace has, while a test runs. */
async function withUpkeep(root: string, bodies: typeof BODIES, test: () => Promise<void>): Promise<void> {
  const context = openContext(contextOptionsOf({ root, durability: "none", workers: 0 }));
  const options = { intervalMs: 10, bodies: async () => bodies, onWarning: () => undefined };
  const upkeep = startUpkeep(context, options);
  try {
    await test();
  } finally {
    upkeep.stop();
    await context.closeJobs("cancel", false);
    await context.close();
  }
}

/** Waits until a condition holds. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    if (tries > 200) throw new Error("the upkeep did not come");
    await sleep(50);
  }
}

const fragmentsOf = async (namespace: DirectoryNamespace): Promise<number> =>
  (await namespace.table("t").stats()).fragmentStats.numFragments;

async function insertFragments(namespace: DirectoryNamespace, count: number): Promise<void> {
  const table = namespace.table("t");
  await table.create([{ n: 0 }]);
  for (let n = 1; n < count; n++) await table.insert([{ n }]);
}

it("many small fragments become one, and no row is lost", async () => {
  const root = await makeTempDir();
  const namespace = namespaceOf(root, { upkeep: { intervalMs: 100 } });
  await insertFragments(namespace, 20);
  await until(async () => (await fragmentsOf(namespace)) < 17);
  expect(await namespace.table("t").countRows()).toBe(20);
});

it("rows that an index lacks are indexed", async () => {
  const root = await makeTempDir();
  const table = namespaceOf(root).table("t");
  const rows = (from: number) => Array.from({ length: 2000 }, (_, n) => ({ n: from + n }));
  await table.create(rows(0));
  const { jobId } = await table.createIndex("n", { indexType: "BTREE" });
  await table.waitForJob(jobId);
  await table.insert(rows(2000));
  const kept = namespaceOf(root, { upkeep: { intervalMs: 100 } }).table("t");
  await until(async () => (await kept.indexes())[0]?.numUnindexedRows === 0);
  expect(await kept.countRows("n = 3999")).toBe(1);
});

it("without the option, and below the thresholds, nothing changes", async () => {
  const root = await makeTempDir();
  const namespace = namespaceOf(root, { upkeep: { intervalMs: 100 } });
  await insertFragments(namespace, 5);
  await sleep(500);
  expect(await fragmentsOf(namespace)).toBe(5);
  expect((await namespace.listJobs()).jobs).toEqual([]);
});

it("several instances do one job for a table", async () => {
  const root = await makeTempDir();
  await insertFragments(namespaceOf(root), 20);
  const kept = [1, 2, 3].map(() => namespaceOf(root, { upkeep: { intervalMs: 100 } }));
  await Promise.all(kept.map((namespace) => fragmentsOf(namespace)));
  await until(async () => (await fragmentsOf(kept[0])) === 1);
  await sleep(500);
  const versions = await kept[0].table("t").versions();
  // 20 versions of inserts, one that reserves ids, and one compaction.
  expect(Math.max(...versions.map(({ version }) => Number(version)))).toBe(22);
});

it("the upkeep of a process that was killed is done by the next", async () => {
  const root = await makeTempDir();
  await insertFragments(namespaceOf(root), 40);
  const script = `${root}/keep.mjs`;
  const entry = JSON.stringify(new URL("../../dist/esm/index.js", import.meta.url).href);
  await writeFile(
    script,
    `import { DirectoryNamespace } from ${entry};
const ns = new DirectoryNamespace({ root: ${JSON.stringify(root)}, upkeep: { intervalMs: 100 } });
await ns.table("t").countRows();
setInterval(async () => {
  if ((await ns.listJobs()).jobs.length > 0) process.kill(process.pid, "SIGKILL");
}, 1);`,
  );
  const child = fork(script, { stdio: "ignore" });
  await new Promise((resolve) => child.on("exit", resolve));
  const namespace = namespaceOf(root, { upkeep: { intervalMs: 100 } });
  await until(async () => (await fragmentsOf(namespace)) === 1);
  expect(await namespace.table("t").countRows()).toBe(40);
});

it("a failure is told once, and the other tables are kept", async () => {
  const root = await makeTempDir();
  const told: NamespaceWarning[] = [];
  const writer = namespaceOf(root);
  await writer.table("bad").create([{ n: 1 }]);
  await insertFragments(writer, 20);
  const { writeFile: write, readdir } = await import("node:fs/promises");
  const [manifest] = (await readdir(`${root}/bad.lance/_versions`)).filter((name) =>
    name.endsWith(".manifest"),
  );
  await write(`${root}/bad.lance/_versions/${manifest}`, "damaged");
  const options = { upkeep: { intervalMs: 100 }, onWarning: (each: NamespaceWarning) => told.push(each) };
  const namespace = namespaceOf(root, options);
  await until(async () => (await fragmentsOf(namespace)) === 1);
  await until(async () => told.length > 0);
  await sleep(400);
  expect(told.map(({ kind }) => kind)).toEqual(["upkeepFailed"]);
  expect(told[0].message).toContain("table bad");
  expect(told[0].location).toBe(join(root, "bad.lance"));
});

it("fragments that a writer adds while a job ends become one, too", async () => {
  const root = await makeTempDir();
  const writer = namespaceOf(root);
  await insertFragments(writer, 20);
  let jobs = 0;
  const bodies: typeof BODIES = {
    ...BODIES,
    async optimizeTable(context, ...call) {
      const started = await optimizeTable(context, ...call);
      if ("jobId" in started) await (await context.jobs.get()).wait({ jobId: started.jobId });
      if (jobs++ === 0) for (let n = 20; n < 40; n++) await writer.table("t").insert([{ n }]);
      return started;
    },
  };
  await withUpkeep(root, bodies, () => until(async () => jobs > 1 && (await fragmentsOf(writer)) < 17));
  expect(await writer.table("t").countRows()).toBe(40);
});

it("upkeep that fails is tried again later each time", async () => {
  const root = await makeTempDir();
  await insertFragments(namespaceOf(root), 20);
  const attempts: number[] = [];
  const bodies: typeof BODIES = {
    ...BODIES,
    async optimizeTable() {
      attempts.push(performance.now());
      throw new Error("no");
    },
  };
  await withUpkeep(root, bodies, () => until(async () => attempts.length >= 5));
  const [first, second, , fourth, fifth] = attempts;
  expect(fifth - fourth).toBeGreaterThan(second - first);
});

it("a table that is created again is cleaned up like a new one", async () => {
  const root = await makeTempDir();
  const namespace = namespaceOf(root);
  const table = namespace.table("t");
  let cleanups = 0;
  const bodies: typeof BODIES = {
    ...BODIES,
    async cleanupTable(context, ...call) {
      const started = await cleanupTable(context, ...call);
      if ("jobId" in started) await (await context.jobs.get()).wait({ jobId: started.jobId });
      cleanups++;
      return started;
    },
  };
  const makeVersions = async (count: number): Promise<void> => {
    await table.create([{ n: 0 }]);
    await table.configureUpkeep({ smallFragments: "off", unindexedRows: "off", versions: 3 });
    for (let version = 3; version <= count; version++) await table.insert([{ n: version }]);
  };
  await makeVersions(20);
  await withUpkeep(root, bodies, async () => {
    await until(async () => cleanups === 1);
    await sleep(200);
    await table.drop();
    await makeVersions(10);
    await until(async () => cleanups > 1);
  });
});

it("nothing looks at tables after close", async () => {
  const root = await makeTempDir();
  const namespace = namespaceOf(root, { upkeep: { intervalMs: 100 } });
  await namespace.table("t").create([{ n: 0 }]);
  await namespace.close();
  const writer = namespaceOf(root);
  for (let n = 1; n < 20; n++) await writer.table("t").insert([{ n }]);
  await sleep(400);
  expect(await fragmentsOf(writer)).toBe(20);
});

it("a namespace that was closed before its first call begins no upkeep for rootPaths", async () => {
  const root = await makeTempDir();
  const writer = namespaceOf(root);
  await insertFragments(writer, 20);
  const warnings: NamespaceWarning[] = [];
  const onWarning = (each: NamespaceWarning) => warnings.push(each);
  const namespace = namespaceOf(root, { upkeep: { intervalMs: 100 }, onWarning });
  await namespace.close();
  expect(await namespace.rootPaths()).toContain(root);
  await sleep(400);
  expect(warnings).toEqual([]);
  expect(await fragmentsOf(writer)).toBe(20);
});

it.each([
  "yes",
  5,
  { intervalMs: 1 },
  { every: 100 },
  { intervalMs: 2 ** 31 },
])("upkeep: %j is refused", (upkeep) => {
  expect(() => new DirectoryNamespace({ root: "r", upkeep: upkeep as never })).toThrow(InvalidInputError);
});

it("the config of a table sets its thresholds", () => {
  const fileWith = (config: object): ManifestFile => {
    const fragments = Array.from({ length: 5 }, (_, id) => ({ id, physicalRows: 10, files: [] }));
    return {
      manifest: { config: new Map(Object.entries(config)), fragments, version: 50 },
      indexSectionBytes: null,
    } as never;
  };
  const due = (config: object) => dueUpkeep(fileWith(config), 0);
  expect(due({})).toEqual({ optimizes: false, cleansUp: false });
  expect(due({ "tiltyard.upkeep.small_fragments": "4" }).optimizes).toBe(true);
  expect(due({ "tiltyard.upkeep.small_fragments": "off" }).optimizes).toBe(false);
  expect(due({ "tiltyard.upkeep.small_fragments": "four" }).optimizes).toBe(false);
  expect(due({ "tiltyard.upkeep.versions": "49" }).cleansUp).toBe(true);
});
