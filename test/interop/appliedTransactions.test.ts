/** Each transaction of the reference, applied to the version before it, gives the reference's manifest. */

import { join } from "node:path";
import { type Connection, connect, Index, type Table } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { DataFragment } from "../../src/format/table.js";
import { applyTransaction } from "../../src/table/commit/apply.js";
import { coverageOf } from "../../src/table/commit/indexCoverage.js";
import { operationOf, readTransaction } from "../../src/table/commit/transaction.js";
import type { ManifestFile } from "../../src/table/versions/manifest.js";
import { ManifestCache } from "../../src/table/versions/manifestCache.js";
import { indicesOf, type VersionContent } from "../../src/table/versions/versionContent.js";
import { listVersions } from "../../src/table/versions/versions.js";
import { makeTempDir } from "../support/tempDir.js";
import { disk } from "../table/support.js";

const rows = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: from + index,
    name: `row ${from + index}`,
    vector: [from, index, 1, 2],
  }));

const HISTORIES: Record<string, (table: Table) => Promise<unknown>> = {
  deletions: async (table) => {
    await table.delete("id < 5");
    await table.delete("id >= 20 AND id < 40");
    await table.delete("false");
  },
  updates: async (table) => {
    await table.update({ where: "id < 3", values: { name: "changed" } });
    await table.update({ where: "false", values: { name: "never" } });
    const upsert = table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll();
    await upsert.execute(rows(55, 10));
  },
  indexes: async (table) => {
    await table.createIndex("id");
    await table.createIndex("name", { config: Index.bitmap() });
    await table.add(rows(60, 10));
    await table.update({ where: "id < 3", values: { name: "changed" } });
    await table.delete("id = 30");
    await table.createIndex("id", { replace: true });
    await table.dropIndex("name_idx");
  },
  columns: async (table) => {
    await table.createIndex("name");
    await table.addColumns([{ name: "twice", valueSql: "id * 2" }]);
    await table.addColumns([{ name: "empty", valueSql: "CAST(NULL AS STRING)" }]);
    await table.alterColumns([{ path: "twice", rename: "double" }]);
    await table.alterColumns([{ path: "id", dataType: "float" }]);
    await table.dropColumns(["name"]);
    await table.dropColumns(["double", "empty"]);
  },
  metadata: async (table) => {
    await table.updateFieldMetadata([{ path: "id", metadata: { a: "1", b: "2" } }]);
    await table.updateFieldMetadata([{ path: "id", metadata: { a: null, c: "3" } }]);
    await table.updateFieldMetadata([{ path: "id", metadata: { z: "0" }, replace: true }]);
    await table.alterColumns([{ path: "name", nullable: false }]);
    await table.setUnenforcedPrimaryKey("name");
  },
  compaction: async (table) => {
    await table.delete("id = 25");
    await table.optimize();
    await table.add(rows(60, 10));
    await table.createIndex("id");
    await table.add(rows(70, 10));
    await table.optimize();
  },
  "overwrites and restores": async (table) => {
    await table.createIndex("id");
    await table.add(rows(0, 5), { mode: "overwrite" });
    await table.checkout(2);
    await table.restore();
  },
};

/** Contents of a version without its time, writer and transaction. */
function contentOf(content: VersionContent) {
  const { manifest } = content;
  return {
    fields: manifest.fields,
    // Encoded, because the reference leaves out zeros.
    fragments: manifest.fragments.map((fragment) => DataFragment.encode(fragment)),
    maxFragmentId: manifest.maxFragmentId,
    schemaMetadata: manifest.schemaMetadata,
    config: manifest.config,
    tableMetadata: manifest.tableMetadata,
    nextRowId: manifest.nextRowId,
    readerFeatureFlags: manifest.readerFeatureFlags,
    writerFeatureFlags: manifest.writerFeatureFlags,
    indices: indicesOf(content)
      .map((index) => ({ ...index, fragmentBitmap: coverageOf(index) }))
      .sort((a, b) => a.name.localeCompare(b.name)),
  };
}

async function applyAll(tableRoot: string): Promise<Map<string, number>> {
  const cache = new ManifestCache(2 ** 24);
  const entries = (await listVersions({ disk, root: tableRoot })).sort((a, b) => a.version - b.version);
  const files = await Promise.all(entries.map((entry) => cache.read(disk, entry.path)));
  const kinds = new Map<string, number>();
  for (let index = 1; index < files.length; index++) {
    const [base, next] = [files[index - 1] as ManifestFile, files[index] as ManifestFile];
    const transaction = await readTransaction({ disk, root: tableRoot }, next);
    if (transaction === null) throw new Error(`version ${next.manifest.version} has no transaction`);
    const operation = operationOf(transaction);
    const restored =
      operation.kind === "restore"
        ? files.find((file) => file?.manifest.version === operation.value.version)
        : undefined;
    const applied = applyTransaction(base, transaction, {
      version: next.manifest.version,
      nowNs: 0n,
      schemaMetadata: next.manifest.schemaMetadata,
      restored: restored ?? undefined,
    });
    expect(contentOf(applied), `version ${next.manifest.version}, ${operation.kind}`).toEqual(
      contentOf(next),
    );
    kinds.set(operation.kind, (kinds.get(operation.kind) ?? 0) + 1);
  }
  return kinds;
}

async function makeTable(connection: Connection, stableRowIds: boolean): Promise<Table> {
  const storageOptions = stableRowIds ? { new_table_enable_stable_row_ids: "true" } : undefined;
  const table = await connection.createTable("t", rows(0, 20), { storageOptions });
  await table.add(rows(20, 20));
  await table.add(rows(40, 20));
  return table;
}

describe.each(Object.entries(HISTORIES))("%s", (_name, change) => {
  it.each([false, true])("give the reference's versions, stable row ids: %s", async (stableRowIds) => {
    const uri = await makeTempDir();
    const connection = await connect(uri);
    const table = await makeTable(connection, stableRowIds);
    await change(table);
    connection.close();
    const kinds = await applyAll(join(uri, "t.lance"));
    expect([...kinds.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(3);
  });
});
