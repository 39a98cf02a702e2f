/** Filters of a megabyte never block the event loop: parsing, binding and planning run in small steps. */

import { tableFromArrays } from "apache-arrow";
import { col, InvalidInputError, NamespaceError } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { parseType } from "../../src/arrow/types/type.js";
import { runSync } from "../../src/async/eventLoop.js";
import { bindFilter } from "../../src/expression/expression.js";
import { sharedNamespace } from "../support/fixtures.js";
import { loadFunctions } from "../support/loadFunctions.js";

const FIELDS = [
  { name: "i", type: parseType("int64"), children: [] },
  { name: "f", type: parseType("double"), children: [] },
  { name: "s", type: parseType("string"), children: [] },
];
const MEGABYTE = 1_000_000;

/** Repeats parts with text between them up to a megabyte. */
function long(partAt: (index: number) => string, between: string): string {
  const parts: string[] = [];
  for (let index = 0, length = 0; length < MEGABYTE; index++) {
    parts.push(partAt(index));
    length += parts[index].length + between.length;
  }
  return parts.join(between);
}

/** Maximum number of parts of a text per step: operands, items and branches count as one each. */
const PARTS_PER_STEP = 100;

const SHAPES: readonly (readonly [name: string, text: string, parts: number])[] = [
  ["IN of numbers", `i in (${long((index) => String(index), ",")})`, 150_000],
  ["IN of texts", `s in (${long((index) => `'text ${index}'`, ",")})`, 70_000],
  ["IN of sums", `i in (${long((index) => `${index} + 1`, ",")})`, 90_000],
  ["IN of columns", `i in (${long(() => "i", ",")})`, 400_000],
  ["OR of equalities", long((index) => `i = ${index}`, " or "), 70_000],
  ["OR of ANDs", long((index) => `(i = ${index} and f < ${index})`, " or "), 90_000],
  ["OR of ranges", long((index) => `i between ${index} and ${index + 1}`, " or "), 80_000],
  ["AND of negations", long((index) => `not (i = ${index})`, " and "), 80_000],
  ["OR of patterns", long((index) => `s like '%${index}x%'`, " or "), 80_000],
  ["CASE", `case ${long((index) => `when i = ${index} then ${index}`, " ")} else 0 end = 5`, 80_000],
  ["a list", `array_has([${long((index) => String(index), ",")}], i)`, 150_000],
];

beforeAll(loadFunctions);

describe("a megabyte of text", () => {
  it.each(SHAPES)("%s is bound in steps", (_, text, parts) => {
    const steps = bindFilter(text, {}, FIELDS, "filter");
    let count = 0;
    while (steps.next().done !== true) count++;
    expect(count).toBeGreaterThan(parts / PARTS_PER_STEP);
  });

  it.each([
    ["a text of doubled quotes", (quotes: string) => `s = '${quotes}'`],
    ["one after comments", (quotes: string) => `s /* ' /* */ " */ = -- it's\n '${quotes}'`],
    ["a name of doubled quotes", (quotes: string) => `s = "${quotes.replaceAll("'", '"')}"`],
    ["a text that nothing ends", (quotes: string) => `s = '${quotes}`],
  ])("%s is read in steps", (_, filterOf) => {
    const steps = bindFilter(filterOf("''".repeat(MEGABYTE / 2)), {}, FIELDS, "filter");
    let count = 0;
    try {
      while (steps.next().done !== true) count++;
    } catch (error) {
      expect(error).toBeInstanceOf(NamespaceError);
    }
    expect(count).toBeGreaterThan(6);
  });

  it("a filter that fails does so between its steps", () => {
    const steps = bindFilter(`${long((index) => `i = ${index}`, " or ")} or`, {}, FIELDS, "filter");
    let count = 0;
    const run = () => {
      while (steps.next().done !== true) count++;
    };
    expect(run).toThrow(InvalidInputError);
    expect(count).toBeGreaterThan(1000);
  });

  it.each([
    ["a regular expression", `regexp_like(s, '${"a".repeat(MEGABYTE)}')`],
    ["wildcards", `s like '${"%a".repeat(MEGABYTE / 2)}'`],
    ["a pattern in any case", `s ilike '%${"aé".repeat(MEGABYTE / 2)}%'`],
    ["operands of a function", `concat(${long((index) => `'${index}'`, ",")}) = s`],
    ["members", `${long(() => "a", ".")} = 1`],
  ])("%s is refused without work on it", (_, text) => {
    const steps = bindFilter(text, {}, FIELDS, "filter");
    expect(() => {
      while (steps.next().done !== true);
    }).toThrow(InvalidInputError);
  });

  it("a megabyte of digits, or of comments, is one token", () => {
    for (const text of [
      `i = ${"9".repeat(MEGABYTE)}`,
      `i = ${"0".repeat(MEGABYTE)}7`,
      `f = 1.${"9".repeat(MEGABYTE)}`,
      `i = 7 ${"-- x\n".repeat(MEGABYTE / 5)}`,
    ]) {
      expect(bindFilter(text, {}, FIELDS, "filter").next().done).toBe(true);
    }
    // The other cases of characters are loaded in steps, once.
    expect(runSync(bindFilter(`s ilike '%${"b".repeat(1000)}%'`, {}, FIELDS, "filter")).type.kind).toBe(
      "bool",
    );
  });
});

describe("a short filter", () => {
  it("takes no step", () => {
    const text = "i > 5 and s like 'a%' or f between 1 and 2 and i in (1, 2, 3, 4, 5, 6, 7, 8)";
    expect(bindFilter(text, {}, FIELDS, "filter").next().done).toBe(true);
  });
});

describe("the event loop during a long filter", () => {
  const namespace = sharedNamespace();
  beforeAll(async () => {
    const rows = tableFromArrays({
      i: Int32Array.of(1, 2, 3),
      f: Float64Array.of(5, 5, 1),
      s: ["a", "b", "c"],
    });
    await namespace.createTable({ id: ["t"] }, rows);
  });

  async function turnsDuring(work: Promise<number>): Promise<[turns: number, result: number]> {
    let turns = 0;
    let timer = setImmediate(function turn() {
      turns++;
      timer = setImmediate(turn);
    });
    try {
      const result = await work;
      return [turns, result];
    } finally {
      clearImmediate(timer);
    }
  }

  it("turns for SQL text", async () => {
    const text = long((index) => `(i = ${index} and f < ${index * 2})`, " or ");
    const [turns, count] = await turnsDuring(namespace.table("t").countRows(text));
    expect(count).toBe(1);
    expect(turns).toBeGreaterThan(20);
  });

  it("turns for an expression that a program built", async () => {
    const parts = Array.from({ length: 20_000 }, (_, index) =>
      col("i")
        .eq(index)
        .and(col("f").lt(2 * index)),
    );
    const [turns, count] = await turnsDuring(namespace.table("t").countRows(parts[0].or(...parts.slice(1))));
    expect(count).toBe(1);
    expect(turns).toBeGreaterThan(20);
  });
});
