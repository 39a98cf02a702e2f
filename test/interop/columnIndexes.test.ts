/** Indexes of the reference while we change columns: drop removes them, cast refuses, and others stay. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Schema, tableToIPC, Utf8 } from "apache-arrow";
import { InvalidInputError } from "tiltyard";
import { connect, Index } from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { indicesOf } from "../../src/table/versions/versionContent.js";
import { fieldOf } from "../support/arrowColumns.js";
import { type Change, expectAlike, latestManifest, rowsOf, Side } from "../support/columnChanges.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { FILE_VERSIONS } from "../support/interop.js";
import { reference } from "../support/reference.js";

const SCHEMA = new Schema([
  fieldOf("id", new Int32(), false),
  fieldOf("n", new Int32()),
  fieldOf("s", new Utf8()),
  fieldOf("k", new Int32()),
]);

const root = sharedDirectory();
const namespace = sharedNamespace({ root });

/** Two copies of a table with indexes on all columns, and a fragment outside of them. */
async function twins(version: string): Promise<[Side, Side]> {
  const name = `t${version.replace(".", "_")}`;
  const connection = await connect(root);
  await reference.createTable(root, name, tableToIPC(rowsOf(SCHEMA, 0, 40, version)), {
    dataStorageVersion: version,
  });
  const table = await connection.openTable(name);
  for (const column of ["id", "n", "k"]) await table.createIndex(column);
  await table.createIndex("s", { config: Index.bitmap() });
  connection.close();
  await reference.appendTable(root, name, tableToIPC(rowsOf(SCHEMA, 40, 9, version)));
  await cp(join(root, `${name}.lance`), join(root, `${name}b.lance`), { recursive: true });
  return [new Side(namespace, root, name), new Side(namespace, root, `${name}b`)];
}

const indexesOf = async (side: Side) =>
  indicesOf(await latestManifest(side)).map(({ name, fields, fragmentBitmap, datasetVersion }) => ({
    name,
    fields,
    fragmentBitmap,
    datasetVersion,
  }));

const script: [change: Change, indexes: string[]][] = [
  [{ metadata: [{ path: "n", metadata: { a: "1" } }] }, ["id_idx", "n_idx", "k_idx", "s_idx"]],
  [{ add: { c: "7" } }, ["id_idx", "n_idx", "k_idx", "s_idx"]],
  [{ alter: [{ path: "n", rename: "m" }] }, ["id_idx", "n_idx", "k_idx", "s_idx"]],
  [{ alter: [{ path: "id", nullable: true }] }, ["id_idx", "n_idx", "k_idx", "s_idx"]],
  [{ alter: [{ path: "c", dataType: { type: "int16" } }] }, ["id_idx", "n_idx", "k_idx", "s_idx"]],
  [{ drop: ["s", "k"] }, ["id_idx", "n_idx"]],
  [{ restore: 6 }, ["id_idx", "n_idx", "k_idx", "s_idx"]],
];

it.each(FILE_VERSIONS)("in %s", async (version) => {
  const [ours, theirs] = await twins(version);
  const cast: Change = { alter: [{ path: "k", dataType: { type: "int64" } }] };
  await expect(theirs.byThem(cast)).rejects.toThrow("k_idx");
  await expect(ours.byUs(cast)).rejects.toThrow("k_idx");
  await expect(ours.byUs(cast)).rejects.toThrow(InvalidInputError);
  for (const [index, [change, names]] of script.entries()) {
    const what = `change ${index}`;
    expect(await ours.byUs(change), what).toBe(await theirs.byThem(change));
    expect((await indexesOf(ours)).map(({ name }) => name).sort(), what).toEqual([...names].sort());
    expect(await indexesOf(ours), what).toEqual(await indexesOf(theirs));
    await expectAlike(ours, theirs, what);
    const connection = await connect(root);
    const table = await connection.openTable(ours.name);
    expect((await table.listIndices()).map(({ name }) => name).sort(), what).toEqual([...names].sort());
    expect(await table.countRows("id >= 30 and id < 45"), what).toBe(15);
    connection.close();
  }
});
