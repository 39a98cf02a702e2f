/** ZONEMAP, BLOOMFILTER and NGRAM indexes find every matching row and exclude most others. */

import { describe, expect, it } from "vitest";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { InvalidInputError } from "../../../src/errors.js";
import { UINT32, uint32Column, uint64Column } from "../../../src/indexes/indexColumns.js";
import { writeIndexFile } from "../../../src/indexes/indexFile.js";
import type { IndexKind, IndexRows } from "../../../src/indexes/kind.js";
import { BLOOMFILTER, NGRAM, ZONEMAP } from "../../../src/indexes/kinds/scalarKinds.js";
import { filterBytes } from "../../../src/indexes/scalar/bloomFilter.js";
import { ZONE_COLUMNS, zoneColumns } from "../../../src/indexes/scalar/zones.js";
import { Random } from "../../support/generators.js";
import { makeTempDir } from "../../support/tempDir.js";
import { expectAnswers } from "../expectAnswers.js";
import { filesIn, rowsOf, targetOf } from "../indexDirectory.js";
import {
  columnOf,
  double,
  drawValues,
  fieldOf,
  idOf,
  idWords,
  int32,
  ORDERED_TYPES,
  rowsOfAnswer,
  text,
  type Value,
  type ValueShape,
} from "../indexValues.js";

const FRAGMENT_ROWS = 2500;
const fragmentOf = (row: number): number => Math.floor(row / FRAGMENT_ROWS);
/** Converts addresses to row numbers, which are fragment offsets. */
const inFragment = (row: number): number => fragmentOf(row) * 3;

/** Rows with fragment offsets equal to their numbers. */
async function* placed(type: string, values: readonly Value[], batchRows = 700): AsyncGenerator<IndexRows> {
  const column = columnOf(fieldOf(type).type, values);
  for (let start = 0; start < values.length; ) {
    const fragmentEnd = (fragmentOf(start) + 1) * FRAGMENT_ROWS;
    const end = Math.min(values.length, start + batchRows, fragmentEnd);
    const rows = Array.from({ length: end - start }, (_, row) => start + row);
    yield {
      values: sliceColumn(column, start, end - start),
      ids: uint64Column(idWords(rows.map(BigInt))),
      fragmentRows: { fragmentId: inFragment(start), offsets: Uint32Array.from(rows) },
      rowCount: end - start,
    };
    start = end;
  }
}

const SHAPES: ValueShape[] = [
  { rowCount: 0, nulls: 0, distinct: 1 },
  { rowCount: 1, nulls: 0, distinct: 1 },
  { rowCount: 50, nulls: 1, distinct: 1 },
  { rowCount: 6000, nulls: 0.3, distinct: 300 },
];

const CASES: [IndexKind, Record<string, unknown>][] = [
  [ZONEMAP, { rowsPerZone: 16 }],
  [BLOOMFILTER, { rowsPerZone: 64, bloomfilter_probability: 0.01 }],
];

describe.each(
  CASES.flatMap(([kind, parameters]) =>
    ORDERED_TYPES.filter((type) => kind.refusal(fieldOf(type)) === null).map(
      (type) => [kind.name, type, kind, parameters] as const,
    ),
  ),
)("%s of %s", (_, type, kind, parameters) => {
  const field = fieldOf(type);

  it.each(SHAPES)("excludes no matching row: $rowCount rows, $nulls nulls", async (shape) => {
    const random = new Random(shape.rowCount + 1);
    const values = drawValues(random, field.type, shape);
    const directory = await makeTempDir();
    await kind.build(placed(type, values), targetOf(directory, field, parameters));
    const files = filesIn(directory);
    const index = await kind.open(files, field);
    // Zones may include missing rows.
    expect(await expectAnswers(type, index, values, random, inFragment)).toBeGreaterThan(1);
    await files.close();
  });
});

describe.each(CASES)("$name", (kind, parameters) => {
  const field = fieldOf("int32");
  const values = Array.from({ length: 6000 }, (_, row) => int32(row));

  it("selects few zones, and a merge keeps zones of unchanged fragments", async () => {
    const directory = await makeTempDir();
    await kind.build(placed("int32", values), targetOf(directory, field, parameters));
    const files = filesIn(directory);
    const index = await kind.open(files, field);
    const query = { kind: "in", values: columnOf(field.type, [int32(3210)]) } as const;
    const zoneRows = rowsOfAnswer((await index.search(query)).rows, inFragment);
    expect(zoneRows).toContain(3210);
    expect(zoneRows.length).toBeLessThanOrEqual(kind === ZONEMAP ? 16 : 1000);
    const moves = {
      move: () => ({ ids: new Uint32Array(0), kept: null }),
      keepsIds: () => false,
      lowsBelow: () => 0,
      keepsFragment: (fragmentId: number) => fragmentId === 3,
    };
    const merged = await makeTempDir();
    const added = async function* (): AsyncGenerator<IndexRows> {
      const offsets = Uint32Array.of(5, 6, 40);
      yield {
        values: columnOf(field.type, [int32(3210), null, int32(-1)]),
        ids: uint64Column(new Uint32Array(6)),
        fragmentRows: { fragmentId: 9, offsets },
        rowCount: 3,
      };
    };
    await kind.merge([{ index, moves }], added(), targetOf(merged, field, parameters));
    const again = await kind.open(filesIn(merged), field);
    const { rows } = await again.search(query);
    expect(rows.highWords().filter((high) => high !== 3 && high !== 9)).toEqual([]);
    expect([rows.has(3, 3210), rows.has(9, 5)]).toEqual([true, true]);
    const nulls = await again.search({ kind: "isNull" });
    expect(nulls.rows.has(9, 6)).toBe(true);
    await files.close();
  });

  it("refuses invalid parameters", async () => {
    for (const name of Object.keys(parameters)) {
      for (const value of [0, -1, Number.NaN, "8", null, 2 ** 40]) {
        const target = targetOf(await makeTempDir(), field, { [name]: value });
        if (value === null) continue;
        await expect(kind.build(placed("int32", values), target), `${name} ${value}`).rejects.toThrow(
          InvalidInputError,
        );
      }
    }
  });
});

it("ZONEMAP finds NaN in zones of other writers, whether their bounds include it or not", async () => {
  const [signed, length] = [double(Number.NaN), 4];
  signed[7] |= 0x80;
  const zones: [min: Value, max: Value, nanCount: number][] = [
    [double(1), double(2), 2],
    [null, null, length],
    [double(Number.NaN), double(Number.NaN), length],
    [double(1), double(Number.NaN), 1],
    [signed, double(7), 1],
    [double(1), double(7), 0],
  ];
  const directory = await makeTempDir();
  const field = fieldOf("double");
  const columns = [
    { name: "min", type: field.type, nullable: true },
    { name: "max", type: field.type, nullable: true },
    { name: "null_count", type: UINT32 },
    { name: "nan_count", type: UINT32 },
    ...ZONE_COLUMNS,
  ];
  const batches = async function* () {
    const bounds = [0, 1].map((bound) =>
      columnOf(
        field.type,
        zones.map((zone) => zone[bound] as Value),
      ),
    );
    const counts = [zones.map(() => 0), zones.map(([, , count]) => count)];
    const places = zones.map((_, fragmentId) => ({ fragmentId, start: 0, length }));
    const counted = counts.map((words) => uint32Column(Uint32Array.from(words)));
    yield { columns: [...bounds, ...counted, ...zoneColumns(places)], rowCount: zones.length };
  };
  await writeIndexFile(targetOf(directory, field), "zonemap.lance", columns, batches());
  const files = filesIn(directory);
  const index = await ZONEMAP.open(files, field);
  const searchRows = async (query: Parameters<typeof index.search>[0]): Promise<number[]> => [
    ...new Set((await index.search(query)).rows.highWords()),
  ];
  const points = (value: Uint8Array) => ({ kind: "in", values: columnOf(field.type, [value]) }) as const;
  const bound = (value: number) => ({ value: columnOf(field.type, [double(value)]), isInclusive: false });
  expect(await searchRows(points(double(Number.NaN)))).toEqual([0, 1, 2, 3, 4]);
  expect(await searchRows(points(signed))).toEqual([0, 1, 2, 3, 4]);
  expect(await searchRows(points(double(2)))).toEqual([0, 3, 4, 5]);
  expect(await searchRows({ kind: "range", lower: bound(7), upper: null })).toEqual([0, 1, 2, 3, 4]);
  expect(await searchRows({ kind: "range", lower: null, upper: bound(1) })).toEqual([0, 1, 2, 3, 4]);
  expect(await searchRows({ kind: "range", lower: bound(4), upper: bound(5) })).toEqual([0, 1, 2, 3, 4, 5]);
  await files.close();
});

it("Bloom filters have the sizes of other writers", () => {
  expect(filterBytes(10, 0.01)).toBe(32);
  expect(filterBytes(8192, 0.00057)).toBe(32_768);
});

describe("NGRAM", () => {
  const field = fieldOf("string");
  const words = [
    "Straße",
    "STRASSE",
    "naïve café",
    "cafe\u0301s",
    "abc-def",
    "x1y2z3",
    "ab",
    "",
    "日本語 text",
    "A\u212Ble",
  ];

  it("excludes no matching text", async () => {
    const random = new Random(3);
    const texts = Array.from({ length: 3000 }, (_, row) => {
      if (row % 17 === 0) return null;
      return `${words[random.below(words.length)]}${random.below(50)}${words[random.below(words.length)]}`;
    });
    const values = texts.map((value) => (value === null ? null : text(value)));
    const directory = await makeTempDir();
    await NGRAM.build(
      rowsOf(
        field.type,
        values,
        values.map((_, row) => idOf(row)),
      ),
      targetOf(directory, field),
    );
    const files = filesIn(directory);
    const index = await NGRAM.open(files, field);
    for (const wanted of [...words, "afe", "ra\u00dfe", "e4", "ext", "zzz9", "strass", "2z3", "bc-de"]) {
      for (const query of [
        { kind: "contains", text: wanted },
        { kind: "startsWith", prefix: wanted },
      ] as const) {
        if (!index.answers(query)) continue;
        const { rows, isExact } = await index.search(query);
        expect(isExact).toBe(false);
        const answerRows = new Set(rowsOfAnswer(rows));
        const holding = [...texts.keys()].filter((row) => texts[row]?.includes(wanted));
        expect(
          holding.filter((row) => !answerRows.has(row)),
          wanted,
        ).toEqual([]);
        expect(index.estimate(query).rows).toBeGreaterThanOrEqual(0);
      }
    }
    const none = await index.search({ kind: "contains", text: "zzz9" });
    expect(none.rows.size).toBe(0);
    expect(index.answers({ kind: "contains", text: "ab" })).toBe(false);
    expect(index.answers({ kind: "contains", text: "日本語" })).toBe(false);
    await files.close();
  });
});

it("BLOOMFILTER refuses types that LanceDB cannot read", () => {
  expect(ORDERED_TYPES.filter((type) => BLOOMFILTER.refusal(fieldOf(type)) !== null)).toEqual([
    "bool",
    "halffloat",
    "fixed_size_binary:5",
  ]);
});
