/** Shows that generators, table equality and the oracle agree with each other. */

import { type Data, makeData, RecordBatch, Struct, Table, tableFromIPC, tableToIPC } from "apache-arrow";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sharedDirectory } from "./fixtures.js";
import {
  allTypesSpec,
  makeIpc,
  makeTable,
  NULL_PATTERNS,
  SHAPES,
  TYPE_NAMES,
  tableSpecs,
} from "./generators.js";
import { compareTables, ReferenceWorker, reference } from "./reference.js";

const root = sharedDirectory();

describe("generators", () => {
  it("give the same bytes for the same spec, other bytes for another seed", () => {
    fc.assert(
      fc.property(tableSpecs({ maxRows: 500, maxColumns: 2 }), (spec) => {
        expect(Buffer.compare(makeIpc(spec), makeIpc(spec))).toBe(0);
      }),
      { numRuns: 40 },
    );
    const spec = allTypesSpec(100, "some");
    expect(Buffer.compare(makeIpc(spec), makeIpc({ ...spec, seed: 2 }))).not.toBe(0);
  });

  it("make 300,000 rows in batches", () => {
    const table = makeTable(
      allTypesSpec(300_000, "some", { batchRows: 70_000, types: ["int64", "utf8", "bool"] }),
    );
    expect(table.numRows).toBe(300_000);
    expect(table.batches).toHaveLength(5);
    expect(table.getChild("int64")?.nullCount).toBeGreaterThan(10_000);
  });
});

describe("compareTables", () => {
  it.each(NULL_PATTERNS)("ignores batch boundaries and IPC framing (nulls: %s)", (nulls) => {
    const spec = allTypesSpec(1_003, nulls);
    compareTables(makeTable(spec), makeTable({ ...spec, batchRows: 97 }));
    compareTables(makeIpc(spec), makeTable({ ...spec, batchRows: 8 }));
  });

  it.each(TYPE_NAMES)("finds one changed value of %s, and a value that became null", (type) => {
    const table = makeTable(allTypesSpec(200, "none", { types: [type] }));
    const changed = tableFromIPC(tableToIPC(table, "stream"));
    flipBit(changed.batches[0].data.children[0], 117);
    expect(() => compareTables(table, changed)).toThrow(/row 117/);

    const nulled = makeTable(allTypesSpec(200, "none", { types: [type] }));
    const data = nulled.batches[0].data.children[0];
    const nullBitmap = new Uint8Array(25).fill(0xff);
    nullBitmap[5] = 0xfe;
    const holed = data.clone(data.type, 0, 200, 1, { ...data.buffers, 2: nullBitmap });
    const struct = makeData({
      type: new Struct(nulled.schema.fields),
      length: 200,
      nullCount: 0,
      children: [holed],
    });
    expect(() => compareTables(table, new Table([new RecordBatch(nulled.schema, struct)]))).toThrow(/row 40/);
  });

  it("finds a different row count, type, name and nullability", () => {
    const base = makeTable(allTypesSpec(10, "none", { types: ["int32"] }));
    expect(() => compareTables(base, makeTable(allTypesSpec(9, "none", { types: ["int32"] })))).toThrow(
      /row count/,
    );
    expect(() => compareTables(base, makeTable(allTypesSpec(10, "none", { types: ["uint32"] })))).toThrow(
      /schema/,
    );
    expect(() => compareTables(base, makeTable(allTypesSpec(10, "some", { types: ["int32"] })))).toThrow(
      /schema/,
    );
  });

  it("tells NaN patterns and zeros of either sign apart", () => {
    const zero = (value: number) =>
      new Table({ x: makeTableColumn(new Float64Array([value])) } as never) as Table;
    expect(() => compareTables(zero(0), zero(-0))).toThrow(/expected 0, got -0/);
  });
});

describe("the oracle", () => {
  for (const nulls of NULL_PATTERNS) {
    it(`returns all types as they were put in (nulls: ${nulls})`, async () => {
      const first = makeIpc(allTypesSpec(700, nulls, { seed: 3 }));
      const name = `all-${nulls}`;
      await reference.createTable(root, name, first);
      compareTables(first, await reference.readTable(root, name), { metadata: false });
    });
  }

  it.each(SHAPES)("returns shape %s of strings and numbers over several fragments", async (shape) => {
    const types = ["utf8", "largeBinary", "int64", "float64", "float16", "date64"] as const;
    const spec = allTypesSpec(600, "some", { shape, types });
    const name = `shape-${shape}`;
    await reference.createTable(root, name, makeIpc({ ...spec, rowCount: 0 }), { dataStorageVersion: "2.1" });
    await reference.appendTable(root, name, makeIpc(spec));
    await reference.appendTable(root, name, makeIpc(spec));
    const twice = new Table([...makeTable(spec).batches, ...makeTable(spec).batches]);
    compareTables(twice, await reference.readTable(root, name));
    expect(await reference.countRows(root, name)).toBe(1_200);
  });

  it("restores, projects, limits, and lists versions", async () => {
    const spec = allTypesSpec(50, "none", { types: ["int32", "utf8"] });
    await reference.createTable(root, "versions", makeIpc(spec), { v1Paths: true });
    await reference.overwriteTable(root, "versions", makeIpc({ ...spec, rowCount: 7 }));
    expect(await reference.restoreTable(root, "versions", 1)).toEqual({ version: 3 });
    expect((await reference.listVersions(root, "versions")).map(({ version }) => version)).toEqual([1, 2, 3]);
    expect(await reference.usesV2ManifestPaths(root, "versions")).toBe(false);
    const options = { columns: ["utf8"], limit: 4, offset: 3 };
    const part = tableFromIPC(await reference.readTable(root, "versions", options));
    compareTables(makeTable(spec).select(["utf8"]).slice(3, 7), part);
    expect(tableFromIPC(await reference.readTable(root, "versions", { version: 2 })).numRows).toBe(7);
    expect(await reference.listTables(root)).toContain("versions");
  });

  it("races appends from two processes", async () => {
    const spec = allTypesSpec(3, "none", { types: ["int32"] });
    await reference.createTable(root, "race", makeIpc(spec));
    const job = {
      kind: "appendEach" as const,
      uri: root,
      name: "race",
      payloads: Array.from({ length: 5 }, () => makeIpc(spec)),
      retries: 20,
    };
    const workers = [new ReferenceWorker(job), new ReferenceWorker(job)];
    await Promise.all(workers.map((worker) => worker.ready));
    for (const worker of workers) worker.go();
    const outcomes = (await Promise.all(workers.map((worker) => worker.outcomes))).flat();
    const acknowledged = outcomes.filter((outcome) => "version" in outcome);
    expect(outcomes).toHaveLength(10);
    expect(await reference.countRows(root, "race")).toBe(3 * (1 + acknowledged.length));
  });
});

/** Flips the lowest bit of the value at `row`, in place. */
function flipBit(data: Data, row: number): void {
  if (data.children.length > 0) {
    flipBit(data.children[0], row * data.stride);
    return;
  }
  const values = data.values as Uint8Array;
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  if (data.valueOffsets !== undefined && data.valueOffsets.length > 0) {
    bytes[Number(data.valueOffsets[row])] ^= 1;
  } else if (data.type.toString() === "Bool") {
    bytes[row >> 3] ^= 1 << (row & 7);
  } else {
    bytes[row * data.stride * values.BYTES_PER_ELEMENT] ^= 1;
  }
}

function makeTableColumn(values: Float64Array) {
  const spec = makeTable(allTypesSpec(values.length, "none", { types: ["float64"] }));
  (spec.batches[0].data.children[0].values as Float64Array).set(values);
  return spec.getChildAt(0);
}
