/** Damaged pages of 2.0 by the reference: decoding gives a typed error or a column that is safe to read. */

import * as arrow from "apache-arrow";
import { beforeAll, describe, expect } from "vitest";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { ArrayEncoding } from "../../../src/format/encodings20.js";
import { columnsOf, fieldOf, utf8s } from "../../support/arrowColumns.js";
import { sharedDirectory } from "../../support/fixtures.js";
import { allTypesSpec, makeIpc } from "../../support/generators.js";
import { reference } from "../../support/reference.js";
import { type SamplePage, samplePage, testDamagedPages } from "../damagedPages.js";
import { dataFilePaths, openFromMemory, schemaOfIpc } from "../structural/referencePages.js";

const directory = sharedDirectory();
const samples: SamplePage[] = [];

/** Strings under each compression that users can choose, and dictionary-typed columns. */
function specialTable(): arrow.Table {
  const texts = Array.from({ length: 900 }, (_, row) =>
    row % 5 === 1 ? null : `some text that recurs, number ${(row * 7919) % 1009}`,
  );
  const compressed = (scheme: string) =>
    fieldOf("", new arrow.Utf8(), true, { "lance-encoding:compression": scheme });
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
    numbers: columnsOf(new arrow.Dictionary(new arrow.Int16(), new arrow.Int32()))(
      words.map((word, row) => (word === null ? null : row % 9)),
    ),
  };
  const plain = new arrow.Table(columns);
  const all = plain.schema.fields.map((field) => fields.find(({ name }) => name === field.name) ?? field);
  return new arrow.Table(new arrow.Schema(all), columns);
}

beforeAll(async () => {
  const sources = new Map<string, Uint8Array>([
    ["random", makeIpc(allTypesSpec(700, "none", { shape: "random" }))],
    ["low", makeIpc(allTypesSpec(700, "some", { shape: "lowCardinality" }))],
    ["long", makeIpc(allTypesSpec(300, "some", { shape: "long" }))],
    ["nulls", makeIpc(allTypesSpec(300, "all", { shape: "random" }))],
    ["special", arrow.tableToIPC(specialTable())],
  ]);
  for (const [name, ipc] of sources) {
    await reference.createTable(directory, name, ipc, { dataStorageVersion: "2.0" });
    const opened = await openFromMemory(dataFilePaths(directory, name)[0]);
    expect(opened.file.version).toBe("2.0");
    for (const [columnIndex, field] of schemaOfIpc(ipc).fields.entries()) {
      const layout = layoutOf(field.type, field.name);
      samples.push(await samplePage(`${name} ${field.name}`, layout, opened, columnIndex));
    }
  }
});

describe("damaged pages of 2.0", () =>
  testDamagedPages(
    samples,
    ({ array }) => ArrayEncoding.encode(array!),
    (bytes, origin) => ({ array: ArrayEncoding.decode(bytes, origin) }),
  ));
