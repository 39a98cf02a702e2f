import { InvalidInputError, NamespaceError } from "tiltyard";
import { beforeAll, describe, expect, it } from "vitest";
import { formatType } from "../../src/arrow/types/type.js";
import { runSync } from "../../src/async/eventLoop.js";
import { parseConstant } from "../../src/expression/expression.js";
import { loadFunctions } from "../support/loadFunctions.js";

beforeAll(loadFunctions);

/** The value as text; numbers as they are stored. */
function show(text: string): string {
  const { type, value } = runSync(parseConstant(text, "expression of column c"));
  const logicalType = formatType(type);
  if (value === null) return `${logicalType} NULL`;
  if (value.kind === "bits") return `${logicalType} ${value.bits[0]}`;
  if (value.kind === "variable") {
    return logicalType === "binary"
      ? `binary ${Array.from(value.bytes)}`
      : `${logicalType} ${JSON.stringify(new TextDecoder().decode(value.bytes))}`;
  }
  if (value.kind !== "fixed") throw new Error(value.kind);
  const view = new DataView(value.values.buffer, value.values.byteOffset, value.byteWidth);
  if (logicalType === "float") return `float ${view.getFloat32(0, true)}`;
  if (logicalType === "double") return `double ${view.getFloat64(0, true)}`;
  let number = 0n;
  for (const byte of Array.from(value.values).reverse()) number = (number << 8n) | BigInt(byte);
  if (!logicalType.startsWith("u")) number = BigInt.asIntN(value.byteWidth * 8, number);
  return `${logicalType} ${number}`;
}

describe("SQL constants", () => {
  it.each([
    ["7", "int64 7"],
    [" ( -7 ) ", "int64 -7"],
    ["9223372036854775807", "int64 9223372036854775807"],
    ["-9223372036854775808", "int64 -9223372036854775808"],
    ["9223372036854775808", "uint64 9223372036854775808"],
    ["18446744073709551616", "double 18446744073709552000"],
    ["1.5", "double 1.5"],
    [".5", "double 0.5"],
    ["5.", "double 5"],
    ["-1.5e-3", "double -0.0015"],
    ["1E3", "double 1000"],
    ["'it''s'", 'string "it\'s"'],
    ["''", 'string ""'],
    ["'é\n--'", 'string "é\\n--"'],
    ["true", "bool 1"],
    ["False", "bool 0"],
    ["null", "null NULL"],
    ["x'00fF'", "binary 0,255"],
    ["CAST(NULL AS double)", "double NULL"],
    ["cast(null as decimal(10, 2))", "decimal:128:10:2 NULL"],
    ["cast(null as timestamp)", "timestamp:us:- NULL"],
    ["cast(null as timestamp(3))", "timestamp:ms:- NULL"],
    ["cast(7 as int)", "int32 7"],
    ["cast(-7 as tinyint)", "int8 -7"],
    ["cast(200 as tinyint unsigned)", "uint8 200"],
    ["cast('+42' as bigint)", "int64 42"],
    ["cast(1.9 as int)", "int32 1"],
    ["cast(true as smallint)", "int16 1"],
    ["cast(cast(7 as int) as bigint)", "int64 7"],
    ["7::int::double", "double 7"],
    ["cast(0.1 as float)", `float ${Math.fround(0.1)}`],
    ["cast('1e3' as double)", "double 1000"],
    ["cast(0 as boolean)", "bool 0"],
    ["cast('TRUE' as boolean)", "bool 1"],
    ["cast(12 as string)", 'string "12"'],
    ["cast('é' as binary)", "binary 195,169"],
    ["cast(1.005 as decimal(10,2))", "decimal:128:10:2 101"],
    ["cast(-0.125 as decimal(3,2))", "decimal:128:3:2 -13"],
    ["cast('12345678901234567890.5' as decimal(38,1))", "decimal:128:38:1 123456789012345678905"],
    ["date '2020-02-29'", "date32:day 18321"],
    ["date '1969-12-31'", "date32:day -1"],
    ["cast('0001-01-01' as date)", "date32:day -719162"],
    ["timestamp '2020-01-01 00:00:00.123456'", "timestamp:us:- 1577836800123456"],
    ["cast('1969-12-31T23:59:59.999999999' as timestamp(9))", "timestamp:ns:- -1"],
    ["cast('2020-01-01' as timestamp(0))", "timestamp:s:- 1577836800"],
    ["1 + 1", "int64 2"],
    ["- -7", "int64 7"],
    ["0x10", "binary 16"],
    ["7 -- c", "int64 7"],
    ["case when true then 1 end", "int64 1"],
    ["'a' || 'b'", 'string "ab"'],
    ["not true", "bool 0"],
    ["try_cast('x' as int)", "int32 NULL"],
    ["upper('é')", 'string "É"'],
    ["7 / 2", "int64 3"],
    ["7 / 2.0", "double 3.5"],
  ])("%s", (text, expected) => {
    expect(show(text)).toBe(expected);
  });

  it.each([
    "id",
    "7 8",
    "+7",
    "-'7'",
    '"a"',
    "'a' 'b'",
    "random()",
    "uuid()",
    "cast(id as int)",
    "cast(' 42' as bigint)",
    "cast(1 as varchar)",
    "cast(1 as int[])",
    "1_000",
    "E'a'",
    "interval '1 day'",
    "7; drop table t",
    "(1, 2)",
    "timestamp 5",
    "decimal(10,2)",
  ])("%s is none", (text) => {
    const refused = () => runSync(parseConstant(text, "expression of column c"));
    expect(refused).toThrow(/column c/);
    expect(refused).toThrow(NamespaceError);
  });

  it.each([
    "",
    "   ",
    "'abc",
    "cast(7 as int",
    "(7",
    "cast(300 as tinyint)",
    "cast(-1 as int unsigned)",
    "cast('x' as int)",
    "cast('' as double)",
    "cast('constructor' as double)",
    "cast('maybe' as boolean)",
    "x'zz'",
    "date '2020-02-30'",
    "date 'today'",
    "timestamp '2020-01-01 25:00:00'",
    "cast('9999-01-01' as timestamp(9))",
    "cast(null as timestamp(4))",
    "cast(1 as decimal(0,0))",
    "cast(1 as decimal(39,0))",
    "cast(100 as decimal(3,1))",
    `${"(".repeat(100)}7${")".repeat(100)}`,
  ])("%s has no value", (text) => {
    expect(() => runSync(parseConstant(text, "c"))).toThrow(InvalidInputError);
  });

  it("a constant of 64 KiB is parsed once, and a longer one is refused", () => {
    expect(show(`'${"''".repeat(32_000)}'`).length).toBe(32_000 + 'string ""'.length);
    expect(() => runSync(parseConstant(`'${"''".repeat(32_000)}`, "c"))).toThrow(InvalidInputError);
    expect(() => runSync(parseConstant("7::int".concat("::int".repeat(10_000)), "c"))).not.toThrow();
    expect(() => runSync(parseConstant("7".padEnd(65_536), "c"))).not.toThrow();
    expect(() => runSync(parseConstant("7".padEnd(65_537), "c"))).toThrow(/more than 65536 characters/);
  });
});
