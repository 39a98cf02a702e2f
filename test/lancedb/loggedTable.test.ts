/** Settings of log-structured writes are stored as LanceDB stores them, and merges keep to their rules. */

import * as reference from "tiltyard-reference/session.js";
import { expect, it } from "vitest";
import { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import { connect } from "../../src/lancedb/connect.js";
import type { LsmWriteSpec } from "../../src/lancedb/tableTypes.js";
import { makeTempDir } from "../support/tempDir.js";

const { Bool, Field, FixedSizeList, Float32, Int64, Schema, Utf8 } = reference.arrow;
const SCHEMA = new Schema([
  new Field("id", new Int64(), false),
  new Field("s", new Utf8(), true),
  new Field("b", new Bool(), true),
  new Field("v", new FixedSizeList(2, new Field("item", new Float32(), true)), true),
]);

const SPECS: readonly LsmWriteSpec[] = [
  { specType: "bucket", column: "id", numBuckets: 4, writerConfigDefaults: { durable_write: "false" } },
  { specType: "bucket", column: "s", numBuckets: 1024, maintainedIndexes: [] },
  { specType: "identity", column: "b", maintainedIndexes: ["id_idx"] },
  { specType: "unsharded" },
];

// biome-ignore lint/suspicious/noExplicitAny: the libraries declare their classes each for itself
type Any = any;

async function bothTables() {
  const root = await makeTempDir();
  const native: Any = await reference.connect(root, { readConsistencyInterval: 0 });
  const ours = await connect(root, { readConsistencyInterval: 0 });
  const table = await native.createEmptyTable("t", SCHEMA);
  await table.add([{ id: 1n, s: "a", b: true, v: [1, 2] }]);
  await table.createIndex("id");
  await table.setUnenforcedPrimaryKey("id");
  return { native: table, ours: await ours.openTable("t"), root };
}

it("merges of a form that logs do not allow are refused in LanceDB's words", async () => {
  const { native, ours } = await bothTables();
  await ours.setLsmWriteSpec({ specType: "bucket", column: "id", numBuckets: 4 });
  const forms = [
    (table: Any) => table.mergeInsert("id").whenNotMatchedInsertAll(),
    (table: Any) => table.mergeInsert("id").whenMatchedUpdateAll(),
    (table: Any) =>
      table.mergeInsert("id").whenMatchedUpdateAll({ where: "source.b" }).whenNotMatchedInsertAll(),
  ];
  for (const form of forms) {
    const refusal = (table: Any) =>
      form(table)
        .execute([{ id: 1n, s: "a", b: true, v: [1, 2] }])
        .then(String, (error: Error) => error.message.split("\n")[0]);
    expect(await refusal(ours)).toBe(await refusal(native));
  }
  const upsert = ours.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll();
  await expect(upsert.execute([{ id: 1n }])).rejects.toThrow("log-structured writes (MemWAL) are not there");
});

it("each library reads the settings that the other stored", async () => {
  const { native, ours } = await bothTables();
  for (const spec of SPECS) {
    await ours.setLsmWriteSpec(spec);
    const stored = await native.getLsmWriteSpec();
    expect(stored).toMatchObject(spec);
    expect(await ours.getLsmWriteSpec()).toEqual(stored);
    await native.unsetLsmWriteSpec();
    await native.setLsmWriteSpec(spec);
    expect(await ours.getLsmWriteSpec()).toEqual(stored);
    await ours.unsetLsmWriteSpec();
    expect(await native.getLsmWriteSpec()).toBeUndefined();
    expect(await ours.getLsmWriteSpec()).toBeUndefined();
  }
  expect((await ours.listIndices()).map(({ name }) => name)).toEqual(["id_idx"]);
});

it.each([
  [{ specType: "bucket", column: "id", numBuckets: 0 }, /in \[1, 1024\]/],
  [{ specType: "bucket", column: "id", numBuckets: 1025 }, /in \[1, 1024\]/],
  [{ specType: "bucket", column: "none", numBuckets: 1 }, /none/],
  [{ specType: "bucket", column: "v", numBuckets: 1 }, /cannot be used as a shard key/],
  [{ specType: "bucket", column: "id" }, /requires `numBuckets`/],
  [{ specType: "identity" }, /requires `column`/],
  [{ specType: "identity", column: "v" }, /cannot be used as a shard key/],
  [{ specType: "other" }, /must be 'bucket', 'identity', or 'unsharded'/],
  [{ specType: "unsharded", maintainedIndexes: ["none"] }, /does not exist on this table/],
])("both libraries refuse %j", async (spec, sentence) => {
  const { native, ours } = await bothTables();
  await expect(ours.setLsmWriteSpec(spec as LsmWriteSpec)).rejects.toThrow(sentence);
  await expect(native.setLsmWriteSpec(spec)).rejects.toThrow();
  await expect(ours.unsetLsmWriteSpec()).rejects.toThrow("no LSM write spec is set on this table");
  expect(await ours.version()).toBe(await native.version());
});

it("a table with settings takes merges without logs, and no other change", async () => {
  const { ours } = await bothTables();
  await ours.setLsmWriteSpec({ specType: "unsharded" });
  await expect(ours.setLsmWriteSpec({ specType: "unsharded" })).rejects.toThrow("already set on this table");
  const rows = [{ id: 2n, s: "b", b: false, v: [3, 4] }];
  const insert = ours.mergeInsert("id").whenNotMatchedInsertAll();
  const refusal = /not supported: the table has an LSM write spec, and log-structured writes \(MemWAL\)/;
  await expect(insert.whenMatchedUpdateAll().execute(rows)).rejects.toThrow(refusal);
  const sentence =
    /^Failed to execute merge insert: GenericFailure, Invalid input, merge_insert: .* only the upsert form/;
  await expect(insert.execute(rows)).rejects.toThrow(sentence);
  await expect(insert.whenMatchedUpdateAll({ where: "true" }).execute(rows)).rejects.toThrow(sentence);
  await expect(ours.add(rows)).rejects.toThrow(refusal);
  await expect(ours.delete("true")).rejects.toThrow(refusal);
  expect(await insert.useLsm(false).execute(rows)).toMatchObject({ numInsertedRows: 1 });
  expect(await ours.countRows()).toBe(2);
  await expect(insert.useLsm(true).execute(rows)).rejects.toThrow(/writes no logs/);
  await expect(ours.flushLsm()).rejects.toThrow("flush_lsm is not supported on this table type");
});

it("the operation checks its members and changes nothing if it fails", async () => {
  await using namespace = new DirectoryNamespace({ root: await makeTempDir() });
  const id = ["t"];
  await namespace.createTable({ id }, [{ id: 1 }]);
  const specs: unknown[] = [
    7,
    { specType: "bucket" },
    { specType: "bucket", column: "id", numBuckets: 1.5 },
    { specType: "unsharded", maintainedIndexes: "id_idx" },
    { specType: "unsharded", writerConfigDefaults: { a: 1 } },
  ];
  for (const spec of specs) {
    await expect(namespace.configureLsmWrites({ id, spec: spec as never })).rejects.toMatchObject({
      type: "InvalidInput",
    });
  }
  await expect(namespace.configureLsmWrites({ id })).rejects.toThrow("no LSM write spec is set");
  expect(await namespace.describeTable({ id })).toMatchObject({ version: 1 });
  await namespace.table(id).configureLsmWrites({ specType: "bucket", column: "id", numBuckets: 2 });
  expect(await namespace.describeTable({ id })).toMatchObject({
    version: 2,
    lsmWriteSpec: { numBuckets: 2 },
  });
  expect(await namespace.table(id).configureLsmWrites(null)).toMatchObject({ version: 3 });
});
