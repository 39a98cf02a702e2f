/** Damaged 2.0 files of the reference with lists and structs: reads give a typed error or safe columns. */

import { readFileSync } from "node:fs";
import { tableToIPC } from "apache-arrow";
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Layout } from "../../../src/arrow/columns/column.js";
import { spinesOf } from "../../../src/arrow/columns/spine.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { CorruptFileError, UnsupportedError } from "../../../src/errors.js";
import { openDataFile } from "../../../src/file/container/reader.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { loadAllDecoders } from "../../../src/file/pages/decoders.js";
import { columnsByRows, type LeafColumns } from "../../../src/file/v20/rowColumns.js";
import { checkColumn } from "../../support/checkColumn.js";
import { sharedDirectory } from "../../support/fixtures.js";
import { leaf, list, makeNestedTable, type NestedSpec, struct } from "../../support/nestedGenerators.js";
import { reference } from "../../support/reference.js";
import { readPageBuffers } from "../pageBuffers.js";
import { dataFilePaths, memoryHandle } from "../structural/referencePages.js";

await loadAllDecoders();

interface Sample {
  readonly bytes: Uint8Array;
  readonly spines: readonly Layout[];
  readonly leaves: readonly LeafColumns[];
}

const SPECS: readonly (readonly NestedSpec[])[] = [
  [list(leaf("int32", "some"), "some"), struct([leaf("utf8", "some"), leaf("bool")])],
  [list(list(leaf("utf8", "some"), "some"), "some"), list(struct([leaf("int64"), list(leaf("float32"))]))],
  [list(leaf("vectorFloat32NullItems", "some"), "none", "empty"), list(leaf("dictionary", "some"), "some")],
];

/** Columns of the leaves of a layout: every node has one, in depth-first order. */
function leavesOf(layouts: readonly Layout[]): LeafColumns[] {
  const leaves: LeafColumns[] = [];
  let next = 0;
  const visit = (layout: Layout, lists: readonly number[]): void => {
    const columnIndex = next++;
    if (layout.kind === "list") visit(layout.item, [...lists, columnIndex]);
    else if (layout.kind === "struct") for (const child of layout.children) visit(child.layout, lists);
    else leaves.push({ columnIndex, listColumnIndexes: lists });
  };
  for (const layout of layouts) visit(layout, []);
  return leaves;
}

/** Reads everything, and fails unless it is safe to use. */
async function readAll({ bytes, spines, leaves }: Sample): Promise<void> {
  const handle = memoryHandle("sample", bytes);
  const file = await openDataFile(handle, "sample");
  // In a table, the manifest states the number of rows.
  if (file.rowCount > 10_000) throw new CorruptFileError("sample", 0, "another number of rows");
  const rows = columnsByRows(file, leaves);
  for (const [columnIndex, spine] of spines.entries()) {
    for (const [pageIndex, page] of rows.columns[columnIndex].pages.entries()) {
      const [[buffers]] = await readPageBuffers(handle, rows, [{ columnIndex, pageIndexes: [pageIndex] }]);
      const origin = { path: "sample", byteOffset: 0 };
      const column = decodePage(spine, page.layout, page.rowCount, buffers, origin);
      checkColumn(column, spine, page.rowCount);
    }
  }
}

const directory = sharedDirectory();
const samples: Sample[] = [];

beforeAll(async () => {
  for (const [index, columns] of SPECS.entries()) {
    const table = makeNestedTable({ columns: [...columns], rowCount: 200, seed: index });
    await reference.createTable(directory, `t${index}`, tableToIPC(table), { dataStorageVersion: "2.0" });
    const layouts = table.schema.fields.map((field) => layoutOf(field.type, field.name));
    samples.push({
      bytes: new Uint8Array(readFileSync(dataFilePaths(directory, `t${index}`)[0])),
      spines: layouts.flatMap((layout) => spinesOf(layout).map((spine) => spine.layout)),
      leaves: leavesOf(layouts),
    });
  }
});

describe("damaged files of 2.0", () => {
  it("can be read before the damage", async () => {
    for (const sample of samples) await readAll(sample);
  });

  it("give a typed error or columns", async () => {
    const change = fc.record({ at: fc.nat(), value: fc.integer({ min: 1, max: 255 }), atEnd: fc.boolean() });
    let read = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.nat(samples.length - 1),
        fc.array(change, { minLength: 1, maxLength: 3 }),
        async (which, changes) => {
          const sample = samples[which];
          const bytes = sample.bytes.slice();
          for (const { at: offset, value, atEnd } of changes) {
            // Most checks concern the metadata, which is at the end.
            const span = atEnd ? Math.min(bytes.length, 2500) : bytes.length;
            bytes[bytes.length - 1 - (offset % span)] ^= value;
          }
          try {
            await readAll({ ...sample, bytes });
            read++;
          } catch (error) {
            if (!(error instanceof CorruptFileError || error instanceof UnsupportedError)) throw error;
          }
        },
      ),
      { numRuns: 2500 },
    );
    expect(read).toBeGreaterThan(100);
  });
});
