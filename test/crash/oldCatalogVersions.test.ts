/**
 * Crash loop over a change of the catalog that empties old versions: assigned numbers stay taken, the newest
 * versions stay whole, and later changes empty the rest.
 */

import type { DirectoryNamespace } from "tiltyard";
import { connectNamespace } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { BACKLOG, catalogVersions, MIN_KEPT, makeHeavy, upTo } from "../support/catalogVersions.js";
import { strideOf } from "../support/effort.js";
import { interrupt, stage, WAYS, withNamespace } from "./interruptions.js";

const STRIDE = strideOf("CRASH_STRIDE", 61);

/** Versions before the change that empties the oldest {@link BACKLOG}. */
const LATEST = MIN_KEPT + BACKLOG - 1;

async function prepare(ns: DirectoryNamespace): Promise<void> {
  await makeHeavy(ns);
  // The first two versions are the empty catalog and the one made above.
  for (let version = 3; version < LATEST; version += 2) {
    await ns.createNamespace({ id: ["passing"] });
    await ns.dropNamespace({ id: ["passing"] });
  }
  await ns.createNamespace({ id: ["last"] });
}

describe("a change that empties old versions", () => {
  it.each(WAYS)("$title", async (way) => {
    const prepared = await stage((root) => withNamespace(root, prepare));
    const { root } = prepared;
    expect((await catalogVersions(root)).whole).toEqual(upTo(LATEST));
    let emptiedSome = false;
    let emptiedNone = false;
    let theirs: Awaited<ReturnType<typeof connectNamespace>>;
    const listed = async () => (await theirs.listNamespaces([])).namespaces;
    const operation = {
      stride: STRIDE,
      first: 2 * way.index,
      async setUp() {
        theirs = await connectNamespace("dir", { root });
        expect(await listed()).toEqual(["heavy", "last"]);
      },
      run: (ns: DirectoryNamespace) => ns.createNamespace({ id: ["new"] }),
    };
    await interrupt(prepared, way, operation, async ({ acknowledged, where }) => {
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
      await withNamespace(root, async (next) => {
        expect((await next.listNamespaces()).namespaces, where).toEqual([...names, "theirs"]);
        for (let step = 0; step < BACKLOG; step++) await next.createNamespace({ id: [`n${step}`] });
        const later = await catalogVersions(root);
        expect([...later.emptied, ...later.whole], where).toEqual(upTo(latest + 1 + BACKLOG));
        expect(later.whole.length, where).toBeLessThan(MIN_KEPT + BACKLOG);
        // One unpublished file of the writer may remain.
        expect(later.dataFiles, where).toBeLessThanOrEqual(later.whole.length + 1);
        expect(await listed(), where).toHaveLength(names.length + 1 + BACKLOG);
      });
      theirs.close();
    });
    expect(emptiedNone).toBe(true);
    // Emptying is not synced: a power cut restores the versions, whole.
    expect(emptiedSome).toBe(!way.powerCut);
  });
});
