import { Binary, LargeBinary, Table, vectorFromArray } from "apache-arrow";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareTables } from "../support/compareTables.js";
import {
  allTypesSpec,
  makeTable,
  NULL_PATTERNS,
  SHAPES,
  type TYPE_NAMES,
  tableSpecs,
} from "../support/generators.js";
import { fileToTable, pageKinds, tableToFile } from "./dataFiles.js";

const VERSIONS = ["2.1", "2.2"] as const;

describe.each(VERSIONS)("data files of version %s", (version) => {
  for (const shape of SHAPES) {
    for (const nulls of NULL_PATTERNS) {
      it(`keep ${shape} values of every type, nulls: ${nulls}`, async () => {
        for (const rowCount of [1, 1031]) {
          const table = makeTable(allTypesSpec(rowCount, nulls, { shape, seed: rowCount }));
          compareTables(table, await fileToTable(await tableToFile(table, version), table.schema));
        }
      });
    }
  }

  it("keep rows that come in many batches", async () => {
    for (const nulls of NULL_PATTERNS) {
      const table = makeTable(allTypesSpec(2000, nulls, { batchRows: 333 }));
      compareTables(table, await fileToTable(await tableToFile(table, version), table.schema));
    }
  });

  it("keep long values that differ", async () => {
    const values = Array.from({ length: 2000 }, (_, row) =>
      row % 7 === 3 ? null : Buffer.from(String(row).repeat(row % 300)),
    );
    for (const type of [new Binary(), new LargeBinary()]) {
      for (const some of [values, values.filter((value) => value !== null)]) {
        const table = new Table({ c: vectorFromArray(some, type) });
        const bytes = await tableToFile(table, version);
        expect(await pageKinds(bytes, 0)).toEqual(["fullZip/variable"]);
        compareTables(table, await fileToTable(bytes, table.schema));
      }
    }
  });

  it("keep an empty table", async () => {
    const table = makeTable(allTypesSpec(0, "some"));
    const read = await fileToTable(await tableToFile(table, version), table.schema);
    expect(read.numRows).toBe(0);
  });

  it("keep any table", async () => {
    await fc.assert(
      fc.asyncProperty(tableSpecs(), async (spec) => {
        const table = makeTable(spec);
        if (table.numRows === 0) return;
        compareTables(table, await fileToTable(await tableToFile(table, version), table.schema));
      }),
      { numRuns: 40 },
    );
  });
});

describe("the choice of a page's layout", () => {
  const kindOf = async (
    type: (typeof TYPE_NAMES)[number],
    shape: (typeof SHAPES)[number],
    nulls: "none" | "some" | "all",
    version: "2.1" | "2.2" = "2.2",
  ) => {
    const table = makeTable({ columns: [{ name: "c", type, shape, nulls }], rowCount: 5000, seed: 3 });
    return (await pageKinds(await tableToFile(table, version), 0)).join();
  };

  it("follows the values", async () => {
    expect(await kindOf("float64", "random", "none")).toBe("fullZip/flat");
    // Half the rows are null and repeat the value before.
    expect(await kindOf("float64", "random", "some")).toBe("miniBlock/rle");
    expect(await kindOf("int32", "runs", "none")).toBe("miniBlock/rle");
    expect(await kindOf("int64", "runs", "none")).toBe("miniBlock/rle+dictionary");
    expect(await kindOf("int64", "lowCardinality", "none")).toBe("miniBlock/inlineBitpacking+dictionary");
    expect(await kindOf("decimal128", "lowCardinality", "some", "2.1")).toContain("+dictionary");
    expect(await kindOf("fixedSizeBinary200", "constant", "some")).toBe("constant");
    expect(await kindOf("utf8", "sorted", "none")).toBe("miniBlock/fsst");
    expect(await kindOf("int64", "sorted", "none")).toBe("miniBlock/inlineBitpacking");
    expect(await kindOf("int64", "sorted", "some")).toBe("miniBlock/inlineBitpacking");
    expect(await kindOf("int64", "constant", "some")).toBe("constant");
    expect(await kindOf("int64", "random", "all", "2.1")).toBe("constant");
    expect(await kindOf("bool", "random", "none")).toBe("miniBlock/flat");
    expect(await kindOf("utf8", "random", "some")).toBe("miniBlock/variable");
    expect(await kindOf("utf8", "lowCardinality", "some")).toBe("miniBlock/inlineBitpacking+dictionary");
    expect(await kindOf("vectorFloat32", "random", "none")).toBe("fullZip/fixedSizeList");
    expect(await kindOf("vectorFloat32NullItems", "random", "some")).toBe("miniBlock/fixedSizeList");
    expect(await kindOf("fixedSizeBinary200", "random", "some")).toBe("fullZip/flat");
  });
});
