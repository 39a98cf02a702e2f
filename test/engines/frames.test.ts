/** Polars, DataFusion and Daft: engines that work on frames and read Lance tables by pylance. */

import { expect, it } from "vitest";
import { describeFrames, pathOf } from "./support/frameSuite.js";
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

describeFrames({
  name: "Daft 0.7.26",
  environment: "daft",
  module: "daft_frames",
  refused: {
    time32Second: /Unsupported Arrow DataType: Time32\(Second\)/,
    time32Millisecond: /Unsupported Arrow DataType: Time32\(Millisecond\)/,
    decimal256: /Unsupported Arrow DataType: Decimal256/,
  },
});
