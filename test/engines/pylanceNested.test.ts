/** Nested columns, of which some or all are null: pylance reads ours, and we read pylance's. */

import type { Table } from "apache-arrow";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NULL_PATTERNS, type NullPattern } from "../support/generators.js";
import { FILE_VERSIONS, type FileVersion } from "../support/interop.js";
import {
  existsIn,
  LEAF_TYPES,
  leaf,
  makeNestedTable,
  NESTING_NAMES,
  NESTINGS,
  type NestedSpec,
  nestedTableSpecs,
  withValidStructs,
} from "../support/nestedGenerators.js";
import { Exchange, type Faults } from "./support/exchange.js";
import { ITS_OWN_FAULT, MAJORS, openPair } from "./support/pylance.js";

/** Faults of every release of pylance, with its own tables as well; docs/format.md lists them. */
const FAULTS: readonly { readonly column: RegExp; readonly fault: RegExp }[] = [
  // Fixed-size lists of structs are read alone, or not at all.
  { column: /together/, fault: /cannot read columns of differing lengths together|index out of bounds/ },
  // Structs without members, which pylance itself wrote.
  { column: /^structWithEmpty$/, fault: /^cannot read/ },
];

const ROWS = 150;
/** Tables that are made up, of one to three columns each. */
const ARBITRARY = 12;

/** Columns of each nesting that a version of the files has, around leaves of one type after the other. */
function nestings(version: FileVersion, nulls: NullPattern): Table {
  const specs = NESTING_NAMES.map((name, index): readonly [string, NestedSpec] => {
    const item = leaf(LEAF_TYPES[index % LEAF_TYPES.length], nulls);
    const spec = NESTINGS[name](item, nulls, nulls === "some" ? "mostlyEmpty" : "short");
    return [name, version === "2.0" ? withValidStructs(spec) : spec];
  }).filter(([, spec]) => existsIn(version, spec));
  return makeNestedTable(
    { columns: specs.map(([, spec]) => spec), rowCount: ROWS, seed: 11 },
    specs.map(([name]) => name),
  );
}

/** Returns arbitrary tables, which are the same in every run. */
const arbitraryTables = (version: FileVersion): Table[] =>
  fc
    .sample(nestedTableSpecs({ maps: version === "2.2", maxRows: ROWS }), { numRuns: ARBITRARY, seed: 4242 })
    .map((spec) => ({
      ...spec,
      columns: version === "2.0" ? spec.columns.map(withValidStructs) : spec.columns,
    }))
    .filter(({ columns }) => columns.every((column) => existsIn(version, column)))
    .map((spec) => makeNestedTable(spec));

describe.each(MAJORS)("pylance %i", (major) => {
  const pair = openPair(major);

  const note = async (faults: Faults, annotate: (message: string, type: string) => Promise<unknown>) => {
    for (const [column, fault] of faults) {
      await annotate(`${column}: ${fault}`, ITS_OWN_FAULT);
      expect(
        FAULTS.some((each) => each.column.test(column) && each.fault.test(fault)),
        `${column}: ${fault}`,
      ).toBe(true);
    }
  };

  describe.each(FILE_VERSIONS)("data files %s", (version) => {
    const exchange = () => new Exchange(pair, version);

    it.for(NULL_PATTERNS)("reads our nested columns, of which %s are null", async (nulls, { annotate }) => {
      await note(await exchange().columnsWrittenHere(nestings(version, nulls)), annotate);
    });

    it.for(NULL_PATTERNS)("writes nested columns that we read, of which %s are null", async (nulls, {
      annotate,
    }) => {
      await note(await exchange().columnsWrittenThere(nestings(version, nulls)), annotate);
    });

    it("exchanges arbitrary nested tables with us", async ({ annotate }) => {
      for (const rows of arbitraryTables(version)) {
        await note(await exchange().columnsWrittenHere(rows), annotate);
        await note(await exchange().columnsWrittenThere(rows), annotate);
      }
    });
  });
});
