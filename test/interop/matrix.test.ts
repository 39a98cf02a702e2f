/**
 * Types and nestings × nulls × shapes × row counts × file versions, in both directions. A cell is one column
 * of one table. Columns of equal length share a table; support/interop.ts finds the cell of a failure.
 * Unsupported cells must be refused before a write. `npm run soak` runs all cells.
 */

import { type Data, makeData, RecordBatch, Schema, Struct, Table } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fieldOf } from "../support/arrowColumns.js";
import { strideOf } from "../support/effort.js";
import { sharedDirectory } from "../support/fixtures.js";
import {
  makeStrings,
  makeTable,
  NULL_PATTERNS,
  type NullPattern,
  Random,
  SHAPES,
  type Shape,
  TYPE_NAMES,
  TYPES,
} from "../support/generators.js";
import {
  canBeSent,
  type Direction,
  exchangeColumns,
  FILE_VERSIONS,
  type FileVersion,
  refuseColumns,
  sharedNamespaces,
} from "../support/interop.js";
import {
  LEAF_TYPES,
  LIST_LENGTHS,
  type ListLength,
  leaf,
  makeNestedTable,
  NESTING_NAMES,
  NESTINGS,
  type NestedSpec,
  type Nesting,
  withValidStructs,
} from "../support/nestedGenerators.js";

const FEWEST_CELLS = 1_500;
/** Only each STRIDE-th group of cells runs. */
const STRIDE = strideOf("MATRIX_STRIDE", 3);
/** Printed characters of a message of the reference. */
const FAULT_LENGTH = 90;

let groups = 0;
/** True if the next group of cells runs. */
const isDealt = (): boolean => groups++ % STRIDE === 0;

const root = sharedDirectory();
const namespaces = sharedNamespaces(root);
const tally = { right: 0, refused: 0, faults: new Map<string, string[]>() };

afterAll(async () => {
  const faults = [...tally.faults.values()].flat().length;
  console.info(
    `matrix: ${tally.right + tally.refused + faults} cells: ${tally.right} right in both engines, ` +
      `${tally.refused} refused as the version cannot store them, ${faults} that the reference itself fails on`,
  );
  for (const [fault, cells] of tally.faults) console.info(`  ${fault}: ${cells.join("; ")}`);
});

async function fill(rows: Table, version: FileVersion, direction: Direction): Promise<void> {
  const faults = await exchangeColumns(namespaces[version], root, rows, version, direction);
  tally.right += rows.numCols - faults.size;
  for (const [column, words] of faults) {
    const fault = words.slice(0, FAULT_LENGTH);
    const cells = tally.faults.get(fault) ?? [];
    cells.push(`${column}, ${rows.numRows} rows, ${version}, ${direction}`);
    tally.faults.set(fault, cells);
  }
}

async function fillBothWays(rows: Table, version: FileVersion): Promise<void> {
  await fill(rows, version, "here");
  await fill(rows, version, "there");
}

async function fillRefused(rows: Table, version: FileVersion): Promise<void> {
  await refuseColumns(namespaces[version], root, rows);
  tally.refused += rows.numCols;
}

function everyType(rowCount: number, nulls: NullPattern, shape: Shape, batchRows?: number): Table {
  const columns = TYPE_NAMES.map((type) => ({
    name: `${type} ${shape}, nulls ${nulls}`,
    type,
    shape,
    nulls,
  }));
  return makeTable({ columns, rowCount, seed: 17, batchRows });
}

/** Makes the rows once for all versions, and frees them afterwards. */
function describeRows(
  name: string,
  make: () => Table,
  each: (rows: Table, version: FileVersion) => Promise<void>,
) {
  describe(name, () => {
    let rows: Table | null = null;
    beforeAll(() => {
      rows = make();
    });
    afterAll(() => {
      rows = null;
    });
    it.each(FILE_VERSIONS)("version %s", (version) => each(rows!, version));
  });
}

const describeDealt: typeof describeRows = (name, make, each) => {
  if (isDealt()) describeRows(name, make, each);
};

describe("every type", () => {
  for (const nulls of NULL_PATTERNS) {
    for (const shape of SHAPES) {
      describeDealt(
        `1,000 rows, ${shape}, nulls ${nulls}`,
        () => everyType(1_000, nulls, shape),
        fillBothWays,
      );
    }
    // None, one, a full chunk, a chunk and a value.
    for (const rowCount of [0, 1, 1_025, 4_097]) {
      describeDealt(
        `${rowCount} rows, nulls ${nulls}`,
        () => everyType(rowCount, nulls, "random"),
        fillBothWays,
      );
    }
    describeDealt(
      `100,000 rows in batches, nulls ${nulls}`,
      () => everyType(100_000, nulls, "random", 17_001),
      fillBothWays,
    );
  }
});

describe("huge values", () => {
  const types = ["utf8", "largeUtf8", "binary", "largeBinary"] as const;
  const lengths = [0, 3_000_000, 1, 70_000, 1_000_003, 5, 40_000];
  const make = () => {
    const columns = types.flatMap((type) =>
      [false, true].map((nullable): [string, Data] => {
        const validity = nullable ? { nullCount: 3, nullBitmap: Uint8Array.of(0b1011010) } : undefined;
        const data = makeStrings(TYPES[type], lengths, new Random(3), validity);
        return [`${type} huge, nulls ${nullable ? "some" : "none"}`, data];
      }),
    );
    const schema = new Schema(columns.map(([name, data]) => fieldOf(name, data.type, data.nullCount > 0)));
    const data = makeData({
      type: new Struct(schema.fields),
      length: lengths.length,
      nullCount: 0,
      children: columns.map(([, column]) => column),
    });
    return new Table(schema, [new RecordBatch(schema, data)]);
  };
  describeRows("of megabytes", make, fillBothWays);
});

const hasMaps = (nesting: Nesting) => nesting.startsWith("map");
const hasStructs = (nesting: Nesting) =>
  !hasMaps(nesting) && nesting !== "structWithEmpty" && /struct|deep/i.test(nesting);
const hasLists = (nesting: Nesting) => !/^struct(OfStruct|WithEmpty)?$/.test(nesting);

/** Row counts and shapes of values. Long lists have many more items. */
const nestedRows = (lengths: ListLength): [number, Shape][] =>
  lengths === "long"
    ? [[80, "random"]]
    : [
        [3, "random"],
        [12, "long"],
        [150, "constant"],
        [300, "random"],
      ];

/** Leaf types with long values. */
const LONG_LEAF_TYPES = ["utf8", "largeBinary"] as const;

// structs.test.ts covers packed structs and fixed-size lists of structs.
const EVERYWHERE = NESTING_NAMES.filter((name) => !/packed|sized/i.test(name));

describe.each(EVERYWHERE)("%s", (nesting) => {
  for (const nulls of NULL_PATTERNS) {
    for (const lengths of hasLists(nesting) ? LIST_LENGTHS : (["short"] as const)) {
      it.each(
        nestedRows(lengths).filter(isDealt),
      )(`%i rows, %s, nulls ${nulls}, lists ${lengths}`, async (rowCount, shape) => {
        const types = shape === "long" ? LONG_LEAF_TYPES : LEAF_TYPES;
        const columns = types.map((type): [string, NestedSpec] => [
          `${nesting} of ${type} ${shape}, lists ${lengths}, nulls ${nulls}`,
          NESTINGS[nesting](leaf(type, nulls, shape), nulls, lengths),
        ]);
        const rows = nestedTable(columns, rowCount);
        await fillNested(rows, "2.2");
        if (hasMaps(nesting)) {
          await fillRefused(rows, "2.1");
          await fillRefused(rows, "2.0");
          return;
        }
        await fillNested(rows, "2.1");
        if (!hasStructs(nesting) || nulls === "none") {
          await fillNested(rows, "2.0");
          return;
        }
        const valid = columns.map(([name, spec]): [string, NestedSpec] => [name, withValidStructs(spec)]);
        await fillNested(nestedTable(valid, rowCount), "2.0");
        // With few rows, empty lists or nulls only, no struct need be null.
        if (rowCount > 12 && nulls === "some" && (lengths === "short" || lengths === "long")) {
          await fillRefused(rows, "2.0");
        }
      });
    }
  }
});

type NestedColumns = readonly (readonly [name: string, spec: NestedSpec])[];

function nestedTable(columns: NestedColumns, rowCount: number): Table {
  const spec = { columns: columns.map(([, column]) => column), rowCount, seed: rowCount };
  return makeNestedTable(
    spec,
    columns.map(([name]) => name),
  );
}

async function fillNested(rows: Table, version: FileVersion): Promise<void> {
  await fill(rows, version, "here");
  const sent = rows.schema.fields.filter(({ type }) => canBeSent(type)).map(({ name }) => name);
  if (sent.length > 0) await fill(rows.select(sent), version, "there");
}

describe("the matrix", () => {
  it(`has at least ${FEWEST_CELLS} cells`, () => {
    expect(tally.right).toBeGreaterThanOrEqual(FEWEST_CELLS);
  });
});
