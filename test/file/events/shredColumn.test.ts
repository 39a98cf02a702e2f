/** Nested columns of our files are read as written; damaged pages give a typed error or a safe column. */

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openDataFile } from "../../../src/file/container/reader.js";
import { checkColumn } from "../../support/checkColumn.js";
import { compareTables } from "../../support/compareTables.js";
import { runsOf, someOf } from "../../support/effort.js";
import { NULL_PATTERNS, Random } from "../../support/generators.js";
import {
  LEAF_TYPES,
  LIST_LENGTHS,
  leaf,
  list,
  makeNestedTable,
  map,
  NESTING_NAMES,
  NESTINGS,
  nestedTableSpecs,
  struct,
} from "../../support/nestedGenerators.js";
import { decodesSafely, type SamplePage, samplePage } from "../damagedPages.js";
import { fileColumns, fileToTable, tableToFile } from "../dataFiles.js";
import { MemoryDisk } from "../memoryDisk.js";

const VERSIONS = ["2.1", "2.2"] as const;

describe.each(VERSIONS)("nested columns in files of version %s", (version) => {
  it.each(NESTING_NAMES)("are read back: %s", async (nesting) => {
    for (const nulls of NULL_PATTERNS) {
      for (const lengths of someOf(LIST_LENGTHS)) {
        const columns = LEAF_TYPES.map((type) => NESTINGS[nesting](leaf(type, nulls), nulls, lengths));
        const table = makeNestedTable({ columns, rowCount: 120, seed: 7, batchRows: 50 });
        compareTables(table, await fileToTable(await tableToFile(table, version), table.schema));
      }
    }
  });

  it("are read back in any nesting", async () => {
    await fc.assert(
      fc.asyncProperty(nestedTableSpecs(), async (spec) => {
        const table = makeNestedTable(spec);
        compareTables(table, await fileToTable(await tableToFile(table, version), table.schema));
      }),
      { numRuns: runsOf("NESTINGS", 120) },
    );
  });
});

async function samplePages(version: (typeof VERSIONS)[number]): Promise<SamplePage[]> {
  const columns = [
    list(leaf("int32", "some"), "some"),
    list(struct([leaf("utf8", "some"), list(leaf("int64"), "some")], "some"), "some"),
    struct([struct([leaf("float64", "some")], "some")], "some"),
    list(list(leaf("bool", "some"), "some", "mostlyEmpty"), "some"),
    list(leaf("fixedSizeBinary200", "some"), "some"),
    list(leaf("utf8", "some", "long"), "some"),
    list(leaf("int16"), "some", "empty"),
    list(leaf("dictionary", "some"), "some"),
    map(leaf("vectorFloat32", "some"), "some"),
  ];
  const table = makeNestedTable({ columns, rowCount: 200, seed: 12 });
  const handle = new MemoryDisk().handle("/t.lance", await tableToFile(table, version));
  const file = await openDataFile(handle, "/t.lance");
  return Promise.all(
    fileColumns(table.schema).map(({ layout }, index) => samplePage("", layout, { handle, file }, index)),
  );
}

/** Accepts an index outside of its dictionary: reading it gives no value. */
const checkMemory: typeof checkColumn = (column, layout, length) => {
  try {
    checkColumn(column, layout, length);
  } catch (error) {
    if (!/^index \d+ in row/.test((error as Error).message)) throw error;
  }
};

describe.each(VERSIONS)("damaged nested pages of version %s", (version) => {
  it("are decoded or refused", async () => {
    const samples = await samplePages(version);
    const random = new Random(20_261_121);
    let refused = 0;
    let decoded = 0;
    for (let run = 0; run < 4_000; run++) {
      const sample = samples[random.below(samples.length)];
      const buffers = sample.buffers.map((buffer) => buffer.slice());
      const target = buffers[random.below(buffers.length)];
      if (target === undefined || target.length === 0) continue;
      for (let change = random.below(3); change >= 0; change--) {
        // The front of a buffer holds sizes and levels.
        const offset =
          random.below(2) === 0 ? random.below(Math.min(target.length, 64)) : random.below(target.length);
        target[offset] = random.below(4) === 0 ? 0xff : random.next();
      }
      if (random.below(10) === 0) {
        const index = buffers.indexOf(target);
        buffers[index] = target.subarray(0, random.below(target.length));
      }
      if (decodesSafely({ ...sample, buffers }, checkMemory)) decoded++;
      else refused++;
    }
    expect(decoded).toBeGreaterThan(0);
    expect(refused).toBeGreaterThan(500);
  });

  it("are refused if their layers have another shape", async () => {
    for (const sample of await samplePages(version)) {
      const { miniBlock, fullZip, constant } = sample.encoding;
      const page = miniBlock ?? fullZip ?? constant;
      if (page === undefined) throw new Error("a page without a layout");
      for (const layers of [
        [],
        [3],
        [6],
        [...page.layers, 3],
        [...page.layers, 6],
        [...page.layers].reverse(),
      ]) {
        if (layers.join() === page.layers.join()) continue;
        const changed = { ...page, layers };
        const encoding =
          miniBlock !== undefined
            ? { miniBlock: changed as typeof miniBlock }
            : fullZip !== undefined
              ? { fullZip: changed as typeof fullZip }
              : { constant: changed as NonNullable<typeof constant> };
        expect(decodesSafely({ ...sample, encoding }, checkMemory)).toBe(false);
      }
    }
  });
});
