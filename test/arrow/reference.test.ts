/** IPC bytes that the reference compresses by its own encoders. */

import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { tableFromArrays, tableFromIPC, tableToIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { makeBatch, toTable } from "../../src/arrow/exchange/batch.js";
import { openInput } from "../../src/arrow/exchange/input.js";
import { readIpc } from "../../src/arrow/exchange/ipc.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const requireReference = createRequire(new URL("../reference/package.json", import.meta.url));

describe("bytes of the reference", () => {
  it("ZSTD: deletion files", async () => {
    const uri = await makeTempDir();
    const ids = Int32Array.from({ length: 20_000 }, (_, index) => index);
    await reference.createTable(uri, "t", tableToIPC(tableFromArrays({ id: ids })));
    await reference.deleteRows(uri, "t", "id % 97 = 3");
    const directory = path.join(uri, "t.lance", "_deletions");
    const [name] = await readdir(directory);
    expect(name).toMatch(/\.arrow$/);
    const { schema, batches } = readIpc(await readFile(path.join(directory, name)));
    expect(schema.names).toEqual(["row_id"]);
    expect(String(schema.fields[0].type)).toBe("Uint32");
    const rowIds = batches.flatMap((batch) => [...(batch.getChildAt(0)?.toArray() ?? [])]);
    expect(rowIds.sort((a, b) => a - b)).toEqual([...ids].filter((id) => id % 97 === 3));
  });

  it("LZ4: rows that its remote client sends", async () => {
    const { connect } = requireReference("@lancedb/lancedb") as {
      connect(options: object): Promise<{ createTable(name: string, rows: unknown): Promise<unknown> }>;
    };
    const { tableFromIPC: tableFromIPC18 } = requireReference(
      "apache-arrow",
    ) as typeof import("apache-arrow");
    const rows = tableFromArrays({
      id: Int32Array.from({ length: 5000 }, (_, index) => index % 7),
      price: Float64Array.from({ length: 5000 }, (_, index) => index / 3),
      text: Array.from({ length: 5000 }, (_, index) => (index % 11 === 0 ? null : `row ${index % 13}`)),
    });
    const bodies: Buffer[] = [];
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (request.url?.includes("/create")) bodies.push(Buffer.concat(chunks));
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ table: "t", version: 1, schema: { fields: [] } }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const db = await connect({ uri: "db://test", apiKey: "k", hostOverride: `http://127.0.0.1:${port}` });
      await db.createTable("t", tableFromIPC18(tableToIPC(rows)));
    } finally {
      server.closeAllConnections();
      server.close();
    }
    expect(bodies.length).toBe(1);
    // Uncompressed, the numbers alone would take more.
    expect(bodies[0].length).toBeLessThan(5000 * 12);
    const input = await openInput(bodies[0]);
    const batches = [];
    for await (const { columns, rowCount } of input.batches)
      batches.push(makeBatch(input.schema, columns, rowCount));
    const received = toTable(input.schema, batches);
    const plain = (table: typeof received) => table.toArray().map((row) => ({ ...row }));
    expect(plain(received)).toEqual(plain(tableFromIPC(tableToIPC(rows))));
  });
});
