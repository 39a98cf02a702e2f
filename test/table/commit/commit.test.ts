import { access, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseType } from "../../../src/arrow/types/type.js";
import {
  ConcurrentModificationError,
  InvalidInputError,
  TableNotFoundError,
  TableVersionNotFoundError,
  UnsupportedError,
} from "../../../src/errors.js";
import {
  Append,
  DataFile,
  DataFragment,
  Manifest,
  Overwrite,
  ReserveFragments,
  Restore,
  type Transaction,
  UpdateBases,
} from "../../../src/format/table.js";
import type { Disk } from "../../../src/io/disk/disk.js";
import { PublishUncertainError } from "../../../src/io/publish.js";
import { encodeSchema } from "../../../src/schema/schemaEncoder.js";
import { commitCreation, commitPlanned } from "../../../src/table/commit/commit.js";
import { fileNameOf, newTransaction, readTransaction } from "../../../src/table/commit/transaction.js";
import { ABSENT } from "../../../src/table/versions/identity.js";
import { findLatestVersion } from "../../../src/table/versions/latestVersion.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import {
  dataDirectory,
  hintPath,
  manifestPath,
  transactionsDirectory,
  versionsDirectory,
} from "../../../src/table/versions/paths.js";
import { type OpenVersion, tableAt } from "../../../src/table/versions/tableAt.js";
import { countingDisk } from "../../support/countingDisk.js";
import { faultyDisk } from "../../support/faultyDisk.js";
import { interruptedDisk } from "../../support/interruptedDisk.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";
import {
  commitPlannedOn,
  disk,
  ipcOf,
  joinChunks,
  latestFile,
  makeReferenceTable,
  openEnvironment,
  type ReferenceTable,
  valuesOf,
} from "../support.js";

/** Appends rows that exist already: a data file may be named more than once. */
async function appendAgain(table: ReferenceTable, readVersion?: number): Promise<Transaction> {
  const { manifest } = await latestFile(table.root);
  const { files, physicalRows } = manifest.fragments[0];
  const fragments = [DataFragment.create({ files, physicalRows })];
  return newTransaction(readVersion ?? manifest.version, "append", Append.create({ fragments }));
}

const restoreOf = (readVersion: number, version: number) =>
  newTransaction(readVersion, "restore", Restore.create({ version }));

const transactionFiles = (table: ReferenceTable) => readdir(transactionsDirectory(table.root));

const beforeLink = (before: () => Promise<unknown>): Disk =>
  interruptedDisk(disk, (verb) => verb === "link", before);

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

describe("an append", () => {
  it.each([
    ["defaults", {}],
    ["V1 names", { v1Paths: true }],
    ["stable row ids", { stableRowIds: true }],
    ["format 2.1", { dataStorageVersion: "2.1" }],
  ])("is read by the reference, which appends in turn: %s", async (_name, options) => {
    const table = await makeReferenceTable([1, 2], options);
    const committed = await commitPlannedOn(openEnvironment(), table.root, await appendAgain(table));
    expect(committed.version).toBe(2);
    expect(committed.scheme).toBe("v1Paths" in options ? "V1" : "V2");
    expect(await valuesOf(table)).toEqual([1, 2, 1, 2]);
    await reference.appendTable(table.uri, "t", ipcOf(3));
    await commitPlannedOn(openEnvironment(), table.root, await appendAgain(table));
    expect(await valuesOf(table)).toEqual([1, 2, 1, 2, 3, 1, 2]);
    const { manifest } = await latestFile(table.root);
    expect(manifest.fragments.map((fragment) => fragment.id)).toEqual([0, 1, 2, 3]);
    expect(manifest.maxFragmentId).toBe(3);
    expect((await reference.listVersions(table.uri, "t")).map((each) => each.version)).toEqual([1, 2, 3, 4]);
  });

  it("assigns stable row ids like the reference", async () => {
    const [ours, theirs] = await Promise.all([
      makeReferenceTable([1, 2], { stableRowIds: true }),
      makeReferenceTable([1, 2], { stableRowIds: true }),
    ]);
    await commitPlannedOn(openEnvironment(), ours.root, await appendAgain(ours));
    await reference.appendTable(theirs.uri, "t", ipcOf(1, 2));
    const [a, b] = [(await latestFile(ours.root)).manifest, (await latestFile(theirs.root)).manifest];
    expect(a.nextRowId).toBe(b.nextRowId);
    expect([a.readerFeatureFlags, a.writerFeatureFlags]).toEqual([
      b.readerFeatureFlags,
      b.writerFeatureFlags,
    ]);
    for (const [index, fragment] of a.fragments.entries()) {
      expect({ ...fragment, files: [] }).toEqual({ ...b.fragments[index], files: [] });
    }
    await reference.updateRows(ours.uri, "t", { v: "v + 1" }, "v = 1");
    expect((await valuesOf(ours)).sort()).toEqual([2, 2, 2, 2]);
  });

  it("writes the transaction, its file and the hint", async () => {
    const table = await makeReferenceTable([1]);
    const transaction = await appendAgain(table);
    const { file, version } = await commitPlannedOn(openEnvironment(), table.root, transaction);
    expect(file.transaction).toEqual(transaction);
    expect(await transactionFiles(table)).toContain(`1-${transaction.uuid}.txn`);
    expect(JSON.parse(await readFile(hintPath(table.root), "utf8"))).toEqual({ version: 2 });
    const stored = await latestFile(table.root);
    const { indexSection, transactionSection, ...rest } = stored.manifest;
    // Without an inline transaction, the reader takes it from its file.
    const bytes = joinChunks(
      encodeManifestFile({
        manifest: { ...rest, indexSection, transactionSection },
        indexSectionBytes: null,
        transactionBytes: null,
      }).chunks,
    );
    await rm(manifestPath(table.root, version, "V2"));
    await writeFile(manifestPath(table.root, version, "V2"), bytes);
    expect(await readTransaction({ disk, root: table.root }, await latestFile(table.root))).toEqual(
      transaction,
    );
    await rm(join(transactionsDirectory(table.root), `1-${transaction.uuid}.txn`));
    expect(await readTransaction({ disk, root: table.root }, await latestFile(table.root))).toBeNull();
  });

  it("drops unknown manifest fields, which may be offsets, and keeps times ascending", async () => {
    const table = await makeReferenceTable([1]);
    const before = await latestFile(table.root);
    const future = before.manifest.timestamp!.seconds + 1_000_000;
    // Lance 14 refers to the inline transaction by field 23. Nobody uses field 999.
    const transaction = before.transactionBytes as Uint8Array;
    const encoded = Manifest.encode({
      ...before.manifest,
      ...{ version: 2, indexSection: undefined, transactionSection: undefined, transactionSection14: 0 },
      timestamp: { seconds: future, nanos: 999_999_999 },
      unknown: Uint8Array.of(0xba, 0x3e, 1, 7),
    });
    const footer = Buffer.from([...new Uint8Array(8), 0, 0, 2, 0, ...Buffer.from("LANC")]);
    footer.writeBigUInt64LE(BigInt(4 + transaction.length));
    const bytes = Buffer.concat([u32(transaction.length), transaction, u32(encoded.length), encoded, footer]);
    await writeFile(manifestPath(table.root, 2, "V2"), bytes);
    expect((await latestFile(table.root)).transaction).toEqual(before.transaction);
    const appended = await commitPlannedOn(openEnvironment(), table.root, await appendAgain(table));
    expect(appended.file.manifest.timestamp).toEqual({ seconds: future + 1, nanos: 0 });
    const restored = await commitPlannedOn(openEnvironment(), table.root, restoreOf(3, 2));
    for (const { file } of [appended, restored]) {
      expect(file.manifest).toMatchObject({ unknown: undefined, transactionSection14: undefined });
    }
    const file = await latestFile(table.root);
    expect(file.manifest).toEqual(restored.file.manifest);
  });

  it("takes few disk calls, and no more on a table of many versions", async () => {
    const table = await makeReferenceTable([1]);
    const counting = countingDisk(disk);
    const environment = { ...openEnvironment(), disk: counting };
    const costs: number[] = [];
    for (let commit = 0; commit < 40; commit++) {
      const transaction = await appendAgain(table);
      counting.reset();
      await commitPlannedOn(environment, table.root, transaction);
      expect(counting.count("list")).toBe(0);
      costs.push(counting.total);
    }
    expect(costs[39]).toBe(costs[5]);
    expect(costs[39]).toBeLessThanOrEqual(26);
  });
});

describe("work that follows a commit", () => {
  it("may fail without harm to the version and its files", async () => {
    const table = await makeReferenceTable([1]);
    const afterCommit = () => Promise.reject(new Error("EMFILE: too many open files"));
    const environment = { ...openEnvironment(), afterCommit };
    const latest = await findLatestVersion({ disk, root: table.root });
    if (latest === null) throw new Error("the table has no version");
    const target = { table: tableAt(environment, table.root), latest };
    const transaction = await appendAgain(table);
    let isDiscarded = false;
    const discard = async () => void (isDiscarded = true);
    const { committed } = await commitPlanned(target, () => ({ transaction, discard }));
    expect([committed.version, isDiscarded]).toEqual([transaction.readVersion + 1, false]);
    expect(await access(join(transactionsDirectory(table.root), fileNameOf(transaction)))).toBe(undefined);
  });
});

describe("a stale transaction", () => {
  it("is rebased over appends, and keeps the name of the version it read", async () => {
    const table = await makeReferenceTable([1]);
    const stale = await appendAgain(table);
    await reference.appendTable(table.uri, "t", ipcOf(2));
    await reference.appendTable(table.uri, "t", ipcOf(3));
    const { version, file } = await commitPlannedOn(openEnvironment(), table.root, stale);
    const { manifest } = file;
    expect(version).toBe(4);
    expect(manifest.transactionFile).toBe(`1-${stale.uuid}.txn`);
    expect(await valuesOf(table)).toEqual([1, 2, 3, 1]);
  });

  it("that appends is rebased over many appends with a look at the last one only", async () => {
    const table = await makeReferenceTable([1]);
    const costs: number[] = [];
    for (const appendCount of [2, 12]) {
      const { version } = await latestFile(table.root).then(({ manifest }) => manifest);
      for (let append = 0; append < appendCount; append++)
        await commitPlannedOn(openEnvironment(), table.root, await appendAgain(table));
      const counting = countingDisk(disk);
      const stale = await appendAgain(table, version);
      await commitPlannedOn({ ...openEnvironment(), disk: counting }, table.root, stale);
      costs.push(counting.total);
    }
    expect(costs[1]).toBe(costs[0]);
    expect((await valuesOf(table)).length).toBe(17);
  });

  it("is refused over an overwrite among appends", async () => {
    const table = await makeReferenceTable([1]);
    const stale = await appendAgain(table);
    await reference.appendTable(table.uri, "t", ipcOf(2));
    await reference.overwriteTable(table.uri, "t", ipcOf(3));
    await reference.appendTable(table.uri, "t", ipcOf(4));
    await expect(commitPlannedOn(openEnvironment(), table.root, stale)).rejects.toThrow(
      ConcurrentModificationError,
    );
    expect(await valuesOf(table)).toEqual([3, 4]);
  });

  it("is refused over an overwrite, and leaves no files", async () => {
    const table = await makeReferenceTable([1]);
    const stale = await appendAgain(table);
    await reference.overwriteTable(table.uri, "t", ipcOf(2));
    const before = await transactionFiles(table);
    await expect(commitPlannedOn(openEnvironment(), table.root, stale)).rejects.toThrow(
      ConcurrentModificationError,
    );
    expect(await transactionFiles(table)).toEqual(before);
    expect(await valuesOf(table)).toEqual([2]);
  });

  it("of the reference is rebased over ours by the reference", async () => {
    const table = await makeReferenceTable([1]);
    await commitPlannedOn(openEnvironment(), table.root, await appendAgain(table));
    await reference.appendTable(table.uri, "t", ipcOf(5));
    expect(await valuesOf(table)).toEqual([1, 1, 5]);
  });

  it("is refused over a version without a transaction, unless it restores", async () => {
    const table = await makeReferenceTable([1]);
    const stale = await appendAgain(table);
    const before = await latestFile(table.root);
    const manifest = { ...before.manifest, version: 2, transactionFile: "" };
    const { chunks } = encodeManifestFile({ manifest, indexSectionBytes: null, transactionBytes: null });
    await writeFile(manifestPath(table.root, 2, "V2"), joinChunks(chunks));
    await expect(commitPlannedOn(openEnvironment(), table.root, stale)).rejects.toThrow(
      ConcurrentModificationError,
    );
    expect((await commitPlannedOn(openEnvironment(), table.root, restoreOf(1, 1))).version).toBe(3);
  });

  it("is refused if versions in between are gone", async () => {
    const table = await makeReferenceTable([1]);
    const stale = newTransaction(1, "reserveFragments", ReserveFragments.create({ numFragments: 1 }));
    for (const value of [2, 3, 4]) await reference.appendTable(table.uri, "t", ipcOf(value));
    await rm(manifestPath(table.root, 2, "V2"));
    await expect(commitPlannedOn(openEnvironment(), table.root, stale)).rejects.toThrow(
      ConcurrentModificationError,
    );
  });
});

describe("a lost race", () => {
  it("against a writer that ignores the lock starts over on the newer version", async () => {
    const table = await makeReferenceTable([1]);
    const racing = beforeLink(() => reference.appendTable(table.uri, "t", ipcOf(2)));
    const committed = await commitPlannedOn(
      { ...openEnvironment(), disk: racing },
      table.root,
      await appendAgain(table),
    );
    expect(committed.version).toBe(3);
    expect(await valuesOf(table)).toEqual([1, 2, 1]);
  });

  it("against a conflicting change is refused", async () => {
    const table = await makeReferenceTable([1]);
    const racing = beforeLink(() => reference.overwriteTable(table.uri, "t", ipcOf(2)));
    const commit = commitPlannedOn(
      { ...openEnvironment(), disk: racing },
      table.root,
      await appendAgain(table),
    );
    await expect(commit).rejects.toThrow(ConcurrentModificationError);
    expect(await valuesOf(table)).toEqual([2]);
    expect((await transactionFiles(table)).length).toBe(2);
  });

  it("among our own writers loses no change", async () => {
    const table = await makeReferenceTable([1]);
    const stale = await Promise.all(Array.from({ length: 12 }, () => appendAgain(table)));
    const commits = await Promise.all(
      stale.map((transaction) => commitPlannedOn(openEnvironment(), table.root, transaction)),
    );
    expect(commits.map((each) => each.version).sort((a, b) => a - b)).toEqual(
      stale.map((_, index) => index + 2),
    );
    expect((await valuesOf(table)).length).toBe(13);
  });
});

describe("a restore", () => {
  it("brings content back with new counters", async () => {
    const table = await makeReferenceTable([1, 2]);
    await reference.appendTable(table.uri, "t", ipcOf(3));
    await reference.overwriteTable(table.uri, "t", ipcOf(9));
    const { version, file } = await commitPlannedOn(openEnvironment(), table.root, restoreOf(3, 1));
    const { manifest } = file;
    expect(version).toBe(4);
    expect(manifest.maxFragmentId).toBe(2);
    expect(manifest.fragments.map((fragment) => fragment.id)).toEqual([0]);
    expect(await valuesOf(table)).toEqual([1, 2]);
    expect(await valuesOf(table, 3)).toEqual([9]);
    await reference.appendTable(table.uri, "t", ipcOf(4));
    expect((await latestFile(table.root)).manifest.maxFragmentId).toBe(3);
    await reference.restoreTable(table.uri, "t", 4);
    expect(await valuesOf(table)).toEqual([1, 2]);
  });

  it("brings deletions and flags back", async () => {
    const table = await makeReferenceTable([1, 2, 3]);
    await reference.deleteRows(table.uri, "t", "v = 2");
    await reference.overwriteTable(table.uri, "t", ipcOf(7));
    expect((await latestFile(table.root)).manifest.readerFeatureFlags).toBe(0n);
    const { file } = await commitPlannedOn(openEnvironment(), table.root, restoreOf(3, 2));
    const { manifest } = file;
    expect([manifest.readerFeatureFlags, manifest.writerFeatureFlags]).toEqual([1n, 1n]);
    expect(await valuesOf(table)).toEqual([1, 3]);
  });

  it("of the latest version makes a new one; of a missing version is refused", async () => {
    const table = await makeReferenceTable([1]);
    expect((await commitPlannedOn(openEnvironment(), table.root, restoreOf(1, 1))).version).toBe(2);
    await expect(commitPlannedOn(openEnvironment(), table.root, restoreOf(2, 9))).rejects.toThrow(
      TableVersionNotFoundError,
    );
  });
});

describe("a creation", () => {
  const fields = encodeSchema([
    { id: 0, name: "v", type: parseType("int32"), nullable: true, metadata: new Map(), children: [] },
  ]);
  const creation = () => newTransaction(0, "overwrite", Overwrite.create({ schema: fields }));
  const options = { dataFormatVersion: "2.2", scheme: "V2" as const };

  it.each([
    "V1",
    "V2",
  ] as const)("makes a table that the reference opens, appends to and overwrites, scheme %s", async (scheme) => {
    const uri = await makeTempDir();
    const root = join(uri, "t.lance");
    const schemaMetadata = new Map([["owner", new TextEncoder().encode("me")]]);
    const created = await commitCreation(tableAt(openEnvironment(), root), ABSENT, creation(), {
      dataFormatVersion: "2.2",
      scheme,
      schemaMetadata,
    });
    expect(created?.version).toBe(1);
    expect(created?.file.manifest.maxFragmentId).toBeUndefined();
    const table = { uri, name: "t", root };
    expect(await valuesOf(table)).toEqual([]);
    expect((await reference.schemaJson(uri, "t")).metadata).toEqual({ owner: "me" });
    expect(await reference.usesV2ManifestPaths(uri, "t")).toBe(scheme === "V2");
    await reference.appendTable(uri, "t", ipcOf(1, 2));
    await reference.overwriteTable(uri, "t", ipcOf(3));
    expect(await valuesOf(table)).toEqual([3]);
  });

  it("has one winner", async () => {
    const root = join(await makeTempDir(), "t.lance");
    const results = await Promise.all(
      Array.from({ length: 6 }, () =>
        commitCreation(tableAt(openEnvironment(), root), ABSENT, creation(), options),
      ),
    );
    expect(results.filter((result) => result !== null).length).toBe(1);
    expect(await readdir(transactionsDirectory(root))).toHaveLength(1);
  });

  it("of an existing table returns null and changes nothing", async () => {
    const table = await makeReferenceTable([1]);
    expect(
      await commitCreation(tableAt(openEnvironment(), table.root), ABSENT, creation(), options),
    ).toBeNull();
    expect(await transactionFiles(table)).toHaveLength(1);
  });
});

describe("an overwrite", () => {
  it("replaces schema and rows, and keeps config and numbering", async () => {
    const table = await makeReferenceTable([1, 2]);
    const before = await latestFile(table.root);
    const configured = Manifest.create({
      ...before.manifest,
      version: 2,
      config: new Map([["a", "b"]]),
      writerFeatureFlags: 8n,
    });
    const { chunks } = encodeManifestFile({
      manifest: configured,
      indexSectionBytes: null,
      transactionBytes: before.transactionBytes,
    });
    await writeFile(manifestPath(table.root, 2, "V2"), joinChunks(chunks));
    const schema = before.manifest.fields;
    const fragments = [{ ...before.manifest.fragments[0], id: 0 }];
    const overwrite = newTransaction(2, "overwrite", Overwrite.create({ fragments, schema }));
    const { file } = await commitPlannedOn(openEnvironment(), table.root, overwrite);
    const { manifest } = file;
    expect(manifest.fragments.map((fragment) => fragment.id)).toEqual([1]);
    expect(manifest.config).toEqual(new Map([["a", "b"]]));
    expect([manifest.readerFeatureFlags, manifest.writerFeatureFlags]).toEqual([0n, 8n]);
    expect(manifest.dataFormat).toEqual(before.manifest.dataFormat);
    expect(await valuesOf(table)).toEqual([1, 2]);
  });
});

describe("an impossible commit", () => {
  it("to a table that does not exist makes nothing", async () => {
    const root = join(await makeTempDir(), "t.lance");
    await expect(commitPlannedOn(openEnvironment(), root, restoreOf(1, 1))).rejects.toThrow(
      TableNotFoundError,
    );
    await expect(access(root)).rejects.toThrow();
  });

  it.each([64n, 128n, 512n, 1n << 40n])("under writer flag %s is refused", async (flag) => {
    const table = await makeReferenceTable([1]);
    const before = await latestFile(table.root);
    const manifest = { ...before.manifest, version: 2, writerFeatureFlags: flag };
    const { chunks } = encodeManifestFile({
      manifest,
      indexSectionBytes: null,
      transactionBytes: before.transactionBytes,
    });
    await writeFile(manifestPath(table.root, 2, "V2"), joinChunks(chunks));
    const transaction = await appendAgain(table, 2);
    await expect(commitPlannedOn(openEnvironment(), table.root, transaction)).rejects.toThrow(
      UnsupportedError,
    );
  });

  it("of an unknown kind is refused", async () => {
    const table = await makeReferenceTable([1]);
    const transaction = newTransaction(1, "updateBases", UpdateBases.create());
    await expect(commitPlannedOn(openEnvironment(), table.root, transaction)).rejects.toThrow(
      UnsupportedError,
    );
    await expect(
      commitPlannedOn(openEnvironment(), table.root, newTransaction(1, "restore", { version: 0 })),
    ).rejects.toThrow(TableVersionNotFoundError);
  });
});

it("a commit that fails at any disk call leaves the old version or the new, and the next commit succeeds", async () => {
  for (const dead of [false, true]) {
    for (let failAt = 0; ; failAt++) {
      const table = await makeReferenceTable([1]);
      const faulty = faultyDisk(disk);
      const transaction = await appendAgain(table);
      faulty.failAt(failAt, "before", { dead });
      let committed: OpenVersion | null = null;
      let uncertain = false;
      try {
        committed = await commitPlannedOn({ ...openEnvironment(), disk: faulty }, table.root, transaction);
      } catch (error) {
        uncertain = error instanceof PublishUncertainError;
      }
      const done = !faulty.tripped;
      await faulty.restart();
      const { version } = (await findLatestVersion({ disk, root: table.root }))!;
      if (committed !== null) expect(version).toBe(2);
      else if (!uncertain) expect(version).toBe(1);
      // While the process lives, it removes what a failed commit wrote.
      if (!dead && version === 1) {
        expect(await transactionFiles(table)).toHaveLength(1);
        expect(
          (await readdir(versionsDirectory(table.root))).filter((name) => name.startsWith(".tmp")),
        ).toEqual([]);
      }
      const next = await commitPlannedOn(openEnvironment(), table.root, await appendAgain(table));
      expect(next.version).toBe(version + 1);
      if (done) break;
    }
  }
});

it("a commit succeeds after the table has moved", async () => {
  const table = await makeReferenceTable([1]);
  await commitPlannedOn(openEnvironment(), table.root, await appendAgain(table));
  const moved = join(table.uri, "moved.lance");
  await rename(table.root, moved);
  expect(await valuesOf({ ...table, name: "moved" })).toEqual([1, 1]);
  expect(await readdir(dataDirectory(moved))).toHaveLength(1);
});

it("a restore of a version from before stable row ids is refused", async () => {
  const table = await makeReferenceTable([1], { stableRowIds: true });
  const before = await latestFile(table.root);
  const fragments = before.manifest.fragments.map((fragment) =>
    DataFragment.create({
      id: fragment.id,
      files: fragment.files.map((file) => DataFile.create(file)),
      physicalRows: 1,
    }),
  );
  const plain = {
    ...before.manifest,
    version: 2,
    readerFeatureFlags: 0n,
    writerFeatureFlags: 0n,
    nextRowId: 0,
    fragments,
  };
  for (const manifest of [plain, { ...before.manifest, version: 3 }]) {
    const { chunks } = encodeManifestFile({
      manifest,
      indexSectionBytes: null,
      transactionBytes: before.transactionBytes,
    });
    await writeFile(manifestPath(table.root, manifest.version, "V2"), joinChunks(chunks));
  }
  await expect(commitPlannedOn(openEnvironment(), table.root, restoreOf(3, 2))).rejects.toThrow(
    InvalidInputError,
  );
});
