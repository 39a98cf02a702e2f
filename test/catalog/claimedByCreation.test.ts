import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, NamespaceAlreadyExistsError } from "tiltyard";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { expect, it } from "../support/fixtures.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];
const rows = new Table({ v: vectorFromArray([1, 2], new Int32()) });
const disk = new NodeDisk({ durability: "none" });

/** Makes a table, and calls `act` between its row and its first version. */
async function createInterrupted(root: string, act: (rival: DirectoryNamespace) => Promise<unknown>) {
  const rival = new DirectoryNamespace({ root, durability: "none" });
  const versions = join(root, "t.lance", "_versions");
  const paused = interruptedDisk(
    disk,
    (verb, path) => verb === "link" && path.startsWith(versions),
    () => act(rival),
  );
  const victim = new DirectoryNamespace({ root, durability: "none", disk: paused });
  const created = await victim.createTable({ id }, rows).catch((error: unknown) => error);
  expect(paused.interrupted).toBe(true);
  return { created, rival };
}

it("a namespace cannot get the id of a root table that is being made", async () => {
  let refused: unknown;
  const { created, rival: otherRival } = await createInterrupted(await makeTempDir(), async (rival) => {
    refused = await rival.createNamespace({ id }).catch((error: unknown) => error);
  });
  expect(refused).toBeInstanceOf(NamespaceAlreadyExistsError);
  expect(created).toMatchObject({ version: 1 });
  expect(await otherRival.countTableRows({ id })).toBe(2);
  expect((await otherRival.listNamespaces()).namespaces).toEqual([]);
});

it("a namespace gets the id of a stalled creation, which then fails", async ({ root }) => {
  const { created, rival: otherRival } = await createInterrupted(root, async (rival) => {
    const longAgo = new Date(Date.now() - 3_600_000);
    for (const part of ["data", "_versions", "_transactions", ""]) {
      await utimes(join(root, "t.lance", part), longAgo, longAgo).catch(() => undefined);
    }
    await rival.createNamespace({ id }).catch((error: unknown) => error);
  });
  const { namespaces } = await otherRival.listNamespaces();
  const { tables } = await otherRival.listTables({ id: [] });
  // Exactly one of them has the id, and only its maker was told so.
  expect([...namespaces, ...tables]).toEqual(["t"]);
  expect(created instanceof Error).toBe(namespaces.length === 1);
});
