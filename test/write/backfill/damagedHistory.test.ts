/** Tables with malformed transactions, in which the history of computed columns is looked up. */

import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DirectoryNamespace } from "tiltyard";
import { expect } from "vitest";
import { Transaction } from "../../../src/format/table.js";
import { decodeManifestFile } from "../../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { manifestPath } from "../../../src/table/versions/paths.js";
import { it } from "../../support/fixtures.js";

const ID = { id: ["t"] };

it("all values are stale in a version that claims to restore itself", async ({ root, open }) => {
  const namespace = open({ workers: 0 });
  await namespace.createTable(ID, [{ x: 1 }, { x: 2 }]);
  await namespace.alterTableAddColumns({ ...ID, newColumns: [{ name: "doubled", computed: "x * 2" }] });
  await namespace.waitForJob(await namespace.alterTableBackfillColumns({ ...ID, column: "doubled" }));
  const { version: filled } = await namespace.describeTable(ID);
  await namespace.restoreTable({ ...ID, version: filled as number });
  const { version, location } = await namespace.describeTable(ID);
  await namespace.close();

  const path = manifestPath(location as string, version as number, "V2");
  const file = decodeManifestFile(await readFile(path), path);
  const transaction = Transaction.create({ ...file.transaction, restore: { version: version as number } });
  const changed = { ...file, manifest: file.manifest, transactionBytes: Transaction.encode(transaction) };
  await writeFile(path, Buffer.concat(encodeManifestFile(changed).chunks));
  await writeFile(join(location as string, "_tiltyard", "computed", "1.json"), "");
  await rm(join(location as string, "_computed"), { recursive: true });

  const reopened = new DirectoryNamespace({ root, durability: "none", workers: 0 });
  const { columns } = await reopened.describeComputedColumns(ID);
  expect(columns).toMatchObject([{ column: "doubled", staleRows: 2 }]);
  await reopened.close();
});
