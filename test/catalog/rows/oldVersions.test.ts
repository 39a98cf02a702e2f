/** Old versions of the catalog take almost no space, and no outdated connection loses a change. */

import { link, mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { type Connection, connectNamespace } from "tiltyard-reference/session.js";
import { beforeEach, describe, expect, it } from "vitest";
import type { Disk } from "../../../src/io/disk/disk.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { replaceFile } from "../../../src/io/publish.js";
import { readManifestFile } from "../../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { manifestPath } from "../../../src/table/versions/paths.js";
import {
  BACKLOG,
  catalogVersions,
  MAX_KEPT,
  MIN_KEPT,
  makeHeavy,
  upTo,
} from "../../support/catalogVersions.js";
import { countingDisk } from "../../support/countingDisk.js";
import { type EngineStep, raceEngines } from "../../support/engineWorker.js";
import { interruptedDisk } from "../../support/interruptedDisk.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";

let root: string;
let ns: DirectoryNamespace;
let catalogRoot: string;

beforeEach(async () => {
  root = await makeTempDir();
  catalogRoot = join(root, "__manifest");
  ns = new DirectoryNamespace({ root, durability: "none" });
  return () => ns.close();
});

/** Makes and drops a namespace a number of times; each time is two changes. */
async function change(engine: DirectoryNamespace, pairs: number): Promise<void> {
  for (let pair = 0; pair < pairs; pair++) {
    await engine.createNamespace({ id: ["passing"] });
    await engine.dropNamespace({ id: ["passing"] });
  }
}

/** Like {@link change}, in a process of its own, which uses another queue of locks; makes `first` before. */
async function changeElsewhere(first: string, pairs: number): Promise<void> {
  const passing = { id: ["passing"] };
  const steps: EngineStep[] = [["createNamespace", { id: [first] }]];
  for (let pair = 0; pair < pairs; pair++) {
    steps.push(["createNamespace", passing], ["dropNamespace", passing]);
  }
  for (const outcome of (await raceEngines([{ root, steps }]))[0]) expect(outcome).toHaveProperty("ok");
}

/** Number of pairs of changes that exceeds the versions of a heavy catalog that stay whole. */
const PAIRS = (MIN_KEPT + 2 * BACKLOG) / 2;

it("hundreds of declared and dropped tables leave the catalog as small as dozens do", async () => {
  await ns.createNamespace({ id: ["n"] });
  const declareAndDrop = async (count: number) => {
    for (let table = 0; table < count; table++) {
      await ns.declareTable({ id: ["n", "t"] });
      await ns.dropTable({ id: ["n", "t"] });
    }
    return catalogVersions(root);
  };
  const early = await declareAndDrop(200);
  const late = await declareAndDrop(200);
  expect(late.bytes).toBeLessThan(1.1 * early.bytes);
  expect(late.files).toBeLessThan(early.files + BACKLOG * 2);
  // Each of the newest versions has a manifest and at most one data file.
  expect(late.files).toBeLessThan(2 * (MAX_KEPT + BACKLOG) + 10);
  expect(late.emptyFiles).toBeLessThan(10);
  expect([...late.emptied, ...late.whole]).toEqual(upTo(802));
  expect(late.whole.length).toBeGreaterThanOrEqual(MAX_KEPT);
});

it("a larger catalog keeps fewer whole versions, but never too few", async () => {
  await makeHeavy(ns);
  await change(ns, 60);
  const { emptied, whole, dataFiles } = await catalogVersions(root);
  expect([...emptied, ...whole]).toEqual(upTo(122));
  expect(whole.length).toBeGreaterThanOrEqual(MIN_KEPT);
  expect(whole.length).toBeLessThan(MIN_KEPT + BACKLOG);
  expect(dataFiles).toBe(whole.length);
});

it("most changes empty no versions, and an emptying change ends soon", async () => {
  await makeHeavy(ns);
  await change(ns, PAIRS);
  const disk = countingDisk(new NodeDisk({ durability: "none" }));
  const counted = new DirectoryNamespace({ root, disk });
  await change(counted, BACKLOG);
  const calls: number[] = [];
  for (let pair = 0; pair < 2 * BACKLOG; pair++) {
    disk.reset();
    await change(counted, 1);
    // The clock decides when the engine resolves the root again, so `realPath` does not count.
    calls.push(disk.total - disk.count("realPath"));
  }
  await counted.close();
  calls.sort((a, b) => a - b);
  // A change needs a few more calls if the file system's clock cannot rule out another change in between.
  const [least] = calls;
  const emptying = calls.filter((count) => count > least + 8);
  expect(emptying.length).toBeGreaterThan(0);
  expect(emptying.length).toBeLessThan(BACKLOG);
  expect(calls.at(-1)).toBeLessThan(least + 15 * BACKLOG);
});

it("a history of the reference is emptied little by little, with all its files", async () => {
  const theirs = await connectNamespace("dir", { root, inline_optimization_enabled: "true" });
  for (let step = 0; step < 40; step++) await theirs.createNamespace([`n${step}`]);
  expect((await readdir(join(catalogRoot, "_indices"))).length).toBeGreaterThan(40);
  expect(await readdir(join(catalogRoot, "_transactions"))).toHaveLength(1);
  await makeHeavy(ns);
  await change(ns, 60);
  const { emptied, whole, dataFiles } = await catalogVersions(root);
  expect([...emptied, ...whole]).toEqual(upTo(162));
  expect(dataFiles).toBe(whole.length);
  expect(whole.length).toBeLessThan(MIN_KEPT + BACKLOG);
  expect(await readdir(join(catalogRoot, "_indices"))).toEqual([]);
  expect(await readdir(join(catalogRoot, "_transactions"))).toEqual([]);
  expect((await theirs.listNamespaces([])).namespaces).toHaveLength(41);
  theirs.close();
});

describe("an open connection of the reference", () => {
  const namesOf = async (connection: Connection) => (await connection.listNamespaces([])).namespaces;

  it.each([
    ["of a catalog without rows", []],
    ["of one with rows", ["a", "b"]],
  ])("%s sees all changes from far behind, and loses none", async (_title, names) => {
    await change(ns, 1);
    for (const name of names) await ns.createNamespace({ id: [name] });
    const connections = await Promise.all([0, 1, 2].map(() => connectNamespace("dir", { root })));
    const [lists, creates, drops] = connections;
    for (const connection of connections) expect(await namesOf(connection)).toEqual(names);
    const [before] = (await catalogVersions(root)).whole.slice(-1);
    await makeHeavy(ns);
    await change(ns, PAIRS);
    const { emptied } = await catalogVersions(root);
    // The version that the connections know, and the next one.
    expect(emptied).toContain(before + 1);

    expect(await namesOf(lists)).toEqual([...names, "heavy"]);
    await creates.createNamespace(["created"]);
    await drops.dropNamespace(["heavy"]);
    await ns.createNamespace({ id: ["ours"] });
    const all = [...names, "created", "ours"];
    expect((await ns.listNamespaces()).namespaces).toEqual(all);
    for (const connection of connections) expect(await namesOf(connection)).toEqual(all);
    expect(await reference.catalogStep(root, "listNamespaces", [])).toEqual(all);
    for (const connection of connections) connection.close();
  });

  it("makes, fills and drops tables from far behind", async () => {
    await ns.createNamespace({ id: ["n"] });
    await ns.declareTable({ id: ["n", "declared"] });
    const theirs = await connectNamespace("dir", { root });
    expect(await theirs.tableNames(["n"])).toEqual(["declared"]);
    await makeHeavy(ns);
    await change(ns, PAIRS);
    (await theirs.createTable("made", [{ v: 1 }], ["n"])).close();
    await change(ns, PAIRS);
    await theirs.dropTable("declared", ["n"]);
    await change(ns, PAIRS);
    const table = await theirs.openTable("made", ["n"]);
    await table.add([{ v: 2 }]);
    table.close();
    expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["made"]);
    expect(await ns.countTableRows({ id: ["n", "made"] })).toBe(2);
    theirs.close();
  });
});

describe("a process whose version is emptied", () => {
  const inner = () => new NodeDisk({ durability: "none" });
  const isData = (path: string) => /__manifest.data.[^/\\]*\.lance$/.test(path);
  const isManifest = (path: string) => path.startsWith(catalogRoot) && path.endsWith(".manifest");

  const moments: [string, (verb: keyof Disk, path: string) => boolean][] = [
    ["its manifest", (verb, path) => verb === "open" && isManifest(path)],
    ["its rows", (verb, path) => verb === "open" && isData(path)],
  ];
  it.each(moments)("while it is about to read %s reads the latest", async (_title, isMoment) => {
    await makeHeavy(ns);
    const disk = interruptedDisk(inner(), isMoment, async () => {
      await ns.createNamespace({ id: ["new"] });
      await change(ns, PAIRS);
    });
    await using reader = new DirectoryNamespace({ root, disk });
    expect((await reader.listNamespaces()).namespaces).toEqual(["heavy", "new"]);
    expect(disk.interrupted).toBe(true);
  });

  const steps: [string, (verb: keyof Disk, path: string) => boolean][] = [
    ["write the rows", (verb, path) => verb === "create" && isData(path)],
    ["write the manifest", (verb, path) => verb === "create" && path.includes("_versions")],
    ["publish it", (verb, path) => verb === "link" && path.includes("_versions")],
  ];
  it.each(
    steps,
  )("while it is about to %s loses nothing, and overwrites no other change", async (_title, isMoment) => {
    await makeHeavy(ns);
    const disk = interruptedDisk(inner(), isMoment, async () => {
      // Looks as if this process had been suspended for long, and lost its lock.
      await rm(join(catalogRoot, ".tiltyard.lock"), { recursive: true });
      await changeElsewhere("new", PAIRS);
    });
    await using writer = new DirectoryNamespace({ root, disk });
    const outcome = await writer.createNamespace({ id: ["slow"] }).then(
      () => "done",
      (error: { type?: string }) => error.type,
    );
    expect(disk.interrupted).toBe(true);
    expect(["done", "ConcurrentModification"]).toContain(outcome);
    const names = outcome === "done" ? ["heavy", "new", "slow"] : ["heavy", "new"];
    expect((await ns.listNamespaces()).namespaces).toEqual(names);
    expect(await reference.catalogStep(root, "listNamespaces", [])).toEqual(names);
  });

  it("while it empties versions stops if the directory is another catalog's", async () => {
    await makeHeavy(ns);
    await change(ns, (MIN_KEPT + BACKLOG) / 2 - 2);
    expect((await catalogVersions(root)).emptied).toEqual([]);
    let isEmptying = false;
    const disk = interruptedDisk(
      inner(),
      (verb, path) => {
        // Emptying begins with a look for refs.
        isEmptying ||= verb === "stat" && path === join(catalogRoot, "_refs");
        return isEmptying && verb === "create";
      },
      async () => {
        // The new catalog needs versions with the same numbers.
        await rm(catalogRoot, { recursive: true });
        await changeElsewhere("new", 5);
      },
    );
    await using writer = new DirectoryNamespace({ root, disk });
    for (let step = 0; step < BACKLOG && !disk.interrupted; step++) {
      await writer.createNamespace({ id: [`n${step}`] });
    }
    expect(disk.interrupted).toBe(true);
    const { emptied, whole } = await catalogVersions(root);
    expect(emptied).toEqual([]);
    expect(whole).toEqual(upTo(12));
    expect((await ns.listNamespaces()).namespaces).toEqual(["new"]);
  });
});

it("a catalog on a disk without hard links empties versions", async () => {
  await makeHeavy(ns);
  const disk = new NodeDisk({ durability: "none" });
  disk.link = async () => {
    throw Object.assign(new Error("EPERM: operation not permitted, link"), { code: "EPERM" });
  };
  await using plain = new DirectoryNamespace({ root, disk });
  await change(plain, PAIRS);
  const { emptied, whole, dataFiles } = await catalogVersions(root);
  expect(emptied.length).toBeGreaterThan(BACKLOG);
  expect([...emptied, ...whole]).toEqual(upTo(2 * PAIRS + 2));
  expect(dataFiles).toBe(whole.length);
});

it("a file that cannot be removed blocks no change, and a later one removes it", async () => {
  await makeHeavy(ns);
  const disk = new NodeDisk({ durability: "none" });
  let isStuck = true;
  const remove = disk.remove.bind(disk);
  disk.remove = async (path) => {
    if (isStuck && /data.[^/\\]*\.lance$/.test(path)) {
      throw Object.assign(new Error(`EBUSY: resource busy, unlink '${path}'`), { code: "EBUSY" });
    }
    return remove(path);
  };
  await using hindered = new DirectoryNamespace({ root, disk });
  await change(hindered, PAIRS);
  expect((await catalogVersions(root)).emptied).toEqual([1]);
  isStuck = false;
  await change(hindered, BACKLOG);
  const { emptied, whole, dataFiles } = await catalogVersions(root);
  expect([...emptied, ...whole]).toEqual(upTo(2 * PAIRS + 2 * BACKLOG + 2));
  expect(whole.length).toBeLessThan(MIN_KEPT + BACKLOG);
  expect(dataFiles).toBe(whole.length);
});

it("a catalog with tags or branches keeps its versions as they are", async () => {
  await makeHeavy(ns);
  await mkdir(join(catalogRoot, "_refs", "tags"), { recursive: true });
  await change(ns, PAIRS);
  expect((await catalogVersions(root)).emptied).toEqual([]);
});

it("data files of dead writers are removed, and those of possibly living writers stay", async () => {
  await makeHeavy(ns);
  const data = (name: string) => join(catalogRoot, "data", name);
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
  for (const name of ["old.lance", ".tmpOld", "new.lance", "old.txt"]) await writeFile(data(name), name);
  for (const name of ["old.lance", ".tmpOld", "old.txt"]) await utimes(data(name), hoursAgo(2), hoursAgo(2));
  await change(ns, PAIRS);
  const names = await readdir(join(catalogRoot, "data"));
  expect(names).toEqual(expect.arrayContaining(["new.lance", "old.txt"]));
  expect(names).not.toContain("old.lance");
  expect(names).not.toContain(".tmpOld");
  expect(names).toHaveLength((await catalogVersions(root)).whole.length + 2);
});

it("data files of all whole versions stay, however old they are", async () => {
  await makeHeavy(ns);
  await change(ns, PAIRS);
  const data = join(catalogRoot, "data");
  const names = await readdir(data);
  const longAgo = new Date(Date.now() - 1000 * 3_600_000);
  for (const name of names) await utimes(join(data, name), longAgo, longAgo);
  await writeFile(join(data, "stray.lance"), "");
  await utimes(join(data, "stray.lance"), longAgo, longAgo);
  await change(ns, BACKLOG / 2);
  const { whole, dataFiles } = await catalogVersions(root);
  expect(dataFiles).toBe(whole.length);
  const disk = new NodeDisk({ durability: "none" });
  for (const version of whole) {
    const file = await readManifestFile(disk, manifestPath(catalogRoot, version, "V2"));
    expect(await readdir(data)).toContain(file?.manifest.fragments[0].files[0].path);
  }
});

it("emptying does not follow a manifest's names that lead out of the directory", async () => {
  await makeHeavy(ns);
  const victim = join(root, "victim.lance");
  await writeFile(victim, "kept");
  const disk = new NodeDisk({ durability: "none" });
  const path = manifestPath(catalogRoot, 2, "V2");
  const file = (await readManifestFile(disk, path))!;
  const [fragment] = file.manifest.fragments;
  const [dataFile] = fragment.files;
  const hostile = {
    ...fragment,
    files: [
      dataFile,
      ...["../../victim.lance", victim, "..", "."].map((name) => ({ ...dataFile, path: name })),
    ],
  };
  await change(ns, 1);
  const { chunks } = encodeManifestFile({
    manifest: { ...file.manifest, fragments: [hostile], transactionFile: "../../victim.lance" },
    indexSectionBytes: null,
    transactionBytes: file.transactionBytes,
  });
  await replaceFile(disk, path, new Uint8Array(Buffer.concat(chunks)), { sync: false });
  await change(ns, PAIRS);
  expect((await catalogVersions(root)).emptied).toContain(2);
  expect(await readFile(victim, "utf8")).toBe("kept");
});

it("a damaged old version is emptied like any other, and one emptied out of turn is skipped", async () => {
  await makeHeavy(ns);
  await change(ns, PAIRS);
  const { emptied, whole } = await catalogVersions(root);
  const pathOf = (version: number) => manifestPath(catalogRoot, version, "V2");
  await writeFile(pathOf(whole[1]), "not a manifest");
  await rm(pathOf(whole[3]));
  await link(pathOf(emptied[0]), pathOf(whole[3]));
  await change(ns, PAIRS);
  const later = await catalogVersions(root);
  expect([...later.emptied, ...later.whole]).toEqual(upTo(4 * PAIRS + 2));
  expect(later.emptied).toEqual(expect.arrayContaining(whole.slice(0, 5)));
  const names = await readdir(join(catalogRoot, "_versions"));
  expect(names.filter((name) => name.startsWith(".tmp-"))).toEqual([]);
  expect((await ns.listNamespaces()).namespaces).toEqual(["heavy"]);
});

it("a latest version without bytes is damaged, not emptied", async () => {
  await ns.createNamespace({ id: ["a"] });
  await writeFile(manifestPath(catalogRoot, 2, "V2"), "");
  await using reader = new DirectoryNamespace({ root, durability: "none" });
  await expect(reader.listNamespaces()).rejects.toMatchObject({ type: "Internal" });
  await expect(reader.createNamespace({ id: ["b"] })).rejects.toThrow(/too few for a manifest/);
});
