/**
 * Crash loop over writes of blobs with side files: every later version has all its values, and the next
 * full cleanup removes the orphans.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Field, LargeBinary, Schema, Struct, Table, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, TableNotFoundError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { strideOf } from "../support/effort.js";
import { reference } from "../support/reference.js";
import { interrupt, stage, WRITE_WAYS } from "./interruptions.js";

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
  it.each(WRITE_WAYS)("$title", async (way) => {
    const options = { dataStorageVersion: "2.2" } as const;
    const prepared = await stage(async (root) => {
      if (!isPrepared) return;
      await using ns = new DirectoryNamespace({ root, durability: "none", ...options });
      await ns.createTable({ id }, rowsOf(...OLD.slice(0, 2)));
      await ns.insertIntoTable({ id }, rowsOf(...OLD.slice(2)));
    });
    const { root } = prepared;
    let withOrphans = 0;
    // Few calls write blobs: small steps are needed to hit one.
    const isKilled = way.dead && !way.powerCut;
    const stride = isKilled ? Math.ceil(STRIDE / 3) : STRIDE;
    const operation = { stride, options, closeMayFail: true, run };
    await interrupt(prepared, way, operation, async ({ acknowledged, round, where }) => {
      await using reader = new DirectoryNamespace({ root, durability: "none", ...options });
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
      if (left.directories.length > kept.directories.length) withOrphans++;
      const stems = kept.files.map((name) => name.replace(/\.lance$/, ""));
      expect(stems, where).toEqual(expect.arrayContaining(kept.directories));
      expect(await textsIn(reader), where).toEqual([...(texts ?? []), "dedicated"]);
      if (round % 3 > 0) return;
      const there = await reference.fetchBlobs(root, "t", "b");
      expect(there.map(textOf), where).toEqual([...(texts ?? []), "dedicated"]);
    });
    // A process that dies leaves side files.
    if (isKilled) expect(withOrphans).toBeGreaterThan(0);
  });
});
