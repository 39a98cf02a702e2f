/** Copies of a table from a private disk, whose versions have no transaction files and no hint, in the reference. */

import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { nativeModule } from "../support/nativeLancedb.js";
import { privateDisk } from "../support/privateDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

/** The part of the native package that opens tables and appends to them. */
interface Native {
  connect(uri: string): Promise<{
    openTable(name: string): Promise<{ add(rows: readonly object[]): Promise<unknown> }>;
  }>;
}

it("the reference reads a table of a private disk, and appends to it from an older version", async () => {
  const [root, copy] = [await makeTempDir(), await makeTempDir()];
  const id = ["t"];
  const ns = new DirectoryNamespace({ root, disk: privateDisk() });
  await ns.createTable({ id }, rowsOf(0));
  await ns.insertIntoTable({ id }, rowsOf(1));
  await cp(root, copy, { recursive: true });
  const connection = await nativeModule<Native>("index").connect(copy);
  const stale = await connection.openTable("t");
  await ns.insertIntoTable({ id }, rowsOf(2));
  await ns.close();
  await cp(root, copy, { recursive: true });
  expect(existsSync(join(copy, "t.lance", "_transactions"))).toBe(false);
  expect(existsSync(join(copy, "t.lance", "_versions", "latest_version_hint.json"))).toBe(false);
  expect(await reference.countRows(copy, "t")).toBe(3);
  await stale.add([{ v: 3 }]);
  const local = new DirectoryNamespace({ root: copy });
  expect(valuesOf(await local.table(id).scan().toArrow()).sort()).toEqual([0, 1, 2, 3]);
  await local.insertIntoTable({ id }, rowsOf(4));
  expect(await reference.countRows(copy, "t")).toBe(5);
  await local.close();
});
