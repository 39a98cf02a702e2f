/** Rows of one copy of apache-arrow become rows of another: the reference's workspace has a release of its own. */

import { createRequire } from "node:module";
import { join } from "node:path";
import { RecordBatch, Schema, Table, tableToIPC, Vector } from "apache-arrow";
import { expect, it } from "vitest";
import { programRows, type Rows } from "../../src/lancedb/programRows.js";
import { CHECKOUT } from "../support/packedProject.js";

const foreign = createRequire(join(CHECKOUT, "test/reference/index.js"))("apache-arrow");

const table = foreign.tableFromJSON([
  { id: 1, text: "a", vector: [0.5, 1], tags: { one: true } },
  { id: 2, text: null, vector: [], tags: { one: false } },
]);
const foreignRows = {
  schema: table.schema,
  toArrow: async () => table,
  async *[Symbol.asyncIterator]() {
    yield* table.batches;
  },
} as unknown as Rows;

it("rows of a foreign copy have the classes of this one, and the same values", async () => {
  const rows = programRows(foreignRows);
  expect(rows.schema).toBeInstanceOf(Schema);
  const converted = await rows.toArrow();
  expect(converted).toBeInstanceOf(Table);
  expect(converted.getChild("vector")?.get(0)).toBeInstanceOf(Vector);
  expect(JSON.stringify(converted.toArray())).toBe(JSON.stringify(table.toArray()));
  expect(tableToIPC(converted).length).toBeGreaterThan(0);
  for await (const batch of rows) expect(batch).toBeInstanceOf(RecordBatch);
});

it("rows of this copy stay as they are", async () => {
  const rows = programRows(foreignRows);
  expect(programRows(rows)).toBe(rows);
});
