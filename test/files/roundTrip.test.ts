/** All types survive each format: what is written and read again for the same schema has the same values. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { readCsv, readJsonLines, readParquet, writeCsv, writeJsonLines, writeParquet } from "tiltyard/files";
import { describe, expect, it } from "vitest";
import { fieldOf, listOf } from "../support/arrowColumns.js";
import { runsOf } from "../support/effort.js";
import { sharedNamespace } from "../support/fixtures.js";
import { VALUE_TYPES } from "../support/valueTypes.js";
import { batchesOf, bytesTarget } from "./support.js";

const namespace = sharedNamespace();
const NAMES = Object.keys(VALUE_TYPES);

/** All types, and each nested in lists and structs. */
const schema = new arrow.Schema(
  NAMES.flatMap((name) => {
    const { type } = VALUE_TYPES[name];
    const isNested = type.typeId === arrow.Type.Dictionary;
    return [
      fieldOf(name, type),
      ...(isNested
        ? []
        : [
            fieldOf(`list of ${name}`, listOf(type)),
            fieldOf(`struct of ${name}`, new arrow.Struct([fieldOf("a", type)])),
          ]),
    ];
  }),
);

const rowOf = fc.record(
  Object.fromEntries(
    NAMES.flatMap((name) => {
      const { type, value } = VALUE_TYPES[name];
      if (type.typeId === arrow.Type.Dictionary) return [[name, fc.option(value)]];
      return [
        [name, fc.option(value)],
        [`list of ${name}`, fc.option(fc.array(fc.option(value), { maxLength: 3 }))],
        [`struct of ${name}`, fc.option(fc.record({ a: fc.option(value) }))],
      ];
    }),
  ),
);

interface Format {
  write(rows: arrow.Table, target: WritableStream<Uint8Array>): Promise<unknown>;
  read(bytes: Uint8Array, schema?: arrow.Schema): AsyncIterable<arrow.RecordBatch>;
}

const FORMATS: Readonly<Record<string, Format>> = {
  CSV: { write: writeCsv, read: (bytes, schema) => readCsv(bytes, { schema, batchRows: 3 }) },
  "JSON lines": {
    write: (rows, target) => writeJsonLines(rows, target, { nonFinite: "text" }),
    read: (bytes, schema) => readJsonLines(bytes, { schema }),
  },
  Parquet: {
    write: (rows, target) => writeParquet(rows, target, { rowGroupRows: 4 }),
    read: (bytes, schema) => readParquet(bytes, { schema, batchRows: 3 }),
  },
};

const ISO = { dates: "iso" } as const;
let tables = 0;

/** Returns a table of the namespace with rows, in all digits. */
async function stored(rows: unknown) {
  const table = namespace.table(`t${tables++}`);
  await table.create(rows as object[], Array.isArray(rows) ? { schema } : undefined);
  return { table, values: await table.scan().toArray(ISO) };
}

describe.each(Object.entries(FORMATS))("%s", (name, { write, read }) => {
  it("keeps the values of all types, nested ones too", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(rowOf, { minLength: 1, maxLength: 9 }), async (rows) => {
        const { table, values } = await stored(rows);
        const { target, bytes } = bytesTarget();
        await write(await table.scan().toArrow(), target);
        expect((await stored(read(bytes(), schema))).values).toEqual(values);
        const copy = namespace.table(`t${tables++}`);
        await copy.create([], { schema });
        await copy.insert(read(bytes()));
        expect(await copy.scan().toArray(ISO)).toEqual(values);
        if (name !== "Parquet") return;
        const own = await batchesOf(read(bytes()));
        expect(own[0].schema.fields.map(({ type }) => `${type}`)).toEqual(
          schema.fields.map(({ type }) => `${type}`),
        );
        expect((await stored(own[Symbol.iterator]())).values).toEqual(values);
      }),
      { numRuns: runsOf("FILE_RUNS", 60) },
    );
  });
});
