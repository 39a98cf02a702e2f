/** Data that every operation reads has a maximum size: metadata of a table, and properties in the catalog. */

import { Field, Int32, makeData, RecordBatch, Schema, Struct, Table } from "apache-arrow";
import { DirectoryNamespace, InvalidInputError } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { LIMITS, lacks } from "../support/suite/diskLimits.js";
import { makeTempDir } from "../support/tempDir.js";

const MIB = 2 ** 20;
const id = ["t"];

let namespace: DirectoryNamespace;
beforeEach(async () => {
  namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
});

const rowsWith = (metadata: Map<string, string>): Table => {
  const schema = new Schema([new Field("v", new Int32(), true, metadata)]);
  const child = makeData({ type: new Int32(), length: 1, data: Int32Array.of(1) });
  const data = makeData({ type: new Struct(schema.fields), length: 1, nullCount: 0, children: [child] });
  return new Table([new RecordBatch(schema, data)]);
};

describe("metadata of a table", () => {
  const note = (mebibytes: number) => "x".repeat(mebibytes * MIB);

  it("table metadata has at most 16 MiB in all, and a refusal changes nothing", async () => {
    await namespace.createTable({ id }, rowsWith(new Map([["a", note(9)]])));
    await namespace.updateTableSchemaMetadata({ id, metadata: { b: note(6) } });
    const refused = expect.soft(
      namespace.updateFieldMetadata({ id, updates: [{ path: "v", metadata: { c: note(2) } }] }),
    );
    await refused.rejects.toThrow(/at most 16777216 bytes in all/);
    expect((await namespace.listTableVersions({ id })).versions).toHaveLength(2);
    await expect(
      namespace.createTable({ id: ["u"] }, rowsWith(new Map([["a", note(17)]]))),
    ).rejects.toBeInstanceOf(InvalidInputError);
    await expect(namespace.tableExists({ id: ["u"] })).rejects.toMatchObject({ type: "TableNotFound" });
    // Changes that shrink the metadata, and new rows, are always accepted.
    await namespace.updateFieldMetadata({ id, updates: [{ path: "v", metadata: { a: null, c: note(2) } }] });
    await namespace.insertIntoTable({ id }, rowsWith(new Map()));
    expect(await namespace.countTableRows({ id })).toBe(2);
  });
});

describe("properties", () => {
  const properties = (length: number) => ({ key: "x".repeat(length - 3) });

  it.for([
    [
      "createNamespace",
      (length: number) => namespace.createNamespace({ id: ["n"], properties: properties(length) }),
    ],
    ["declareTable", (length: number) => namespace.declareTable({ id, properties: properties(length) })],
    [
      "createTable",
      (length: number) => namespace.createTable({ id, properties: properties(length) }, rowsWith(new Map())),
    ],
    [
      "batchCommitTables",
      (length: number) =>
        namespace.batchCommitTables({
          operations: [{ declareTable: { id, properties: properties(length) } }],
        }),
    ],
  ] as const)("that %s is given are at most 524,288 characters", async ([name, call], { skip }) => {
    skip(name === "batchCommitTables" && lacks("rename"), LIMITS.rename);
    await expect(call(524_289)).rejects.toThrow(/at most 524288 characters/);
    await call(524_288);
  });
});
