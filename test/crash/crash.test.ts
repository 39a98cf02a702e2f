/**
 * SQLite's loop: fail the Nth disk call for N = 0, 1, 2 … until the operation gets through, in every way a call
 * can fail. Whatever happened, a table opened afterwards is at its old or its new version, whole; what was
 * acknowledged is there; and the next write works.
 */

import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Int32, makeData, RecordBatch, Table, tableFromIPC, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError, TableNotFoundError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/nodeDisk.js";
import { createExclusive } from "../../src/io/publish.js";
import { encodeManifestFile, readManifestFile } from "../../src/table/manifest.js";
import { type FaultMode, FaultyDisk } from "../support/faultyDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const ID = ["t"];
const rowsOf = (...values: number[]): Table =>
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

/** What a table holds: its version and its rows, or that there is none. */
type State = { version: number; rows: number[] } | null;

interface Scenario {
  readonly name: string;
  /** Whether the table is made beforehand, with rows 1, 2 in version 1 and 1, 2, 3 in version 2. */
  readonly prepared: boolean;
  readonly run: (namespace: DirectoryNamespace) => Promise<unknown>;
  readonly before: State;
  readonly after: State;
}

const prepared = { prepared: true, before: { version: 2, rows: [1, 2, 3] } };
const scenarios: Scenario[] = [
  {
    name: "create",
    prepared: false,
    run: (namespace) => namespace.createTable({ id: ID }, rowsOf(7, 8)),
    before: null,
    after: { version: 1, rows: [7, 8] },
  },
  {
    name: "append",
    ...prepared,
    run: (namespace) => namespace.insertIntoTable({ id: ID }, rowsOf(9)),
    after: { version: 3, rows: [1, 2, 3, 9] },
  },
  {
    name: "overwrite",
    ...prepared,
    run: (namespace) => namespace.insertIntoTable({ id: ID, mode: "overwrite" }, rowsOf(9)),
    after: { version: 3, rows: [9] },
  },
  {
    name: "restore",
    ...prepared,
    run: (namespace) => namespace.restoreTable({ id: ID, version: 1 }),
    after: { version: 3, rows: [1, 2] },
  },
  {
    name: "createTableVersion",
    ...prepared,
    run: (namespace) =>
      namespace.createTableVersion({ id: ID, version: 3, manifestPath: "staged", metadata: { by: "test" } }),
    after: { version: 3, rows: [1, 2] },
  },
];

const ways: { title: string; mode: FaultMode; dead: boolean; powerCut: boolean }[] = [
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "a write is cut short", mode: "short", dead: false, powerCut: false },
  { title: "the process dies", mode: "before", dead: true, powerCut: false },
  { title: "the process dies in the middle of a write", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
];

/** A root that is made on the first write, the table in it if the scenario wants one, all of it durable. */
async function prepare(root: string, scenario: Scenario): Promise<FaultyDisk> {
  await mkdir(dirname(root));
  const disk = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
  if (!scenario.prepared) return disk;
  const namespace = new DirectoryNamespace({ root, disk });
  await namespace.createTable({ id: ID }, rowsOf(1, 2));
  const { version } = await namespace.describeTableVersion({ id: ID, version: 1 });
  await namespace.insertIntoTable({ id: ID }, rowsOf(3));
  const first = (await readManifestFile(disk, version.manifestPath))!;
  const staged = encodeManifestFile({
    manifest: { ...first.manifest, version: 3 },
    indexSectionBytes: first.indexSectionBytes,
    transactionBytes: first.transactionBytes,
  });
  await createExclusive(disk, join(root, "t.lance"), "staged", staged.chunks);
  await namespace.close();
  await disk.restart();
  return disk;
}

async function stateOf(namespace: DirectoryNamespace): Promise<State> {
  try {
    const version = await namespace.table(ID).version();
    return { version, rows: valuesOf(await namespace.table(ID).scan().toArrow()) };
  } catch (error) {
    if (error instanceof TableNotFoundError) return null;
    throw error;
  }
}

describe.each(scenarios)("$name", (scenario) => {
  it.each(ways)("$title", async ({ mode, dead, powerCut }) => {
    const base = await makeTempDir();
    let seenOld = 0;
    let seenNew = 0;
    for (let failing = 0; ; failing++) {
      const root = join(base, String(failing), "root");
      const disk = await prepare(root, scenario);
      disk.failAt(failing, mode, { dead });
      const writer = new DirectoryNamespace({ root, disk });
      let acknowledged = true;
      try {
        await scenario.run(writer);
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

      const reader = new DirectoryNamespace({ root, durability: "none" });
      const state = await stateOf(reader);
      if (acknowledged) expect(state, where).toEqual(scenario.after);
      else expect([scenario.before, scenario.after], where).toContainEqual(state);
      if (state === null || state.version === scenario.before?.version) seenOld++;
      else seenNew++;

      const next =
        state === null
          ? reader.createTable({ id: ID }, rowsOf(10))
          : reader.insertIntoTable({ id: ID }, rowsOf(10));
      expect((await next).version, where).toBe((state?.version ?? 0) + 1);
      expect(valuesOf(await reader.table(ID).scan().toArrow()), where).toEqual([...(state?.rows ?? []), 10]);
      await reader.close();
      if (failing % 16 === 0 || !tripped) {
        const seen = valuesOf(tableFromIPC(await reference.readTable(root, "t")));
        expect(seen, where).toEqual([...(state?.rows ?? []), 10]);
      }
      await disk.dispose();
      await rm(dirname(root), { recursive: true });
      if (!tripped) {
        expect(acknowledged).toBe(true);
        break;
      }
    }
    // The loop has been on both sides of the commit.
    expect(seenOld).toBeGreaterThan(0);
    expect(seenNew).toBeGreaterThan(0);
  });
});
