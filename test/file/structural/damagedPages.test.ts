/** Damaged pages of both engines: decoding gives a typed error or a column that is safe to read. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import * as fc from "fast-check";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Column, Layout } from "../../../src/arrow/columns/column.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { logicalFieldOf } from "../../../src/arrow/types/logicalTypes.js";
import { CorruptFileError, UnsupportedError } from "../../../src/errors.js";
import { openDataFile } from "../../../src/file/container/reader.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { PageLayout } from "../../../src/format/encodings.js";
import { assignFieldIds } from "../../../src/schema/schema.js";
import { storedLayoutOf } from "../../../src/schema/storedLayout.js";
import { checkColumn } from "../../support/checkColumn.js";
import { allTypesSpec, makeIpc, type Shape } from "../../support/generators.js";
import { leaf, list, makeNestedTable, type NestedSpec, packed } from "../../support/nestedGenerators.js";
import { REALISTIC_COLUMNS, realisticTable } from "../../support/realisticColumns.js";
import { reference } from "../../support/reference.js";
import { tableToFile } from "../dataFiles.js";
import { readPageBuffers } from "../pageBuffers.js";
import { dataFilePaths, memoryHandle, openFromMemory, schemaOfIpc } from "./referencePages.js";

interface Sample {
  readonly name: string;
  readonly layout: Layout;
  readonly encoding: PageLayout;
  readonly rowCount: number;
  readonly buffers: readonly Uint8Array[];
}

const ORIGIN = { path: "sample.lance", byteOffset: 64 };
let directory: string;
const samples: Sample[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tiltyard-damage-"));
  const shapes: Shape[] = ["random", "lowCardinality", "runs", "constant", "long"];
  for (const version of ["2.1", "2.2"]) {
    for (const shape of shapes) {
      const name = `${shape}_${version.replace(".", "_")}`;
      const ipc = makeIpc(allTypesSpec(1500, shape === "random" ? "none" : "some", { shape }));
      await reference.createTable(directory, name, ipc, { dataStorageVersion: version });
      const { handle, file } = await openFromMemory(dataFilePaths(directory, name)[0]);
      for (const [columnIndex, field] of schemaOfIpc(ipc).fields.entries()) {
        const [page] = file.columns[columnIndex].pages;
        const [[buffers]] = await readPageBuffers(handle, file, [{ columnIndex, pageIndexes: [0] }]);
        samples.push({
          name: `${name} ${field.name}`,
          layout: layoutOf(field.type, field.name),
          encoding: page.layout,
          rowCount: page.rowCount,
          buffers,
        });
      }
    }
  }
  for (const version of ["2.1", "2.2"] as const) await addPackedStructs(version);
  const requests = [null, "lz4", "fsst"];
  for (const version of ["2.1", "2.2"] as const) {
    for (const column of REALISTIC_COLUMNS) {
      for (const request of column.name === "text" || column.name === "ids" ? requests : [null]) {
        const metadata = new Map(request === null ? [] : [["lance-encoding:compression", request]]);
        const table = realisticTable(column, 1200, metadata);
        const handle = memoryHandle("/t.lance", await tableToFile(table, version));
        const file = await openDataFile(handle, "/t.lance");
        const [page] = file.columns[0].pages;
        const [[buffers]] = await readPageBuffers(handle, file, [{ columnIndex: 0, pageIndexes: [0] }]);
        const [field] = table.schema.fields;
        samples.push({
          name: `ours ${column.name} ${request} ${version}`,
          layout: layoutOf(field.type, field.name),
          encoding: page.layout,
          rowCount: page.rowCount,
          buffers,
        });
      }
    }
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Packed structs by both writers: of numbers, and of texts where possible; alone and in lists. */
async function addPackedStructs(version: "2.1" | "2.2"): Promise<void> {
  const members = [leaf("int32"), leaf("float64"), leaf(version === "2.1" ? "int8" : "vectorFloat32")];
  const columns: Record<string, NestedSpec> = {
    numbers: packed(members),
    listed: list(packed(members), "some"),
    ...(version === "2.2" ? { texts: packed([leaf("utf8"), leaf("int64"), leaf("binary")]) } : {}),
  };
  const names = Object.keys(columns);
  const table = makeNestedTable({ columns: Object.values(columns), rowCount: 1200, seed: 7 }, names);
  const label = version.replace(".", "_");
  await reference.createTable(directory, `packed_${label}`, tableToIPC(table), {
    dataStorageVersion: version,
  });
  const namespace = new DirectoryNamespace({
    root: directory,
    durability: "none",
    dataStorageVersion: version,
  });
  await namespace.createTable({ id: [`ours_packed_${label}`] }, table);
  await namespace.close();
  const fields = assignFieldIds(table.schema.fields.map((field) => logicalFieldOf(field, field.name)));
  for (const name of [`packed_${label}`, `ours_packed_${label}`]) {
    const { handle, file } = await openFromMemory(dataFilePaths(directory, name)[0]);
    for (const [columnIndex, field] of fields.entries()) {
      const [page] = file.columns[columnIndex].pages;
      const [[buffers]] = await readPageBuffers(handle, file, [{ columnIndex, pageIndexes: [0] }]);
      samples.push({
        name: `${name} ${field.name}`,
        layout: storedLayoutOf(field, field.name),
        encoding: page.layout,
        rowCount: page.rowCount,
        buffers,
      });
    }
  }
}

function decodeSafely(sample: Sample, encoding: PageLayout, buffers: readonly Uint8Array[]): boolean {
  let column: Column;
  try {
    column = decodePage(sample.layout, encoding, sample.rowCount, buffers, ORIGIN);
  } catch (error) {
    if (error instanceof CorruptFileError || error instanceof UnsupportedError) return false;
    throw error;
  }
  checkColumn(column, sample.layout, sample.rowCount);
  return true;
}

const pick = fc.nat();

describe("damaged pages", () => {
  it("can be read before the damage", () => {
    for (const sample of samples) {
      expect([sample.name, decodeSafely(sample, sample.encoding, sample.buffers)]).toEqual([
        sample.name,
        true,
      ]);
    }
  });

  it("give a typed error or a column when bytes are changed", () => {
    const change = fc.record({ at: fc.nat(), value: fc.nat(255), nearStart: fc.boolean() });
    fc.assert(
      fc.property(pick, pick, fc.array(change, { minLength: 1, maxLength: 4 }), (which, buffer, changes) => {
        const sample = samples[which % samples.length];
        if (sample.buffers.length === 0) return;
        const buffers = sample.buffers.map((bytes) => bytes.slice());
        const bytes = buffers[buffer % buffers.length];
        if (bytes.length === 0) return;
        for (const { at: offset, value, nearStart } of changes) {
          bytes[offset % (nearStart ? Math.min(bytes.length, 64) : bytes.length)] ^= value;
        }
        decodeSafely(sample, sample.encoding, buffers);
      }),
      { numRuns: 3000 },
    );
  });

  it("give a typed error or a column when cut short or extended", () => {
    fc.assert(
      fc.property(pick, pick, fc.nat(), fc.boolean(), (which, buffer, amount, grow) => {
        const sample = samples[which % samples.length];
        if (sample.buffers.length === 0) return;
        const target = buffer % sample.buffers.length;
        const buffers = sample.buffers.map((bytes, index) => {
          if (index !== target) return bytes;
          if (!grow) return bytes.slice(0, amount % (bytes.length + 1));
          const grown = new Uint8Array(bytes.length + 1 + (amount % 64));
          grown.set(bytes);
          return grown;
        });
        decodeSafely(sample, sample.encoding, buffers);
      }),
      { numRuns: 1000 },
    );
  });

  it("give a typed error or a column when a buffer is missing or exchanged", () => {
    for (const sample of samples) {
      for (let drop = 0; drop < sample.buffers.length; drop++) {
        const buffers = sample.buffers.filter((_, index) => index !== drop);
        decodeSafely(sample, sample.encoding, buffers);
      }
      decodeSafely(sample, sample.encoding, [...sample.buffers].reverse());
      decodeSafely(sample, sample.encoding, []);
    }
  });

  it("give a typed error or a column when their description is changed", () => {
    fc.assert(
      fc.property(pick, fc.nat(), fc.integer({ min: 1, max: 255 }), (which, index, value) => {
        const sample = samples[which % samples.length];
        const bytes = PageLayout.encode(sample.encoding).slice();
        // Interesting fields are few and at both ends; most of a symbol table is padding.
        bytes[index % 3 === 0 ? index % bytes.length : index % Math.min(bytes.length, 80)] ^= value;
        let encoding: PageLayout;
        try {
          encoding = PageLayout.decode(bytes, ORIGIN);
        } catch (error) {
          if (error instanceof CorruptFileError) return;
          throw error;
        }
        decodeSafely(sample, encoding, sample.buffers);
      }),
      { numRuns: 4000 },
    );
  });

  it("give a typed error or a column when read as another type", () => {
    for (const [index, sample] of samples.entries()) {
      const foreign = samples[(index * 7 + 3) % samples.length];
      decodeSafely({ ...foreign, layout: sample.layout }, foreign.encoding, foreign.buffers);
    }
  });
});
