/** Checks the catalog's rows: they are found by id, changed in place, and unknown columns are kept. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Column, FixedColumn, VariableColumn } from "../../../src/arrow/columns/column.js";
import { parseType } from "../../../src/arrow/types/type.js";
import { rootTableAt } from "../../../src/catalog/locations/locations.js";
import { newLocation } from "../../../src/catalog/locations/newLocations.js";
import { Catalog, type CatalogRow, compareNames } from "../../../src/catalog/rows/catalogRows.js";
import { CorruptFileError, UnsupportedError } from "../../../src/errors.js";
import { assignFieldIds } from "../../../src/schema/schema.js";

const text = (name: string, nullable: boolean) => ({
  name,
  type: parseType("string"),
  nullable,
  metadata: new Map<string, string>(),
  children: [],
});
const wellFormed = (value: string): string => Buffer.from(value).toString();
const FIELDS = assignFieldIds([
  text("object_id", false),
  text("extra", true),
  text("object_type", false),
  text("location", true),
  text("metadata", true),
  { ...text("number", true), type: parseType("int32") },
]);

function strings(values: readonly (string | null)[]): VariableColumn {
  const pieces = values.map((value) => Buffer.from(value ?? ""));
  const offsets = new Int32Array(values.length + 1);
  for (const [index, piece] of pieces.entries()) offsets[index + 1] = offsets[index] + piece.length;
  const bits = new Uint8Array((values.length + 7) >>> 3);
  for (const [index, value] of values.entries()) if (value !== null) bits[index >>> 3] |= 1 << (index & 7);
  const nullCount = values.filter((value) => value === null).length;
  return {
    kind: "variable",
    length: values.length,
    validity: nullCount === 0 ? null : { bytes: bits, bitOffset: 0, nullCount },
    offsets,
    bytes: new Uint8Array(Buffer.concat(pieces)),
  };
}

interface FullRow extends CatalogRow {
  readonly extra: string | null;
  readonly number: number | null;
}

function columnsOf(rows: readonly FullRow[]): Column[] {
  const numbers: FixedColumn = {
    kind: "fixed",
    length: rows.length,
    validity: null,
    byteWidth: 4,
    values: new Uint8Array(Int32Array.from(rows, (row) => row.number ?? 0).buffer),
  };
  return [
    strings(rows.map((row) => row.objectId)),
    strings(rows.map((row) => row.extra)),
    strings(rows.map((row) => row.objectType)),
    strings(rows.map((row) => row.location)),
    strings(rows.map((row) => row.metadata)),
    numbers,
  ];
}

const catalogOf = (rows: readonly FullRow[]) => Catalog.decode(FIELDS, columnsOf(rows), "m");

function fullRows(catalog: Catalog): FullRow[] {
  const decoded = Catalog.decode(FIELDS, catalog.columns, "m");
  expect(decoded.rows).toEqual(catalog.rows);
  const extras = Catalog.decode(
    assignFieldIds([
      text("location", true),
      ...["object_id", "object_type", "metadata"].map((name) => text(name, false)),
    ]),
    [catalog.columns[1], catalog.columns[0], catalog.columns[2], catalog.columns[4]],
    "m",
  ).rows.map((row) => row.location);
  const numbers = catalog.columns[5] as FixedColumn;
  const view = new DataView(numbers.values.buffer, numbers.values.byteOffset);
  return decoded.rows.map((row, index) => {
    const { validity } = numbers;
    const bit = (validity?.bitOffset ?? 0) + index;
    const isNull = validity !== null && ((validity.bytes[bit >>> 3] >>> (bit & 7)) & 1) === 0;
    return { ...row, extra: extras[index], number: isNull ? null : view.getInt32(index * 4, true) };
  });
}

const names = fc
  .string({ minLength: 1, maxLength: 6, unit: "grapheme" })
  .filter((name) => !name.includes("$"));
const rowArbitrary = fc.record({
  objectType: fc.constantFrom("namespace", "table", "table_version"),
  location: fc.option(fc.string({ unit: "binary", maxLength: 5 }).map(wellFormed)),
  metadata: fc.option(fc.constantFrom("{}", '{"a":"\u00fc"}')),
  extra: fc.option(names),
  number: fc.integer(),
});

describe("a change", () => {
  it("keeps the positions and unknown columns of other rows, and appends new rows", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(names, { minLength: 0, maxLength: 30 }),
        fc.infiniteStream(rowArbitrary),
        fc.infiniteStream(fc.integer({ min: 0, max: 5 })),
        (ids, contents, fates) => {
          const before: FullRow[] = [];
          const added: FullRow[] = [];
          const remove = new Set<string>();
          const replace = new Map<string, CatalogRow>();
          const expected: FullRow[] = [];
          for (const objectId of ids) {
            const row: FullRow = { objectId, ...(contents.next().value as Omit<FullRow, "objectId">) };
            const fate = fates.next().value;
            if (fate === 0) {
              added.push({ ...row, extra: null, number: null });
              continue;
            }
            before.push(row);
            if (fate === 1) {
              remove.add(objectId);
            } else if (fate === 2) {
              const now = {
                objectId: `${objectId}!!!!!!!`,
                objectType: "table",
                location: "x",
                metadata: null,
              };
              replace.set(objectId, now);
              expected.push({ ...row, ...now });
            } else {
              expected.push(row);
            }
          }
          const knownMembers = added.map(({ objectId, objectType, location, metadata }) => ({
            objectId,
            objectType,
            location,
            metadata,
          }));
          const after = catalogOf(before).after({ remove, replace, add: knownMembers });
          expect(fullRows(after)).toEqual([...expected, ...added]);
          for (const row of after.rows) expect(after.find(row.objectId)).toBe(row);
          for (const id of remove) expect(after.find(id)).toBeNull();
        },
      ),
      { numRuns: 200 },
    );
  });

  it("is refused if it adds rows and an unknown column accepts no nulls", () => {
    const fields = FIELDS.map((field) => (field.name === "extra" ? { ...field, nullable: false } : field));
    const row = { objectId: "a", objectType: "namespace", location: null, metadata: null };
    const catalog = Catalog.decode(fields, columnsOf([{ ...row, extra: "e", number: 1 }]), "m");
    expect(() => catalog.after({ add: [{ ...row, objectId: "b" }] })).toThrow(UnsupportedError);
    expect(catalog.after({ remove: new Set(["a"]) }).rows).toEqual([]);
  });
});

describe("damaged rows", () => {
  const row = { objectType: "table", location: "l", metadata: null, extra: null, number: 0 };
  it("with one id are reported by lookups of it and by writers", () => {
    const catalog = catalogOf([
      { ...row, objectId: "a" },
      { ...row, objectId: "b" },
      { ...row, objectId: "a" },
    ]);
    expect(catalog.find("b")?.objectId).toBe("b");
    expect(() => catalog.find("a")).toThrow(CorruptFileError);
    expect(() => catalog.checkUnique()).toThrow(/several rows for a/);
    expect(catalog.childrenOf("").tables).toEqual(["a", "b"]);
  });
  it("without an id or a type are refused", () => {
    const columns = columnsOf([{ ...row, objectId: "a" }]);
    columns[2] = strings([null]);
    expect(() => Catalog.decode(FIELDS, columns, "m")).toThrow(CorruptFileError);
  });
  it("of a catalog that lacks a column are unsupported", () => {
    expect(() => Catalog.decode(FIELDS.slice(1), columnsOf([]).slice(1), "m")).toThrow(UnsupportedError);
  });
});

it("names are ordered by their bytes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), (left, right) => {
      const [a, b] = [left, wellFormed(right)];
      expect(Math.sign(compareNames(a, b))).toBe(Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b))));
    }),
  );
  expect(compareNames("\u{ff5e}", "\u{1f600}")).toBeLessThan(0);
});

it("the locations of root tables are distinguished from others", () => {
  expect(rootTableAt("t.lance")).toBe("t");
  for (const name of ["t", ".lance", "a/t.lance", "__t.lance", "12345678_a$t.lance", "ü.lance"]) {
    expect(rootTableAt(name), name).toBeNull();
  }
  for (const id of ["a$t.lance", "a$t.LANCE", "a$t...", "a$t.lance.", "a$.lance"]) {
    expect(newLocation(id), id).toMatch(/^[0-9a-f]{8}_a\$.*[^.]$/);
    expect(newLocation(id).toLowerCase().endsWith(".lance"), id).toBe(false);
  }
});

it("new locations are names that every file system and the reference accept", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 600 }), (id) => {
      const location = newLocation(wellFormed(id));
      expect(location).toMatch(/^[0-9a-f]{8}_[A-Za-z0-9_$.-]{0,120}$/);
      expect(location.endsWith(".")).toBe(false);
      expect(location.endsWith(".lance")).toBe(false);
    }),
  );
});
