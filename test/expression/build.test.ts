import { col, InvalidInputError, lit, sql } from "tiltyard";
import { expect, it } from "vitest";
import { parseExpression } from "../../src/expression/parse/parse.js";
import { printExpression } from "../../src/expression/parse/print.js";

it.each([
  [col("a.b").gt(3).and(col("c").eq("it's")), "(`a`.b > 3) AND (`c` = 'it''s')"],
  [col("a").in([1, 2n, null]), "`a` IN (1, 2, NULL)"],
  [col("a").in([]), "FALSE"],
  [col("a").notIn([]), "TRUE"],
  [col("a").between(lit(-1), 2.5), "`a` BETWEEN (-1) AND 2.5"],
  [col("a").like("x\\%%", "!").not(), "NOT (`a` LIKE 'x\\%%' ESCAPE '!')"],
  [col("`a.b`").isNotNull().or(true), "(`a.b` IS NOT NULL) OR TRUE"],
  [
    col("a").plus(1).times(col("b")).lte(new Date(0)),
    "((`a` + 1) * `b`) <= TIMESTAMP '1970-01-01 00:00:00.000'",
  ],
  [col("a").eq(Uint8Array.of(0, 255)), "`a` = X'00ff'"],
  [col("a").cast("decimal(10, 2)").gt(1), "CAST(`a` AS DECIMAL(10, 2)) > 1"],
  [col("a").eq(Number.NaN), "`a` = CAST('NaN' AS DOUBLE)"],
  [col("a").eq(2 ** 60), "`a` = 1152921504606847000.0"],
  [sql`lower(${col("a")}) = ${"'; drop"} and ${col("b").eq(1)}`, "(lower(`a`) = '''; drop') AND (`b` = 1)"],
  [sql`${"x"} in (${1}, ${[1, 2]})`, "'x' IN (1, [1, 2])"],
])("%s", (expression, expected) => {
  const text = expression.toString();
  expect(text).toBe(expected);
  expect(printExpression(parseExpression(text, "filter")).length).toBeGreaterThan(0);
});

it.each([
  () => col(""),
  () => sql`a = `,
  () => col("a").like("x", "yz"),
  () => col("a").cast("int) = 1 or (1"),
])("refuses what is none: %#", (make) => {
  expect(make).toThrow(InvalidInputError);
});
