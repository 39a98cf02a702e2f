/** Zone maps, Bloom filters and trigrams, which the test builds because LanceDB for Node.js cannot. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Schema, Table, Utf8 } from "apache-arrow";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { columnOfScalars } from "../../../src/expression/values/scalars.js";
import type { PlainType } from "../../../src/expression/values/types.js";
import { IndexMetadata } from "../../../src/format/table.js";
import { uint64Column } from "../../../src/indexes/indexColumns.js";
import type { IndexKindName, IndexRows } from "../../../src/indexes/kind.js";
import { kindOfName } from "../../../src/indexes/kinds/kinds.js";
import type { TableField } from "../../../src/schema/schema.js";
import { withCoverage } from "../../../src/table/commit/indexCoverage.js";
import { targetOf } from "../../indexes/indexDirectory.js";
import { fieldOf, int32s, utf8s } from "../../support/arrowColumns.js";
import { changeIndexes } from "../../support/changeIndexes.js";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";

const root = sharedDirectory();
const namespace = sharedNamespace({ root });

const FRAGMENTS = 3;
const ROWS = 400;
const SCHEMA = new Schema([
  fieldOf("id", new Int32(), false),
  fieldOf("n", new Int32()),
  fieldOf("s", new Utf8()),
]);

const numberOf = (id: number): number | null => (id % 11 === 0 ? null : Math.floor(id / 20) + (id % 3));
const textOf = (id: number): string | null =>
  id % 7 === 0 ? null : ["Abcdef", "xabcy", "abc", "éclair", "ab", "zzz abd"][id % 6];

function rowsFrom(first: number): Table {
  const ids = Array.from({ length: ROWS }, (_, row) => first + row);
  return new Table(SCHEMA, {
    id: int32s(ids),
    n: int32s(ids.map(numberOf)),
    s: utf8s(ids.map(textOf)),
  } as never);
}

const FIELDS: Readonly<Record<"n" | "s", Pick<TableField, "id" | "name" | "type">>> = {
  n: { id: 1, name: "n", type: { kind: "int", bits: 32, signed: true } },
  s: { id: 2, name: "s", type: { kind: "string", large: false } },
};

/** Rows of the first fragments for an index build. */
async function* indexRows(column: "n" | "s", stableRowIds: boolean): AsyncGenerator<IndexRows> {
  for (let fragmentId = 0; fragmentId < FRAGMENTS - 1; fragmentId++) {
    const ids = Array.from({ length: ROWS }, (_, row) => fragmentId * ROWS + row);
    const words = new Uint32Array(2 * ROWS);
    for (let row = 0; row < ROWS; row++) {
      words[2 * row] = stableRowIds ? fragmentId * ROWS + row : row;
      words[2 * row + 1] = stableRowIds ? 0 : fragmentId;
    }
    const values = ids.map((id) => (column === "n" ? numberOf(id) : textOf(id)));
    yield {
      values: columnOfScalars(FIELDS[column].type as PlainType, values),
      ids: uint64Column(words),
      fragmentRows: { fragmentId, offsets: Uint32Array.from({ length: ROWS }, (_, row) => row) },
      rowCount: ROWS,
    };
  }
}

const CASES: readonly [IndexKindName, "n" | "s"][] = [
  ["ZONEMAP", "n"],
  ["ZONEMAP", "s"],
  ["BLOOMFILTER", "n"],
  ["BLOOMFILTER", "s"],
  ["NGRAM", "s"],
];

const atom = fc.oneof(
  fc
    .tuple(fc.constantFrom("=", "!=", "<", "<=", ">", ">="), fc.integer({ min: -1, max: 65 }))
    .map(([op, n]) => `n ${op} ${n}`),
  fc.array(fc.integer({ min: -1, max: 65 }), { minLength: 1, maxLength: 5 }).map((list) => `n in (${list})`),
  fc.constantFrom("n is null", "s is not null", "s = 'abc'", "s in ('ab', 'x')", "s < 'b'", "id % 2 = 0"),
  fc
    .tuple(
      fc.constantFrom("", "not "),
      fc.constantFrom("abc%", "%abc%", "%b_d%f", "ab%", "%zz a%", "A%", "%\u00e9cl%"),
    )
    .map(([not, pattern]) => `s ${not}like '${pattern}'`),
  fc.constantFrom("contains(s, 'abc')", "contains(s, 'ab')", "contains(s, 'Abc')", "starts_with(s, 'abc')"),
);
const filter = fc.oneof(
  atom,
  fc.tuple(atom, fc.constantFrom("and", "or", "and not"), atom).map((parts) => parts.join(" ")),
);

describe.each([false, true])("inexact indexes with stable row ids: %s", (stableRowIds) => {
  it.each(CASES)("%s of %s finds every row", { timeout: 60_000 }, async (kindName, column) => {
    const name = `${kindName}_${column}_${stableRowIds}`;
    await namespace.createTable({ id: [name], stableRowIds }, rowsFrom(0));
    for (let fragment = 1; fragment < FRAGMENTS; fragment++)
      await namespace.insertIntoTable({ id: [name] }, rowsFrom(fragment * ROWS));
    await namespace.table(name).delete("id % 13 = 3");
    const kind = kindOfName(kindName);
    if (kind === null) throw new Error(`no kind ${kindName}`);
    const uuid = Uint8Array.from({ length: 16 }, (_, byte) => byte + 1);
    const directory = join(root, `${name}.lance`, "_indices", "01020304-0506-0708-090a-0b0c0d0e0f10");
    await mkdir(directory, { recursive: true });
    const field: TableField = { ...FIELDS[column], nullable: true, metadata: new Map(), children: [] };
    await kind.build(indexRows(column, stableRowIds), targetOf(directory, field, { rowsPerZone: 50 }));
    const index = IndexMetadata.create({
      uuid: { uuid },
      fields: [field.id],
      name: `${column}_idx`,
      indexDetails: { typeUrl: kind.typeUrl, value: new Uint8Array() },
      indexVersion: kind.indexVersion,
    });
    await changeIndexes(join(root, `${name}.lance`), () => [withCoverage(index, [0, 1])]);
    const find = async (text: string, useScalarIndex: boolean): Promise<unknown[]> => {
      const scan = namespace.table(name).scan({ filter: text, columns: ["id"], useScalarIndex });
      return Array.from((await scan.toArrow()).getChild("id") ?? []);
    };
    const query = {
      filter: kindName === "NGRAM" ? "contains(s, 'abc')" : `${column} = ${column === "n" ? 7 : "'abc'"}`,
    };
    const plan = await namespace.explainTableQueryPlan({
      id: [name],
      query: { ...query, useScalarIndex: true },
    });
    expect(plan).toMatch(/IndexSearch: .*answer=candidates, fragments=2/);
    await fc.assert(
      fc.asyncProperty(filter, async (text) => {
        expect(await find(text, true), text).toEqual(await find(text, false));
      }),
      { numRuns: 60 },
    );
  });
});
