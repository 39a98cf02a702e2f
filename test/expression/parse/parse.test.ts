import { InvalidInputError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { parseExpression } from "../../../src/expression/parse/parse.js";
import { printExpression } from "../../../src/expression/parse/print.js";

const printed = (text: string): string => printExpression(parseExpression(text, "filter"));

describe("expressions as text", () => {
  it.each([
    ["a = 1", "a = 1"],
    ["a == 1", "a = 1"],
    ["a <> 1", "a != 1"],
    ["a=1 or b=2 and not c", "(a = 1) OR ((b = 2) AND (NOT c))"],
    ["a and b and c", "a AND b AND c"],
    ["(a or b) or c", "a OR b OR c"],
    ["a or (b or c)", "a OR b OR c"],
    ["not a = b", "NOT (a = b)"],
    ["not a is null", "NOT (a IS NULL)"],
    ["a + b * c - d", "(a + (b * c)) - d"],
    ["a || b || c = 'x'", "((a || b) || c) = 'x'"],
    ["-a * b", "(-a) * b"],
    ["- -1", "-(-1)"],
    ["a - -1", "a - (-1)"],
    ["a in (1, -2, 'x', b)", "a IN (1, -2, 'x', b)"],
    ["a not in (1)", "a NOT IN (1)"],
    ["a between 1 and 2 and b", "(a BETWEEN 1 AND 2) AND b"],
    ["a not between b + 1 and 2", "a NOT BETWEEN (b + 1) AND 2"],
    ["a like 'x%' escape '!'", "a LIKE 'x%' ESCAPE '!'"],
    ["a not ilike 'x''y'", "a NOT ILIKE 'x''y'"],
    ["a is not true", "a IS NOT TRUE"],
    ["a is unknown", "a IS UNKNOWN"],
    ["a is not distinct from b", "a IS NOT DISTINCT FROM b"],
    ["cast(a as int unsigned)", "CAST(a AS INT UNSIGNED)"],
    ["try_cast(a as decimal(10, 2))", "TRY_CAST(a AS DECIMAL(10, 2))"],
    ["a::int::string", "CAST(CAST(a AS INT) AS STRING)"],
    ["a.b.c = 1", "a.b.c = 1"],
    ["a['b'] = 1", "a.b = 1"],
    ["`a b`.`c``d` = 1", "`a b`.`c``d` = 1"],
    ['"a" = 1', "`a` = 1"],
    ["a[1]", "a[1]"],
    ["[1, 'x']", "[1, 'x']"],
    ["array[1]", "[1]"],
    ["date '2020-01-01'", "CAST('2020-01-01' AS DATE)"],
    ["date = 1", "date = 1"],
    ["x'0aFF'", "X'0aff'"],
    ["case when a then 1 else 2 end", "CASE WHEN a THEN 1 ELSE 2 END"],
    ["case a when 1 then 'x' end", "CASE a WHEN 1 THEN 'x' END"],
    ["LOWER(a)", "lower(a)"],
    ["extract(year from a)", "date_part('year', a)"],
    ["position('l' in a)", "strpos(a, 'l')"],
    ["trim(both 'x' from a)", "btrim(a, 'x')"],
    ["substring(a from 2 for 3)", "substring(a, 2, 3)"],
    ["a > $min", "a > $min"],
    ["a -- b\n = 1", "a = 1"],
    ["a /* b /* c */ */ = 1", "a = 1"],
    ["a = 1;", "a = 1"],
    ["größe = 'é😀'", "`größe` = 'é😀'"],
    [".5 < 5. and 1e3 > 1.5E-3", "(.5 < 5.) AND (1e3 > 1.5E-3)"],
  ])("%s", (text, expected) => {
    expect(printed(text)).toBe(expected);
    expect(printed(printed(text))).toBe(expected);
  });

  it.each([
    ["", "is empty"],
    ["a >", "ends where an operand was expected at position 3"],
    ["a > and b", "expected an operand, not and at position 4"],
    ["a = 'x", "unclosed quote at position 4"],
    ["a = 1 b", "unexpected b after the end"],
    ["a = 1; drop table t", "unexpected drop after the end"],
    ["(a = 1", "expected ), not the end at position 6"],
    ["a in ()", "expected a value"],
    ["a in (select 1)", "subqueries are not supported at position 6"],
    ["(select 1) = 1", "subqueries are not supported"],
    ["exists (select 1)", "subqueries are not supported"],
    ["select * from t", "subqueries are not supported"],
    ["a ? b", 'unexpected character "?" at position 2'],
    ["a && b", 'unexpected character "&"; in SQL, it is AND at position 2'],
    ["!(a)", 'unexpected character "!"; in SQL, it is NOT at position 0'],
    ["a like 'x' escape 'yz'", "expected one character"],
    ["a /* b", "unclosed comment at position 2"],
    ["a.'b'", "expected a name after the dot"],
    ["cast(a as)", "expected a type"],
    ["``= 1", "an empty name at position 0"],
    ["a is 1", "expected NULL, TRUE"],
    ["x'zz'", "expected hexadecimal digits"],
    ["a = $", "expected a name behind $"],
    [`${"(".repeat(100)}a`, "nested deeper than 64"],
    [`${"not ".repeat(100)}a`, "nested deeper than 64"],
    [`a${" + a".repeat(1000)}`, "more than 512 operators in a row"],
  ])("%s is refused", (text, reason) => {
    expect(() => parseExpression(text, "filter")).toThrow(InvalidInputError);
    expect(() => parseExpression(text, "filter")).toThrow(reason);
  });

  it("errors have a caret below their position", () => {
    const message = (text: string): string => {
      try {
        parseExpression(text, "filter");
      } catch (error) {
        return (error as Error).message;
      }
      return "";
    };
    expect(message("x > 1 and\tand y")).toBe(
      ["filter: expected an operand, not and at position 10", "    x > 1 and and y", "              ^"].join(
        "\n",
      ),
    );
    const long = `${"a = 1 and ".repeat(1000)}b = = 2`;
    const [, line, caret] = message(long).split("\n");
    expect(line.length).toBeLessThan(100);
    expect(line.slice(caret.indexOf("^")).startsWith("= 2")).toBe(true);
  });

  it("AND, OR and IN may have any length", () => {
    const or = Array.from({ length: 10_000 }, (_, index) => `a = ${index}`).join(" or ");
    const parsed = parseExpression(or, "filter");
    expect(parsed.kind === "or" && parsed.operands.length).toBe(10_000);
    const list = `a in (${Array.from({ length: 100_000 }, (_, index) => index * 7).join()})`;
    const start = performance.now();
    const parsedList = parseExpression(list, "filter");
    expect(performance.now() - start).toBeLessThan(1000);
    expect(parsedList.kind === "in" && parsedList.items.length).toBe(100_000);
  });

  it("texts may have any length, with doubled quotes anywhere", () => {
    for (const text of ["", "'", "''", "é'☃😀'", "'a", "a'"]) {
      for (const length of [0, 4094, 4095, 4096, 4097, 8192, 9000]) {
        for (const filling of ["'", "x", "😀"]) {
          const value = filling.repeat(length) + text;
          const parsed = parseExpression(`'${value.replaceAll("'", "''")}'`, "filter");
          expect(parsed).toMatchObject({ kind: "text", value });
        }
      }
    }
    for (const open of ["'''", "'a''", "'''a", `'${"''".repeat(5000)}`])
      expect(() => parseExpression(open, "filter"), open.slice(0, 9)).toThrow(/unclosed quote/);
  });
});
