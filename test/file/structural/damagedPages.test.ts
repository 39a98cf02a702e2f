/** Damaged pages of both engines: decoding gives a typed error or a column that is safe to read. */

import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { beforeAll, describe } from "vitest";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { logicalFieldOf } from "../../../src/arrow/types/logicalTypes.js";
import { openDataFile } from "../../../src/file/container/reader.js";
import { PageLayout } from "../../../src/format/encodings.js";
import { assignFieldIds } from "../../../src/schema/schema.js";
import { storedLayoutOf } from "../../../src/schema/storedLayout.js";
import { sharedDirectory } from "../../support/fixtures.js";
import { allTypesSpec, makeIpc, type Shape } from "../../support/generators.js";
import { leaf, list, makeNestedTable, type NestedSpec, packed } from "../../support/nestedGenerators.js";
import { REALISTIC_COLUMNS, realisticTable } from "../../support/realisticColumns.js";
import { reference } from "../../support/reference.js";
import { type SamplePage, samplePage, testDamagedPages } from "../damagedPages.js";
import { tableToFile } from "../dataFiles.js";
import { dataFilePaths, memoryHandle, openFromMemory, schemaOfIpc } from "./referencePages.js";

const directory = sharedDirectory();
const samples: SamplePage[] = [];

beforeAll(async () => {
  const shapes: Shape[] = ["random", "lowCardinality", "runs", "constant", "long"];
  for (const version of ["2.1", "2.2"]) {
    for (const shape of shapes) {
      const name = `${shape}_${version.replace(".", "_")}`;
      const ipc = makeIpc(allTypesSpec(1500, shape === "random" ? "none" : "some", { shape }));
      await reference.createTable(directory, name, ipc, { dataStorageVersion: version });
      const opened = await openFromMemory(dataFilePaths(directory, name)[0]);
      for (const [columnIndex, field] of schemaOfIpc(ipc).fields.entries()) {
        const layout = layoutOf(field.type, field.name);
        samples.push(await samplePage(`${name} ${field.name}`, layout, opened, columnIndex));
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
        const [field] = table.schema.fields;
        const name = `ours ${column.name} ${request} ${version}`;
        samples.push(await samplePage(name, layoutOf(field.type, field.name), { handle, file }));
      }
    }
  }
});

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
    const opened = await openFromMemory(dataFilePaths(directory, name)[0]);
    for (const [columnIndex, field] of fields.entries()) {
      const layout = storedLayoutOf(field, field.name);
      samples.push(await samplePage(`${name} ${field.name}`, layout, opened, columnIndex));
    }
  }
}

describe("damaged pages", () => testDamagedPages(samples, PageLayout.encode, PageLayout.decode));
