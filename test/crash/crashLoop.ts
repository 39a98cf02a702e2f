/**
 * Crash loop, as in SQLite: fails the Nth disk call, for each N, in every way in which a call can fail.
 * Afterwards the table is whole, at its old or new version, and has all acknowledged changes.
 */

import { readdir, readFile, rmdir, stat, utimes } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Int32, makeData, RecordBatch, Table, tableFromIPC, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, TableNotFoundError } from "tiltyard";
import { describe, expect, it } from "vitest";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { createExclusive } from "../../src/io/publish.js";
import { readManifestFile } from "../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../src/table/versions/manifestEncoder.js";
import { strideOf } from "../support/effort.js";
import type { FaultyDisk } from "../support/faultyDisk.js";
import { reference } from "../support/reference.js";
import { ALL_WAYS, interrupt, stage } from "./interruptions.js";

export const ID = ["t"];
export const rowsOf = (...values: number[]): Table =>
  new Table(
    new RecordBatch({
      v: makeData({ type: new Int32(), data: Int32Array.from(values), length: values.length }),
      s: vectorFromArray(values.map(String), new Utf8()).data[0],
    }),
  );
const valuesOf = (table: Table): number[] => {
  const values = Array.from(table.getChild("v")!.toArray() as Int32Array);
  expect(Array.from(table.getChild("s")!, String)).toEqual(values.map(String));
  return values;
};

/** Version and rows of a table; null if there is none. */
type State = { version: number; rows: number[] } | null;

export interface Scenario {
  readonly name: string;
  /** True to prepare the table: version 1 has rows 1 and 2, version 2 also 3. */
  readonly prepared: boolean;
  /** True if rows of the prepared table keep their ids. */
  readonly stableRowIds?: boolean;
  /** Runs before calls can fail, and is durable. */
  readonly setUp?: (namespace: DirectoryNamespace, disk: Disk, root: string) => Promise<unknown>;
  /** @param other another engine on the same disk */
  readonly run: (namespace: DirectoryNamespace, secondEngine: DirectoryNamespace) => Promise<unknown>;
  readonly before: State;
  /** State between the steps of an operation; absent if it takes one step. */
  readonly between?: State;
  readonly after: State;
  /** Calls from one failure to the next. Default 1. */
  readonly stride?: number;
}

export const STRIDE = strideOf("CRASH_STRIDE", 257);
/** Stride for operations of few calls. */
const CALL_STRIDE = strideOf("CRASH_CALL_STRIDE", 5);

export const prepared = { prepared: true, before: { version: 2, rows: [1, 2, 3] } };

async function prepare(root: string, scenario: Scenario): Promise<void> {
  if (!scenario.prepared) return rmdir(root);
  const disk = new NodeDisk({ durability: "none" });
  await using namespace = new DirectoryNamespace({ root, disk });
  await namespace.createTable({ id: ID, stableRowIds: scenario.stableRowIds }, rowsOf(1, 2));
  const { version } = await namespace.describeTableVersion({ id: ID, version: 1 });
  await namespace.insertIntoTable({ id: ID }, rowsOf(3));
  const first = (await readManifestFile(disk, version.manifestPath))!;
  const staged = encodeManifestFile({
    manifest: { ...first.manifest, version: 3 },
    indexSectionBytes: first.indexSectionBytes,
    transactionBytes: first.transactionBytes,
  });
  await createExclusive(disk, join(root, "t.lance"), "staged", staged.chunks);
}

type Tree = ReadonlyMap<string, { readonly bytes: Uint8Array; readonly modified: Date }>;

export async function readTree(directory: string): Promise<Tree> {
  const tree = new Map<string, { bytes: Uint8Array; modified: Date }>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    tree.set(relative(directory, path), { bytes: await readFile(path), modified: (await stat(path)).mtime });
  }
  return tree;
}

/** Writes files with their former times; all of it durable. */
export async function writeTree(disk: Disk, directory: string, tree: Tree): Promise<void> {
  for (const [name, { bytes, modified }] of tree) {
    const path = join(directory, name);
    await disk.makeDirectory(dirname(path));
    const file = await disk.create(path);
    await file.write([bytes]);
    await file.sync();
    await file.close();
    await disk.syncDirectory(dirname(path));
    await utimes(path, modified, modified);
  }
}

export async function stateOf(namespace: DirectoryNamespace): Promise<State> {
  try {
    const version = await namespace.table(ID).version();
    const read = await namespace.table(ID).scan({ withRowId: true }).toArrow();
    expect(new Set(read.getChild("_rowid")).size).toBe(read.numRows);
    return { version, rows: valuesOf(read) };
  } catch (error) {
    if (error instanceof TableNotFoundError) return null;
    throw error;
  }
}

/** Defines the tests of some operations; separate files run in parallel. */
export function testCrashes(scenarios: readonly Scenario[]): void {
  describe.each(scenarios)("$name", testScenario);
}

function testScenario(scenario: Scenario): void {
  const stride = scenario.stride ?? CALL_STRIDE;
  it.each(ALL_WAYS)("$title", async (way) => {
    const prepared = await stage((root) => prepare(root, scenario));
    const { root } = prepared;
    let seenOld = 0;
    let seenNew = 0;
    const { before, between = before, after, setUp } = scenario;
    const operation = {
      stride,
      closeMayFail: true,
      setUp: setUp && ((writer: DirectoryNamespace, disk: FaultyDisk) => setUp(writer, disk, root)),
      async run(writer: DirectoryNamespace, disk: FaultyDisk) {
        const secondEngine = new DirectoryNamespace({ root, disk });
        try {
          await scenario.run(writer, secondEngine);
        } finally {
          await secondEngine.close().catch((error) => {
            if (!disk.tripped) throw error;
          });
        }
      },
    };
    await interrupt(prepared, way, operation, async ({ acknowledged, round, tripped, where }) => {
      const reader = new DirectoryNamespace({ root, durability: "none" });
      const state = await stateOf(reader);
      if (acknowledged) expect(state, where).toEqual(after);
      else expect([before, between, after], where).toContainEqual(state);
      if (isDeepStrictEqual(state, after)) seenNew++;
      else seenOld++;

      const next =
        state === null
          ? reader.createTable({ id: ID }, rowsOf(10))
          : reader.insertIntoTable({ id: ID }, rowsOf(10));
      expect((await next).version, where).toBe((state?.version ?? 0) + 1);
      expect(valuesOf(await reader.table(ID).scan().toArrow()), where).toEqual([...(state?.rows ?? []), 10]);
      await reader.close();
      if (tripped && round % 16 > 0) return;
      const seen = valuesOf(tableFromIPC(await reference.readTable(root, "t")));
      expect(seen, where).toEqual([...(state?.rows ?? []), 10]);
    });
    // The loop has seen both sides of the commit.
    expect(seenOld).toBeGreaterThan(0);
    expect(seenNew).toBeGreaterThan(0);
  });
}
