/** Calls through a client and its server, beyond what the class's suites show. */

import { tableFromArrays } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { serve } from "../support/clientNamespace.js";
import { describe, expect, it } from "../support/fixtures.js";

const handlerOf = (engine: DirectoryNamespace) =>
  createRestHandler(engine, { auth: { anonymous: true }, allowedHosts: ["*"] });

describe("a client", () => {
  it("creates a table, adds rows and reads them", async ({ ns }) => {
    const client = serve(ns);
    await client.createTable({ id: "t" }, [{ id: 1, name: "ash" }]);
    await client.insertIntoTable({ id: ["t"] }, [{ id: 2, name: "elm" }]);
    expect(await client.table("t").scan().toArray()).toEqual([
      { id: 1, name: "ash" },
      { id: 2, name: "elm" },
    ]);
    await client.close();
  });

  it("streams a body beyond 8 MiB, and cuts the batches of a result", async ({ ns }) => {
    const client = serve(ns);
    const batch = () => tableFromArrays({ id: new Float64Array(500_000).fill(1) }).batches[0];
    const progress: number[] = [];
    async function* batches() {
      for (let index = 0; index < 4; index++) yield batch();
    }
    const onProgress = ({ done }: { done: number }) => void progress.push(done);
    const created = await client.createTable({ id: "t", onProgress }, batches());
    expect(created.numInsertedRows).toBe(2_000_000);
    expect(progress).toEqual([500_000, 1_000_000, 1_500_000, 2_000_000]);
    const result = await client.queryTable({ id: "t", batchSize: 300_000 });
    const sizes: number[] = [];
    for await (const { numRows } of result) sizes.push(numRows);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(300_000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(2_000_000);
    await client.close();
  });

  it("asks again for each further read of a result", async ({ ns }) => {
    const client = serve(ns);
    await client.createTable({ id: "t" }, [{ id: 1 }]);
    const result = await client.queryTable({ id: "t" });
    expect(await result.toArray()).toEqual([{ id: 1 }]);
    await ns.insertIntoTable({ id: "t" }, [{ id: 2 }]);
    expect(await result.toArray()).toEqual([{ id: 1 }, { id: 2 }]);
    await ns.alterTableAddColumns({ id: "t", newColumns: [{ name: "n", expression: "id" }] });
    await expect(result.toArray()).rejects.toThrow("the columns of the table have changed");
    await client.close();
  });

  it("sends the settings of a new table, and nothing else of its storage options", async ({ ns }) => {
    const client = serve(ns);
    const storageOptions = { new_table_enable_stable_row_ids: "true", aws_secret_access_key: "x" };
    await client.createTable({ id: "t", storageOptions }, [{ id: 1 }]);
    const columns = ["_row_created_at_version"];
    expect(await client.table("t").scan({ columns }).toArray()).toEqual([{ _row_created_at_version: 1n }]);
    await client.close();
  });

  it("chooses the kind of an index as the engine does", async ({ ns }) => {
    const client = serve(ns);
    const rows = Array.from({ length: 300 }, (_, id) => ({ id, vector: [id, 1] }));
    await client.createTable({ id: "t" }, rows);
    for (const column of ["id", "vector"]) {
      const { jobId } = await client.createTableIndex({ id: "t", column } as never);
      await client.waitForJob({ jobId });
    }
    const { indexes } = await client.listTableIndices({ id: "t" });
    expect(indexes.map(({ indexType }) => indexType).sort()).toEqual(["BTREE", "IVF_PQ"]);
    await client.close();
  });

  it("joins a watch again after the server has closed the connection", async ({ ns }) => {
    let connections = 0;
    const client = serve(ns, {
      fetch: async (url, init) => {
        const response = await local(url, init);
        if (!url.includes("/watch") || ++connections > 1) return response;
        // The first connection ends before any version.
        await response.body?.cancel();
        return new Response(": connected\n\n", { headers: { "content-type": "text/event-stream" } });
      },
    });
    const local = (url: string, init: RequestInit) => handlerOf(client.engine)(new Request(url, init));
    await client.createTable({ id: "t" }, [{ id: 1 }]);
    const versions = (await client.watchTable({ id: "t" }))[Symbol.asyncIterator]();
    const next = versions.next();
    await client.insertIntoTable({ id: "t" }, [{ id: 2 }]);
    expect((await next).value).toMatchObject({ version: 2, operation: "Append" });
    await versions.return?.();
    expect(connections).toBeGreaterThan(1);
    await client.close();
  });
});
