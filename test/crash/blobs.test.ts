/**
 * Crash loop over writes of blobs of version 2, whose side files have a directory of their own. Whatever disk
 * call fails, and however, every later version has all its values, and the next full cleanup removes the
 * orphans.
 *
 * `npm run soak` covers more of the calls than `npm test`; `npm test` tries each kind of failure on some
 * calls.
 */

import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Field, LargeBinary, Schema, Struct, Table, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError, TableNotFoundError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { strideOf } from "../support/effort.js";
import { type FaultMode, FaultyDisk } from "../support/faultyDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = strideOf("CRASH_STRIDE", 15);
const id = ["t"];
const BLOB = new Struct([new Field("data", new LargeBinary(), true), new Field("uri", new Utf8(), true)]);
/** Up to 4 bytes lie in the data file, up to 8 in a shared side file of at most 16. */
const METADATA = new Map([
  ["ARROW:extension:name", "lance.blob.v2"],
  ["lance-encoding:blob-inline-size-threshold", "4"],
  ["lance-encoding:blob-dedicated-size-threshold", "8"],
  ["lance-encoding:blob-pack-file-size-threshold", "16"],
]);

const rowsOf = (...texts: (string | null)[]): Table => {
  const rows = texts.map((text) =>
    text === null ? null : { data: new TextEncoder().encode(text), uri: null },
  );
  return new Table(new Schema([new Field("b", BLOB, true, METADATA)]), { b: vectorFromArray(rows, BLOB) });
};
const textOf = (data: Uint8Array | null): string | null => data && new TextDecoder().decode(data);
const textsOf = (table: Table): (string | null)[] =>
  Array.from(table.getChild("b")!, (row) => row && textOf(row.data));

const OLD = ["in", "packed", "dedicated", null];
const ADDED = ["packed1", "packed2", "packed3", "of its own", "x", "another one"];

interface Scenario {
  readonly name: string;
  readonly isPrepared: boolean;
  readonly run: (namespace: DirectoryNamespace) => Promise<unknown>;
  readonly after: readonly (string | null)[];
}

const scenarios: Scenario[] = [
  {
    name: "create",
    isPrepared: false,
    run: (namespace) => namespace.createTable({ id }, rowsOf(...ADDED)),
    after: ADDED,
  },
  {
    name: "append",
    isPrepared: true,
    run: (namespace) => namespace.insertIntoTable({ id }, rowsOf(...ADDED)),
    after: [...OLD, ...ADDED],
  },
  {
    name: "overwrite",
    isPrepared: true,
    run: (namespace) => namespace.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(...ADDED)),
    after: ADDED,
  },
  {
    name: "compaction",
    isPrepared: true,
    run: (namespace) => namespace.optimizeTable({ id }),
    after: OLD,
  },
];

const ways: { title: string; mode: FaultMode; dead: boolean; powerCut: boolean }[] = [
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "a write is cut short", mode: "short", dead: false, powerCut: false },
  { title: "the process dies in the middle of a write", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
];

/** Returns data files, and the directories beside them. */
async function dataOf(root: string): Promise<{ files: string[]; directories: string[] }> {
  const entries = await readdir(join(root, "t.lance", "data"), { withFileTypes: true });
  const names = (isDirectory: boolean) =>
    entries.filter((entry) => entry.isDirectory() === isDirectory).map(({ name }) => name);
  return { files: names(false), directories: names(true) };
}

async function textsIn(namespace: DirectoryNamespace): Promise<(string | null)[] | null> {
  try {
    return textsOf(await namespace.table(id).scan().toArrow());
  } catch (error) {
    if (error instanceof TableNotFoundError) return null;
    throw error;
  }
}

describe.each(scenarios)("$name", ({ isPrepared, run, after }) => {
  it.each(ways.map((way, index) => ({ ...way, index })))("$title", async (way) => {
    const { mode, dead, powerCut, index } = way;
    const base = await makeTempDir();
    const root = join(base, "inner", "root");
    const template = join(base, "template");
    await mkdir(root, { recursive: true });
    if (isPrepared) {
      const namespace = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.2" });
      await namespace.createTable({ id }, rowsOf(...OLD.slice(0, 2)));
      await namespace.insertIntoTable({ id }, rowsOf(...OLD.slice(2)));
      await namespace.close();
    }
    await cp(root, template, { recursive: true });
    let withLeftovers = 0;
    // Few calls write blobs: small steps are needed to hit one.
    const stride = dead && !powerCut ? Math.ceil(STRIDE / 3) : STRIDE;
    for (let failing = index % stride; ; failing += stride) {
      await rm(root, { recursive: true });
      await cp(template, root, { recursive: true });
      const disk = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
      disk.failAt(failing, mode, { dead });
      const writer = new DirectoryNamespace({ root, disk, dataStorageVersion: "2.2" });
      let acknowledged = true;
      try {
        await run(writer);
      } catch (error) {
        expect(error, String(error)).toBeInstanceOf(NamespaceError);
        acknowledged = false;
      }
      const { tripped } = disk;
      const where = `failing call ${failing}: ${disk.log[failing]}`;
      await writer.close().catch((error) => {
        if (!tripped) throw error;
      });
      await disk.restart();
      if (powerCut) await disk.loseUnsynced();

      const reader = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.2" });
      const texts = await textsIn(reader);
      const before = isPrepared ? OLD : null;
      if (acknowledged) expect(texts, where).toEqual(after);
      else expect([before, after], where).toContainEqual(texts);

      // The next write, and a cleanup whose caller knows that no other process writes.
      if (texts === null) await reader.createTable({ id }, rowsOf("dedicated"));
      else await reader.insertIntoTable({ id }, rowsOf("dedicated"));
      const left = await dataOf(root);
      await reader.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
      const kept = await dataOf(root);
      if (left.directories.length > kept.directories.length) withLeftovers++;
      const stems = kept.files.map((name) => name.replace(/\.lance$/, ""));
      expect(stems, where).toEqual(expect.arrayContaining(kept.directories));
      expect(await textsIn(reader), where).toEqual([...(texts ?? []), "dedicated"]);
      if (failing % (3 * stride) === index % stride) {
        const there = await reference.fetchBlobs(root, "t", "b");
        expect(there.map(textOf), where).toEqual([...(texts ?? []), "dedicated"]);
      }
      await reader.close();
      await disk.dispose();
      if (!tripped) {
        expect(acknowledged).toBe(true);
        break;
      }
    }
    // A process that dies leaves side files.
    if (dead && !powerCut) expect(withLeftovers).toBeGreaterThan(0);
  });
});
