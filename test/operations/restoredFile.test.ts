/** A data file is restored from a backup while the table is open. */

import { copyFile, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeVector, Table } from "apache-arrow";
import { expect, vi } from "vitest";
import { it } from "../support/fixtures.js";

it("takeRows reads a replaced data file shortly after, without a new version", async ({ root, ns }) => {
  const values = Int32Array.from({ length: 1000 }, (_, row) => (row * 7919) % 1009);
  await ns.createTable({ id: ["t"] }, new Table({ v: makeVector(values) }));
  const data = join(root, "t.lance", "data");
  const [name] = await readdir(data);
  const [file, backup] = [join(data, name), join(root, "backup")];
  await copyFile(file, backup);
  // Corrupts the first page.
  const bytes = await readFile(file);
  await writeFile(file, bytes.fill(0xff, 0, 256));
  const readRow = async () =>
    (await ns.takeRows({ id: ["t"], rowOffsets: [1] })).getChild("v")?.get(0) as unknown;
  const damaged = await readRow().catch(() => "refused");
  expect(damaged).not.toBe(values[1]);
  expect(await readRow().catch(() => "refused")).toBe(damaged);
  await rename(backup, file);
  await vi.waitFor(async () => expect(await readRow()).toBe(values[1]), 10_000);
});
