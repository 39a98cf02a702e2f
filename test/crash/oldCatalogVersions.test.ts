/**
 * Crash loop over a change of the catalog that empties old versions. Whatever disk call fails, and however,
 * every assigned number stays taken, and the newest versions stay whole. An open connection of the reference
 * loses nothing, and later changes empty the remaining versions.
 *
 * `npm run soak` covers more of the calls than `npm test`; `npm test` tries each kind of failure on some
 * calls.
 */

import { cp, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { connectNamespace } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { BACKLOG, catalogVersions, MIN_KEPT, makeHeavy, upTo } from "../support/catalogVersions.js";
import { strideOf } from "../support/effort.js";
import { type FaultMode, FaultyDisk } from "../support/faultyDisk.js";
import { makeTempDir } from "../support/tempDir.js";

const STRIDE = strideOf("CRASH_STRIDE", 61);

/** Versions before the change that empties the oldest {@link BACKLOG}. */
const LATEST = MIN_KEPT + BACKLOG - 1;

async function prepare(root: string): Promise<void> {
  const ns = new DirectoryNamespace({ root, durability: "none" });
  await makeHeavy(ns);
  // The first two versions are the empty catalog and the one made above.
  for (let version = 3; version < LATEST; version += 2) {
    await ns.createNamespace({ id: ["passing"] });
    await ns.dropNamespace({ id: ["passing"] });
  }
  await ns.createNamespace({ id: ["last"] });
  await ns.close();
}

const ways: { title: string; mode: FaultMode; dead: boolean; powerCut: boolean }[] = [
  { title: "a call fails", mode: "before", dead: false, powerCut: false },
  { title: "a call reports failure after its effect", mode: "after", dead: false, powerCut: false },
  { title: "the process dies", mode: "short", dead: true, powerCut: false },
  { title: "the power goes before a call", mode: "before", dead: true, powerCut: true },
  { title: "the power goes after a call", mode: "after", dead: true, powerCut: true },
];

describe("a change that empties old versions", () => {
  it.each(ways.map((way, index) => ({ ...way, index })))("$title", async ({
    mode,
    dead,
    powerCut,
    index,
  }) => {
    const base = await makeTempDir();
    const template = join(base, "template");
    await prepare(template);
    expect((await catalogVersions(template)).whole).toEqual(upTo(LATEST));
    let emptiedSome = false;
    let emptiedNone = false;
    for (let failing = (2 * index) % STRIDE; ; failing += STRIDE) {
      const root = join(base, "inner", "root");
      await mkdir(dirname(root));
      await cp(template, root, { recursive: true });
      const theirs = await connectNamespace("dir", { root });
      const listed = async () => (await theirs.listNamespaces([])).namespaces;
      expect(await listed()).toEqual(["heavy", "last"]);

      const disk = new FaultyDisk(new NodeDisk({ durability: "none" }), { root: dirname(root) });
      disk.failAt(failing, mode, { dead });
      const writer = new DirectoryNamespace({ root, disk });
      const acknowledged = await writer.createNamespace({ id: ["new"] }).then(
        () => true,
        (error: unknown) => {
          expect(error, String(error)).toBeInstanceOf(NamespaceError);
          return false;
        },
      );
      const { tripped } = disk;
      const where = `${failing}: ${disk.log[failing]}`;
      await writer.close();
      await disk.restart();
      if (powerCut) await disk.loseUnsynced();

      const { emptied, whole } = await catalogVersions(root);
      const latest = whole[whole.length - 1];
      expect([LATEST, LATEST + 1], where).toContain(latest);
      if (acknowledged) expect(latest, where).toBe(LATEST + 1);
      expect([...emptied, ...whole], where).toEqual(upTo(latest));
      expect(whole.length, where).toBeGreaterThanOrEqual(MIN_KEPT);
      if (emptied.length > 0) emptiedSome = true;
      else emptiedNone = true;

      // Its version's successor may be emptied, or lost in the power cut.
      const names = latest > LATEST ? ["heavy", "last", "new"] : ["heavy", "last"];
      expect(await listed(), where).toEqual(names);
      await theirs.createNamespace(["theirs"]);
      const next = new DirectoryNamespace({ root, durability: "none" });
      expect((await next.listNamespaces()).namespaces, where).toEqual([...names, "theirs"]);
      for (let step = 0; step < BACKLOG; step++) await next.createNamespace({ id: [`n${step}`] });
      const later = await catalogVersions(root);
      expect([...later.emptied, ...later.whole], where).toEqual(upTo(latest + 1 + BACKLOG));
      expect(later.whole.length, where).toBeLessThan(MIN_KEPT + BACKLOG);
      // One unpublished file of the writer may remain.
      expect(later.dataFiles, where).toBeLessThanOrEqual(later.whole.length + 1);
      expect(await listed(), where).toHaveLength(names.length + 1 + BACKLOG);
      await next.close();
      theirs.close();
      await disk.dispose();
      await rm(dirname(root), { recursive: true });
      if (!tripped) {
        expect(acknowledged).toBe(true);
        break;
      }
    }
    expect(emptiedNone).toBe(true);
    // Emptying is not synced: a power cut restores the versions, whole.
    expect(emptiedSome).toBe(!powerCut);
  });
});
