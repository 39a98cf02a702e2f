/** Damaged pages of 2.0 by the reference: decoding gives a typed error or a column that is safe to read. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Column, Layout } from "../../../src/arrow/columns/column.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { CorruptFileError, UnsupportedError } from "../../../src/errors.js";
import { decodeArrayPage } from "../../../src/file/v20/decodeArray.js";
import { ArrayEncoding } from "../../../src/format/encodings20.js";
import { checkColumn } from "../../support/checkColumn.js";
import { allTypesSpec, makeIpc } from "../../support/generators.js";
import { reference } from "../../support/reference.js";
import { readPageBuffers } from "../pageBuffers.js";
import { dataFilePaths, openFromMemory, schemaOfIpc } from "../structural/referencePages.js";
import { utf8s } from "../../support/arrowColumns.js";

interface Sample {
  readonly name: string;
  readonly layout: Layout;
  readonly encoding: ArrayEncoding;
  readonly rowCount: number;
  readonly buffers: readonly Uint8Array[];
}

const ORIGIN = { path: "sample.lance", byteOffset: 64 };
let directory: string;
const samples: Sample[] = [];

/** Strings under each compression that users can choose, and dictionary-typed columns. */
function specialTable(): arrow.Table {
  const texts = Array.from({ length: 900 }, (_, row) =>
    row % 5 === 1 ? null : `some text that recurs, number ${(row * 7919) % 1009}`,
  );
  const compressed = (scheme: string) =>
    new arrow.Field("", new arrow.Utf8(), true, new Map([["lance-encoding:compression", scheme]]));
  const fields = ["zstd", "fsst", "lz4"].map((scheme) => {
    const { type, nullable, metadata } = compressed(scheme);
    return new arrow.Field(scheme, type, nullable, metadata);
  });
  const words = texts.map((_, row) => (row % 4 === 0 ? null : `w${row % 9}`));
  const columns = {
    zstd: utf8s(texts),
    fsst: utf8s(texts),
    lz4: utf8s(texts),
    dictionary: arrow.vectorFromArray(words, new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())),
    numbers: arrow.vectorFromArray(
      words.map((word, row) => (word === null ? null : row % 9)),
      new arrow.Dictionary(new arrow.Int16(), new arrow.Int32()),
    ),
  };
  const plain = new arrow.Table(columns);
  const all = plain.schema.fields.map((field) => fields.find(({ name }) => name === field.name) ?? field);
  return new arrow.Table(new arrow.Schema(all), columns);
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tiltyard-damage20-"));
  const sources = new Map<string, Uint8Array>([
    ["random", makeIpc(allTypesSpec(700, "none", { shape: "random" }))],
    ["low", makeIpc(allTypesSpec(700, "some", { shape: "lowCardinality" }))],
    ["long", makeIpc(allTypesSpec(300, "some", { shape: "long" }))],
    ["nulls", makeIpc(allTypesSpec(300, "all", { shape: "random" }))],
    ["special", arrow.tableToIPC(specialTable())],
  ]);
  for (const [name, ipc] of sources) {
    await reference.createTable(directory, name, ipc, { dataStorageVersion: "2.0" });
    const { handle, file } = await openFromMemory(dataFilePaths(directory, name)[0]);
    expect(file.version).toBe("2.0");
    for (const [columnIndex, field] of schemaOfIpc(ipc).fields.entries()) {
      const [page] = file.columns[columnIndex].pages;
      const [[buffers]] = await readPageBuffers(handle, file, [{ columnIndex, pageIndexes: [0] }]);
      samples.push({
        name: `${name} ${field.name}`,
        layout: layoutOf(field.type, field.name),
        encoding: page.layout.array as ArrayEncoding,
        rowCount: page.rowCount,
        buffers,
      });
    }
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function decodeSafely(sample: Sample, encoding: ArrayEncoding, buffers: readonly Uint8Array[]): boolean {
  let column: Column;
  try {
    column = decodeArrayPage(sample.layout, encoding, sample.rowCount, buffers, ORIGIN);
  } catch (error) {
    if (error instanceof CorruptFileError || error instanceof UnsupportedError) return false;
    throw error;
  }
  checkColumn(column, sample.layout, sample.rowCount);
  return true;
}

const pick = fc.nat();

describe("damaged pages of 2.0", () => {
  it("can be read before the damage", () => {
    expect(samples.length).toBeGreaterThan(100);
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

  it("give a typed error or a column when cut short or without a buffer", () => {
    fc.assert(
      fc.property(pick, pick, fc.nat(), (which, buffer, amount) => {
        const sample = samples[which % samples.length];
        if (sample.buffers.length === 0) return;
        const target = buffer % sample.buffers.length;
        const buffers = sample.buffers.map((bytes, index) =>
          index === target ? bytes.slice(0, amount % (bytes.length + 1)) : bytes,
        );
        decodeSafely(sample, sample.encoding, buffers);
      }),
      { numRuns: 1000 },
    );
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
        const bytes = ArrayEncoding.encode(sample.encoding).slice();
        bytes[index % 3 === 0 ? index % bytes.length : index % Math.min(bytes.length, 80)] ^= value;
        let encoding: ArrayEncoding;
        try {
          encoding = ArrayEncoding.decode(bytes, ORIGIN);
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
