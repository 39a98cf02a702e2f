/**
 * Sets each field of a valid manifest to hostile values, in staged manifests and in published ones. The
 * engine touches only the table's files, throws typed errors, and leaves the table writable.
 */

import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { Int32, Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeRoaring } from "../../src/bytes/roaring.js";
import {
  BasePath,
  type DataFile,
  type DataFragment,
  DELETION_FILE_TYPE,
  DeletionFile,
  IndexMetadata,
  IndexSection,
  Manifest,
  Transaction,
  Uuid,
} from "../../src/format/table.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { findLatestVersion } from "../../src/table/versions/latestVersion.js";
import { type ManifestFile, readManifestFile } from "../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../src/table/versions/manifestEncoder.js";
import { deletionFileName, manifestName, manifestPath } from "../../src/table/versions/paths.js";
import { listVersions } from "../../src/table/versions/versions.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { RUN_SEED, runsOf, strideOf } from "../support/effort.js";
import { makeTempDir } from "../support/tempDir.js";
import { watchedDisk } from "../support/watchedDisk.js";
import {
  decodeTree,
  encodeTree,
  nodeAt,
  type Outline,
  pathsOf,
  replaceAt,
  type WireNode,
} from "../support/wireTree.js";

const STAGED = runsOf("HOSTILE_MANIFESTS", 2000);
const ON_DISK = runsOf("HOSTILE_MANIFESTS_ON_DISK", 30);
/** Number of published manifests from which one is changed further. */
const CHANGED_EVERY = strideOf("HOSTILE_CHANGED_EVERY", 40);
const SEED = RUN_SEED;

const id = ["t"];
const plain = new NodeDisk({ durability: "none" });
const rows = (...values: number[]) =>
  tableToIPC(
    new Table({
      v: vectorFromArray(values, new Int32()),
      s: vectorFromArray(values.map(String), new Utf8()),
    }),
  );

let root: string;
let outside: string;
let ns: DirectoryNamespace;
/** Paths that were opened, and paths where something was made, changed or removed. */
const opened = new Set<string>();
const changed = new Set<string>();
const LOOKING = ["stat", "realPath", "isLink"];
const READING = ["open", "readFile", "read", "readInto", "close", "list"];

interface Line {
  readonly branch: string | undefined;
  readonly root: string;
  /** A valid, tagged version. */
  readonly good: number;
  readonly file: ManifestFile;
  /** File that a new fragment may name. */
  readonly spare: string;
  readonly bases: readonly BasePath[];
}
let lines: Line[];

beforeAll(async () => {
  console.log(`hostile manifests: seed ${SEED}, ${STAGED} staged, ${ON_DISK} on the disk`);
  [root, outside] = [await makeTempDir(), await makeTempDir()];
  const disk = watchedDisk(plain, {
    before: ({ verb, path }) => {
      if (!LOOKING.includes(verb)) (READING.includes(verb) ? opened : changed).add(path);
    },
  });
  for (const directory of [root, outside]) {
    await using victims = new DirectoryNamespace({ root: directory, durability: "none" });
    const victim = ["victim"];
    await victims.createTable({ id: victim }, rows(1, 2));
    for (const value of [3, 4, 5]) await victims.insertIntoTable({ id: victim }, rows(value));
    await victims.createTableBranch({ id: victim, name: "dev" });
    await victims.insertIntoTable({ id: victim, branch: "dev" }, rows(6));
    await victims.createTableTag({ id: victim, tag: "kept", version: 2 });
  }
  ns = new DirectoryNamespace({ root, disk } as { root: string });
  await ns.createTable({ id }, rows(1, 2, 3));
  await ns.insertIntoTable({ id }, rows(4, 5, 6));
  const table = join(root, "t.lance");
  await publishGood(undefined, table);
  await ns.createTableBranch({ id, name: "dev" });
  await ns.insertIntoTable({ id, branch: "dev" }, rows(7));
  await publishGood("dev", join(table, "tree", "dev"));
  lines = [await lineOf(undefined, table), await lineOf("dev", join(table, "tree", "dev"))];
});
afterAll(() => ns.close());

async function latestOf(directory: string): Promise<ManifestFile> {
  const entry = await findLatestVersion({ disk: plain, root: directory });
  return (await readManifestFile(plain, entry?.path ?? "")) as ManifestFile;
}

/** Publishes a version with as many parts as possible: a deletion file, an index, settings. */
async function publishGood(branch: string | undefined, directory: string): Promise<void> {
  const { manifest, transactionBytes } = await latestOf(directory);
  const version = manifest.version + 1;
  const deletionFile = DeletionFile.create({
    fileType: DELETION_FILE_TYPE.bitmap,
    readVersion: manifest.version,
    id: 0xfedc_ba98_7654_3210n,
    numDeletedRows: 1,
  });
  const last = manifest.fragments.length - 1;
  await mkdir(join(directory, "_deletions"), { recursive: true });
  const name = deletionFileName(manifest.fragments[last].id, deletionFile);
  await writeFile(join(directory, "_deletions", name), encodeRoaring(Uint32Array.of(0)));
  const index = IndexMetadata.create({
    uuid: Uuid.create({ uuid: Uint8Array.from({ length: 16 }, (_, index) => index + version) }),
    fields: [0],
    name: "v_idx",
    datasetVersion: 1,
    fragmentBitmap: encodeRoaring(Uint32Array.of(manifest.fragments[0].id)),
    files: [{ path: "page_data.lance", sizeBytes: 10 }],
  });
  const flags = { readerFeatureFlags: 1n | 16n, writerFeatureFlags: 1n | 8n | 16n };
  const { chunks } = encodeManifestFile({
    manifest: {
      ...manifest,
      ...flags,
      version,
      fragments: manifest.fragments.map((each, index) => (index === last ? { ...each, deletionFile } : each)),
      schemaMetadata: new Map([["who", new Uint8Array([1, 2])]]),
      tableMetadata: new Map([["what", "a table"]]),
      config: new Map([
        ["lance.auto_cleanup.interval", "1"],
        ["lance.auto_cleanup.older_than", "0s"],
        ["lance.auto_cleanup.retain_versions", "2"],
      ]),
    },
    indexSectionBytes: IndexSection.encode(IndexSection.create({ indices: [index] })),
    transactionBytes: transactionBytes as Uint8Array,
  });
  const path = join(directory, "_versions", "staged");
  await writeFile(path, Buffer.concat(chunks));
  await ns.createTableVersion({ id, branch, version, manifestPath: path });
  await ns.createTableTag({ id, tag: `good-${branch ?? "main"}`, branch, version });
}

async function lineOf(branch: string | undefined, directory: string): Promise<Line> {
  const file = await latestOf(directory);
  const ownFragment = file.manifest.fragments.find(
    ({ files }) => files[0].baseId === undefined,
  ) as DataFragment;
  const spare = `${"01".repeat(12)}${"ab".repeat(13)}.lance`;
  const line = {
    branch,
    root: directory,
    good: file.manifest.version,
    file,
    spare,
    bases: file.manifest.basePaths,
  };
  await copyFile(join(directory, "data", ownFragment.files[0].path), join(directory, "data", spare));
  return line;
}

const FRAGMENT: Outline = { 2: {}, 3: {}, 6: {} };
const FIELD: Outline = { 8: {}, 10: {} };
const OUTLINES = {
  manifest: { 1: FIELD, 2: FRAGMENT, 5: {}, 7: {}, 13: {}, 15: {}, 16: {}, 18: {}, 19: {} },
  indices: { 1: { 1: {}, 6: {}, 10: {} } },
  transaction: { 4: {}, 100: { 1: FRAGMENT }, 102: { 1: FRAGMENT, 2: FIELD } },
} satisfies Record<string, Outline>;
type Part = keyof typeof OUTLINES;
type Trees = Readonly<Record<Part, readonly WireNode[]>>;

interface Mutation {
  readonly name: string;
  readonly change: (trees: Trees) => Trees;
}

const NUMBERS = [
  0n,
  1n,
  2n,
  7n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n,
].concat([2n ** 63n, 2n ** 64n - 1n, 2n ** 64n - 2n]);

/** Returns texts that lead elsewhere if they become part of a path. */
function hostileTexts(line: Line): string[] {
  const [name] = victimFiles;
  const up = line.branch === undefined ? ".." : "../../..";
  return [
    ...[
      "",
      ".",
      "..",
      "main",
      "dev",
      "other",
      "a/b",
      "a\\..\\b",
      "C:\\victim",
      "a\0b",
      "NUL.lance",
      "x".repeat(300),
    ],
    ...[`${up}/victim.lance`, `../${up}/victim.lance`, `${up}/../victim.lance/data/${name}`, `${up}/${up}`],
    ...[root, outside, sep, join(root, "victim.lance"), join(outside, "victim.lance")],
    ...[join(root, "victim.lance", "data", name), join(root, "victim.lance", "data"), name],
    ...[
      `file://${outside}/victim.lance`,
      "s3://bucket/t",
      "0s",
      "999999999999999999999",
      "-1",
      "9.9",
      "int33",
    ],
  ];
}
let victimFiles: string[];

const text = new TextEncoder();

function mutationsOf(line: Line, trees: Trees): Mutation[] {
  const mutations: Mutation[] = [];
  for (const part of Object.keys(trees) as Part[]) {
    for (const path of pathsOf(trees[part])) {
      const node = nodeAt(trees[part], path);
      const add = (what: string, ...replacement: WireNode[]) =>
        mutations.push({
          name: `${part} ${path.join(".")} (field ${node.field}): ${what}`,
          change: (all) => ({ ...all, [part]: replaceAt(all[part], path, replacement) }),
        });
      add("removed");
      add("twice", node, node);
      add("another field's", { ...node, field: node.field + 1 });
      if (node.kind === "number") {
        for (const value of NUMBERS) add(String(value), { ...node, value });
        add("one more", { ...node, value: BigInt.asUintN(64, node.value + 1n) });
        add("text", { kind: "bytes", field: node.field, value: text.encode("1") });
        continue;
      }
      const asBytes = (value: Uint8Array): WireNode => ({ kind: "bytes", field: node.field, value });
      add("a number", { kind: "number", field: node.field, value: 1n });
      add("bytes that are no text", asBytes(Uint8Array.of(0xff, 0xfe, 0x80)));
      if (node.kind === "message") {
        add("empty", asBytes(new Uint8Array()));
      } else {
        for (const value of hostileTexts(line))
          add(JSON.stringify(value.slice(0, 80)), asBytes(text.encode(value)));
      }
    }
  }
  return mutations;
}

function additionsOf(line: Line): Mutation[] {
  const victim = join(root, "victim.lance");
  const decoded = (all: Trees): Manifest =>
    Manifest.decode(encodeTree(all.manifest), { path: "", byteOffset: 0 });
  const withManifest = (name: string, change: (manifest: Manifest) => Partial<Manifest>): Mutation => ({
    name,
    change: (all) => {
      const manifest = decoded(all);
      const bytes = Manifest.encode({ ...manifest, ...change(manifest) });
      return { ...all, manifest: decodeTree(bytes, OUTLINES.manifest) };
    },
  });
  const places = [
    victim,
    join(outside, "victim.lance"),
    join(root, "t.lance"),
    root,
    outside,
    "/",
    "/etc",
    line.root,
  ];
  const bases = places.flatMap((path) =>
    [true, false].map((isDatasetRoot) => BasePath.create({ id: 9, isDatasetRoot, path })),
  );
  const allFiles = (change: (file: DataFile) => DataFile) => (manifest: Manifest) => ({
    fragments: manifest.fragments.map((each) => ({ ...each, files: each.files.map(change) })),
  });
  const first = (change: (fragment: DataFragment) => Partial<DataFragment>) => (manifest: Manifest) => ({
    fragments: manifest.fragments.map((each, index) => (index === 0 ? { ...each, ...change(each) } : each)),
  });
  return [
    ...hostileTexts(line).flatMap((value) => [
      withManifest(`branch ${value}`, () => ({ branch: value })),
      withManifest(`transaction ${value}`, () => ({ transactionFile: value })),
      withManifest(
        `file ${value}`,
        first(({ files }) => ({ files: [{ ...files[0], path: value }] })),
      ),
      withManifest(
        `external row ids ${value}`,
        first(() => ({ externalRowIds: { path: value, offset: 0, size: 8 } })),
      ),
      withManifest(`older than ${value}`, ({ config }) => ({
        config: new Map(config).set("lance.auto_cleanup.older_than", value),
      })),
    ]),
    ...bases.flatMap((base) => [
      withManifest(`a base path ${base.path}`, ({ basePaths }) => ({ basePaths: [...basePaths, base] })),
      withManifest(`files in ${base.path}`, (manifest) => ({
        basePaths: [...manifest.basePaths, base],
        ...allFiles((file) => ({
          ...file,
          path: base.isDatasetRoot ? victimFiles[0] : `data/${victimFiles[0]}`,
          baseId: 9,
        }))(manifest),
      })),
      withManifest(`base paths that are ${base.path}`, ({ basePaths }) => ({
        basePaths: basePaths.map((each) => ({ ...each, path: base.path })),
      })),
      withManifest(`deletions in ${base.path}`, (manifest) => ({
        basePaths: [...manifest.basePaths, base],
        fragments: manifest.fragments.map(({ deletionFile, ...each }) => ({
          ...each,
          deletionFile: deletionFile && { ...deletionFile, baseId: 9 },
        })),
      })),
    ]),
    withManifest("no fragments", () => ({ fragments: [] })),
    withManifest("the spare file", (manifest) => ({
      fragments: [
        ...manifest.fragments,
        {
          ...manifest.fragments[manifest.fragments.length - 1],
          deletionFile: undefined,
          id: (manifest.maxFragmentId ?? 0) + 1,
          files: [{ ...manifest.fragments[manifest.fragments.length - 1].files[0], path: line.spare }],
        },
      ],
      maxFragmentId: (manifest.maxFragmentId ?? 0) + 1,
    })),
  ];
}

/** Decodes the parts of a version to trees. */
const treesOf = (
  { manifest, indexSectionBytes, transactionBytes }: ManifestFile,
  version: number,
): Trees => ({
  manifest: decodeTree(Manifest.encode({ ...manifest, version }), OUTLINES.manifest),
  indices: decodeTree(indexSectionBytes ?? new Uint8Array(), OUTLINES.indices),
  transaction: decodeTree(
    transactionBytes ?? Transaction.encode(Transaction.create({})),
    OUTLINES.transaction,
  ),
});

/** Encodes a manifest file without a checksum, as other writers do. */
function fileOf(trees: Trees): Buffer {
  const [indices, transaction, manifest] = [trees.indices, trees.transaction, trees.manifest].map(encodeTree);
  const prefixed = (bytes: Uint8Array) => {
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32LE(bytes.length);
    return [prefix, bytes];
  };
  const position = 8 + indices.length + transaction.length;
  const footer = Buffer.alloc(16);
  footer.writeBigUInt64LE(BigInt(position));
  footer.writeUInt16LE(2, 10);
  footer.write("LANC", 12);
  return Buffer.concat([...prefixed(indices), ...prefixed(transaction), ...prefixed(manifest), footer]);
}

/** Sets the positions of the parts in the file, unless a mutation has changed them. */
function placed(trees: Trees): Trees {
  const section = (field: number, value: number): WireNode => ({
    kind: "number",
    field,
    value: BigInt(value),
  });
  const rest = trees.manifest.filter(({ field }) => field !== 6 && field !== 21);
  const transaction = 4 + encodeTree(trees.indices).length;
  return { ...trees, manifest: [...rest, section(6, 0), section(21, transaction)] };
}

/** Returns the state that must not change: bytes, and the times of directories. */
async function victimsNow(): Promise<unknown> {
  const of = async (directory: string) => {
    const snapshot = await directorySnapshot(directory);
    const times: Record<string, bigint> = {};
    for (const [path, kind] of Object.entries(snapshot)) {
      if (kind === "dir") times[path] = (await stat(join(directory, path), { bigint: true })).mtimeNs;
    }
    return { snapshot, times };
  };
  return [await of(join(root, "victim.lance")), await of(outside)];
}

const OWN = /^(t\.lance|__manifest|\.tiltyard-[a-z-]+)(\/|$)/;

/** @param readable a further directory that may be read, or null */
function expectOwnOnly(name: string, readable: string | null): void {
  const isOwn = (path: string): boolean =>
    path === root ||
    (path.startsWith(root + sep) && OWN.test(path.slice(root.length + 1).replaceAll(sep, "/")));
  const isReadable = (path: string) => readable !== null && path.startsWith(readable + sep);
  const foreign = [...changed, ...[...opened].filter((path) => !isReadable(path))].filter(
    (path) => !isOwn(path),
  );
  if (foreign.length > 0) fault(name, `touched ${foreign.join(", ")}`);
  forgetTouched();
}

function forgetTouched(): void {
  opened.clear();
  changed.clear();
}

/** First case of each fault. */
const faults = new Map<string, string>();
const fault = (name: string, message: string) => {
  if (!faults.has(message)) faults.set(message, name);
};

function expectTyped(error: unknown, name: string): void {
  if (!(error instanceof NamespaceError)) fault(name, String(error));
  else if (error.type === "Internal" && error.name !== "CorruptFileError") {
    fault(name, `${error.operation}: ${error.stack}, ${(error.cause as Error | undefined)?.stack}`);
  }
}

function expectNoFaults(): void {
  const faultTexts = Array.from(faults, ([message, name]) => `${name}: ${message}`);
  faults.clear();
  expect(faultTexts).toEqual([]);
}

async function attempt(name: string, call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    expectTyped(error, name);
    return false;
  }
}

async function readAll({ branch }: Line, name: string): Promise<void> {
  const on = { id, branch };
  const table = ns.table("t", { branch });
  await attempt(name, () => table.scan({}).toArrow());
  await attempt(name, () => ns.countTableRows(on));
  await attempt(name, () => ns.describeTable(on));
}

async function changeAll({ branch }: Line, name: string): Promise<void> {
  const on = { id, branch };
  await attempt(name, () => ns.insertIntoTable(on, rows(8)));
  await attempt(name, () => ns.optimizeTable(on));
  await attempt(name, () => ns.listTableVersions(on));
  await attempt(name, () => ns.getTableStats(on));
  await attempt(name, () => ns.table("t", { branch }).take([0]));
  await attempt(name, () => ns.cleanupTable({ ...on, olderThanMs: 0 }));
}

/** Checks that the table is writable: a caller must not be able to block it for good. */
async function expectWritable({ branch, good }: Pick<Line, "branch" | "good">, name: string): Promise<void> {
  const on = { id, branch };
  const revive = async () => {
    await ns.restoreTable({ ...on, version: good });
    await ns.insertIntoTable(on, rows(9));
    await ns.restoreTable({ ...on, version: good });
  };
  await revive().catch((error) => fault(name, `unwritable: ${error.stack}`));
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  let state = seed;
  for (let index = result.length - 1; index > 0; index--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const swapIndex = Math.floor((state / 2 ** 32) * (index + 1));
    [result[index], result[swapIndex]] = [result[swapIndex], result[index]];
  }
  return result;
}

function casesOf(versionOf: (line: Line) => number): { line: Line; mutation: Mutation; trees: Trees }[] {
  const cases = lines.flatMap((line) => {
    const trees = placed(treesOf(line.file, versionOf(line)));
    return [...mutationsOf(line, trees), ...additionsOf(line)].map((mutation) => ({ line, mutation, trees }));
  });
  return shuffled(cases, SEED);
}

beforeAll(async () => {
  victimFiles = await readdir(join(root, "victim.lance", "data"));
});

describe("operations touch only the table's own files", () => {
  it("with staged manifests", { timeout: 600_000 }, async () => {
    const before = await victimsNow();
    const latest = new Map(lines.map((line) => [line, line.good]));
    const cases = casesOf(({ good }) => good + 1);
    expect(cases.length).toBeGreaterThan(2000);
    const outcomes = { refused: 0, published: 0 };
    forgetTouched();
    for (const [index, { line, mutation, trees }] of cases.slice(0, STAGED).entries()) {
      const name = `${line.branch ?? "main"}: ${mutation.name}`;
      const version = (latest.get(line) ?? 0) + 1;
      const nodes = trees.manifest.map((node) =>
        node.field === 3 && node.kind === "number" ? { ...node, value: BigInt(version) } : node,
      );
      const manifestPath = join(line.root, "_versions", `${manifestName(version, "V2")}-staged`);
      await writeFile(manifestPath, fileOf(mutation.change({ ...trees, manifest: nodes })));
      const part = { id, branch: line.branch, version, manifestPath };
      const publish = () => {
        if (index % 8 === 3) return ns.batchCreateTableVersions({ entries: [part] });
        if (index % 8 === 7) return ns.batchCommitTables({ operations: [{ createTableVersion: part }] });
        return ns.createTableVersion(part);
      };
      let isPublished = false;
      try {
        await publish();
        isPublished = true;
      } catch (error) {
        // The staged manifest is the caller's, so its faults are the caller's, too.
        expectTyped(error, name);
        if ((error as NamespaceError).status >= 500) fault(name, `publishing: ${(error as Error).message}`);
      }
      outcomes[isPublished ? "published" : "refused"]++;
      if (isPublished) {
        await readAll(line, name);
        // The next manifest replaces all of this one, so not each change has to be undone.
        if (outcomes.published % CHANGED_EVERY === 1) {
          await changeAll(line, name);
          await expectWritable(line, name);
        }
        latest.set(line, (await findLatestVersion({ disk: plain, root: line.root }))?.version as number);
        // The file may have been removed with its version.
        const [spare, [source]] = [join(line.root, "data", line.spare), ownFiles(line)];
        if ((await plain.stat(spare)) === null) await copyFile(join(line.root, "data", source), spare);
      }
      expectOwnOnly(name, null);
    }
    for (const line of lines) await expectWritable(line, "in the end");
    console.log(`hostile manifests: ${outcomes.refused} refused, ${outcomes.published} published`);
    expect(outcomes.published).toBeGreaterThan(0);
    // The seed decides which cases come first; about half of them are refused.
    expect(outcomes.refused).toBeGreaterThan(outcomes.published / 2);
    expectNoFaults();
    expect(await victimsNow()).toEqual(before);
  });

  it("with manifests among the published ones", { timeout: 600_000 }, async () => {
    const before = await victimsNow();
    const atRest = new Map<Line, { version: number; path: string }>();
    for (const line of lines) {
      const on = { id, branch: line.branch };
      await ns.restoreTable({ ...on, version: line.good });
      const version = (await ns.describeTable(on)).version as number;
      atRest.set(line, { version, path: manifestPath(line.root, version, "V2") });
    }
    forgetTouched();
    for (const { line, mutation, trees } of casesOf(({ good }) => good).slice(0, ON_DISK)) {
      const name = `${line.branch ?? "main"} on the disk: ${mutation.name}`;
      const { version, path } = atRest.get(line) as { version: number; path: string };
      const bytes = await readFile(path);
      const nodes = trees.manifest.map((node) =>
        node.field === 3 && node.kind === "number" ? { ...node, value: BigInt(version) } : node,
      );
      await rm(path);
      await writeFile(path, fileOf(mutation.change({ ...trees, manifest: nodes })));
      await readAll(line, name);
      await changeAll(line, name);
      // Remove the hostile version, and all that was made from it.
      for (const later of await listVersions({ disk: plain, root: line.root })) {
        if (later.version > version) await rm(later.path);
      }
      await rm(join(line.root, "_versions", "latest_version_hint.json"), { force: true });
      await rm(path, { force: true });
      await writeFile(path, bytes);
      await expectWritable(line, name);
      const next = (await findLatestVersion({ disk: plain, root: line.root }))?.version as number;
      atRest.set(line, { version: next, path: manifestPath(line.root, next, "V2") });
      // A table may share files with others inside the root; a mere caller cannot make such a table.
      expectOwnOnly(name, root);
    }
    expectNoFaults();
    expect(await victimsNow()).toEqual(before);
  });
});

const ownFiles = (line: Line): string[] =>
  line.file.manifest.fragments.flatMap(({ files }) =>
    files.flatMap(({ path, baseId }) => (baseId === undefined ? [path] : [])),
  );
