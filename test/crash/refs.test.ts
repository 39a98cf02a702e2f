/**
 * The crash loop over changes of tags: whatever disk call fails, and however, an engine that opens the table
 * afterwards sees its refs as they were before the change or as they are after it; what was acknowledged is there;
 * and the change can be made, or made again.
 *
 * `npm run soak` goes through all calls, `npm test` through some for each way to fail.
 */

import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/nodeDisk.js";
import { type FaultMode, FaultyDisk } from "../support/faultyDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = Number(process.env.CRASH_STRIDE ?? 3);
const id = ["t"];

const rowsOf = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });
const valuesOf = (table: Table) => Array.from(table.getChild("v") ?? [], Number);

/** Every tag, and the rows that it shows. */
async function stateOf(ns: DirectoryNamespace): Promise<Record<string, unknown>> {
  const state: Record<string, unknown> = {};
  for (const [tag, { version, branch }] of Object.entries((await ns.listTableTags({ id })).tags)) {
    state[`tag ${tag}`] = { version, branch, rows: valuesOf(await ns.table(id, { tag }).scan().toArrow()) };
  }
  return state;
}

/** What all scenarios find: versions 1 and 2, and a tag of the first. */
async function prepare(root: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await ns.createTable({ id }, rowsOf(1));
  await ns.insertIntoTable({ id }, rowsOf(2));
  await ns.createTableTag({ id, tag: "v", version: 1 });
  await ns.close();
}

const scenarios: [name: string, run: (ns: DirectoryNamespace) => Promise<unknown>][] = [
  ["createTableTag", (ns) => ns.createTableTag({ id, tag: "w", version: 2 })],
  ["updateTableTag", (ns) => ns.updateTableTag({ id, tag: "v", version: 2 })],
  ["deleteTableTag", (ns) => ns.deleteTableTag({ id, tag: "v" })],
];

const ways: { title: string; mode: FaultMode; dead: boolean; powerCut: boolean }[] = [
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "the process dies", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
];

describe.each(scenarios)("%s", (_name, run) => {
  it("is before or after, wherever it ends", async () => {
    const base = await makeTempDir();
    const template = join(base, "template");
    await prepare(template);
    const snapshot = async (root: string) => {
      const ns = new DirectoryNamespace({ root, durability: "none" });
      const state = await stateOf(ns);
      await ns.close();
      return state;
    };
    const before = await snapshot(template);
    const done = join(base, "done");
    await cp(template, done, { recursive: true });
    const engine = new DirectoryNamespace({ root: done, durability: "none" });
    await run(engine);
    await engine.close();
    const after = await snapshot(done);
    expect(after).not.toEqual(before);

    for (const [index, { title, mode, dead, powerCut }] of ways.entries()) {
      const seen = { before: 0, after: 0 };
      for (let failing = index % STRIDE; ; failing += STRIDE) {
        const root = join(base, `${index}-${failing}`, "root");
        await mkdir(dirname(root));
        await cp(template, root, { recursive: true });
        const disk = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
        disk.failAt(failing, mode, { dead });
        const writer = new DirectoryNamespace({ root, disk });
        let acknowledged = true;
        try {
          await run(writer);
        } catch (error) {
          expect(error, String(error)).toBeInstanceOf(NamespaceError);
          acknowledged = false;
        }
        const { tripped } = disk;
        const where = `${title} ${failing}: ${disk.log[failing]}`;
        await writer.close();
        await disk.restart();
        if (powerCut) await disk.loseUnsynced();

        const state = await snapshot(root);
        if (acknowledged) expect(state, where).toEqual(after);
        else expect([before, after], where).toContainEqual(state);
        const isAfter = JSON.stringify(state) === JSON.stringify(after);
        seen[isAfter ? "after" : "before"]++;
        const next = new DirectoryNamespace({ root, durability: "none" });
        if (!isAfter) await run(next);
        expect(await stateOf(next), where).toEqual(after);
        await next.close();
        if (failing % (5 * STRIDE) === index % STRIDE) await expectReference(root, where);
        await disk.dispose();
        await rm(dirname(root), { recursive: true });
        if (!tripped) {
          expect(acknowledged).toBe(true);
          break;
        }
      }
      expect(seen.before, title).toBeGreaterThan(0);
      expect(seen.after, title).toBeGreaterThan(0);
    }
  });
});

/** The reference sees the refs that we see. */
async function expectReference(root: string, where: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const { tags } = await ns.listTableTags({ id });
  expect(Object.keys(await reference.listTags(root, "t")).sort(), where).toEqual(Object.keys(tags));
  await ns.close();
}
