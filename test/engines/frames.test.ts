/** Polars, DataFusion and Daft: engines that work on frames and read Lance tables by pylance. */

import { expect, it } from "vitest";
import { describeFrames, expectSame, pathOf, typesOf } from "./support/frameSuite.js";
import { API_KEY, startHandler } from "./support/handler.js";
import { makeSampleTable, sampleRows } from "./support/sampleTable.js";

describeFrames(
  {
    name: "Polars 2.1.0",
    environment: "dataframes",
    module: "polars_frames",
    refused: { decimal256: /expected a polars\.Schema; got Schema/ },
  },
  (pair) => {
    it("appends a fragment for each frame in one commit", async () => {
      // Polars has large lists only, which a table of others refuses.
      const columns = ["id", "n", "kind", "s"];
      await pair.namespace.createTable({ id: ["appended"] }, sampleRows(0).select(columns));
      const table = pair.namespace.table(["appended"]);
      const [{ version }, rows] = [await table.describe(), await table.countRows()];
      const frames = [sampleRows(1000, 40), sampleRows(1040, 30)].map((rows) => rows.select(columns));
      await pair.python.call("fragments_written", pathOf(pair, "appended"), frames);
      expect((await table.describe()).version).toBe((version as number) + 1);
      expect(await table.countRows()).toBe(rows + 70);
      expect(await table.countRows("id >= 1040")).toBe(30);
    });
  },
);

describeFrames(
  { name: "DataFusion 54.1.0", environment: "dataframes", module: "datafusion_frames", refused: {} },
  (pair) => {
    it("asks our indexes", async () => {
      await makeSampleTable(pair.namespace, "indexed");
      expect(await pair.python.call("plan", pathOf(pair, "indexed"), "id = 77")).toContain("ScalarIndexExec");
    });

    it("inserts into a table", async (context) => {
      await makeSampleTable(pair.namespace, "inserted");
      const failure = await pair.python.call("insert", pathOf(pair, "inserted")).then(
        () => undefined,
        (error: Error) => error.message.split("\n", 1)[0],
      );
      expect(failure).toMatch(/not implemented|not supported/i);
      context.skip(failure);
    });
  },
);

describeFrames(
  {
    name: "Daft 0.7.26",
    environment: "daft",
    module: "daft_frames",
    refused: {
      time32Second: /Unsupported Arrow DataType: Time32\(Second\)/,
      time32Millisecond: /Unsupported Arrow DataType: Time32\(Millisecond\)/,
      decimal256: /Unsupported Arrow DataType: Decimal256/,
    },
  },
  (pair) => {
    it("reads our table by REST with an API key, and writes one that we read", async () => {
      await makeSampleTable(pair.namespace, "served");
      await using handler = await startHandler(pair.root, { managedVersioning: true });
      const properties = { uri: handler.url, "headers.x-api-key": API_KEY };
      const rows = await pair.namespace.table(["served"]).scan().toArrow();
      expectSame(rows, await pair.python.call("rows_by_rest", properties, ["served"], typesOf(rows.schema)));
      const columns = ["id", "n", "kind", "s"];
      for (const [mode, first] of [
        ["create", 0],
        ["append", 50],
      ] as const) {
        const written = sampleRows(first, 50).select(columns);
        await pair.python.call("write_by_rest", properties, ["rested"], written, mode);
      }
      const written = await pair.namespace.table(["rested"]).scan().toArrow();
      const like = typesOf(sampleRows(0).select(columns).schema);
      expectSame(sampleRows(0, 100).select(columns), await pair.python.call("conformed", written, like));
    });

    it("is refused with a wrong API key", async () => {
      await makeSampleTable(pair.namespace, "guarded");
      await using handler = await startHandler(pair.root);
      const properties = { uri: handler.url, "headers.x-api-key": "wrong" };
      const like = typesOf(sampleRows(0).schema);
      await expect(pair.python.call("rows_by_rest", properties, ["guarded"], like)).rejects.toThrow(
        "Unauthenticated",
      );
    });
  },
);
