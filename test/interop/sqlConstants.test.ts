/** SQL constants of new columns have the same type and value in both engines. */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Schema } from "apache-arrow";
import { InvalidInputError, TableColumnNotFoundError, UnsupportedError } from "tiltyard";
import { expect, it } from "vitest";
import { fieldOf } from "../support/arrowColumns.js";
import { rowsOf, Side } from "../support/columnChanges.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { errorOf } from "../support/outcomes.js";
import { compareTables, reference } from "../support/reference.js";

const BOTH = [
  "0",
  "-0",
  "007",
  "2147483647",
  "2147483648",
  "-2147483648",
  "-2147483649",
  "9223372036854775807",
  "9223372036854775808",
  "18446744073709551615",
  "18446744073709551616",
  "1.5",
  "-1.5",
  ".5",
  "5.",
  "1e3",
  "1E-3",
  "1.0e400",
  "true",
  "FALSE",
  "null",
  "''",
  "'it''s'",
  "'é😀'",
  "'a\nb'",
  "x'00ff'",
  "X'AB'",
  "cast(1 as tinyint)",
  "cast(1 as smallint)",
  "cast(1 as int)",
  "cast(1 as integer)",
  "cast(1 as bigint)",
  "cast(1 as tinyint unsigned)",
  "cast(1 as int unsigned)",
  "cast(1 as bigint unsigned)",
  "cast(1 as float)",
  "cast(1 as double)",
  "cast(0.1 as float)",
  "cast(1 as boolean)",
  "cast(0 as boolean)",
  "cast('true' as boolean)",
  "cast(1.7 as int)",
  "cast(-1.7 as int)",
  "cast(1.5 as decimal(10,2))",
  "cast(1.555 as decimal(10,2))",
  "cast('1.25' as decimal(10,1))",
  "cast('12' as int)",
  "cast('1.5' as double)",
  "cast(1 as string)",
  "cast(true as string)",
  "cast('a' as binary)",
  "cast(null as int)",
  "cast(null as date)",
  "cast(null as timestamp)",
  "cast(null as binary)",
  "cast(null as decimal(5,2))",
  "date '2020-02-29'",
  "date '1900-01-01'",
  "cast('2020-01-01' as date)",
  "timestamp '2020-01-01'",
  "timestamp '2020-01-01 10:11:12'",
  "cast('2020-01-01 10:11:12' as timestamp)",
  "cast('2020-01-01' as timestamp)",
  "cast('1969-12-31 23:59:59.5' as timestamp(0))",
  "cast('1969-12-31 23:59:59.9999' as timestamp(3))",
  "cast('1969-12-31 23:59:59.9999999' as timestamp)",
  "cast(timestamp '1969-12-31 23:59:59.5' as timestamp(0))",
  "timestamp '1969-12-31 23:59:59.9999999'",
  "1::int",
  "'5'::bigint",
  "1.5::double",
  "(5)",
  "cast(cast(1.5 as int) as double)",
  "cast(cast(300 as smallint) as string)",
  " 7 ",
  "NULL",
  "Null::int",
  "cast(3.99999999999999999999 as int)",
  "0.1",
  "123456789012345678901234567890.5",
  "1.7976931348623157e308",
  "4.9e-324",
  "cast(1e10 as bigint)",
  "cast(16777217 as float)",
  "0x1F",
  "x'abc'",
  "cast('nan' as double)",
  "cast('inf' as float)",
  "cast(1.5 as string)",
  "cast('2020-01-01T10:00:00' as date)",
  "timestamp '2020-01-01T10:11:12.123456789'",
  "timestamp '2020-01-01 10:11:12Z'",
  "timestamp '2020-01-01 10:11:12+02:00'",
  "cast(date '2020-01-01' as timestamp)",
  "cast(timestamp '2020-01-01 10:00:00' as date)",
  "cast(0 as timestamp)",
  "cast(5 as date)",
  "-(5)",
  "- -5",
  "not true",
  "try_cast('x' as int)",
  "try_cast('5' as int)",
  "1 + 1",
  "'a' || 'b'",
  "1 -- comment",
  "/* c */ 1",
  "cast(1 as datetime)",
  "7 / 2",
  "7 % 4",
  "7.5 / 2",
  "cast(7 as tinyint) + cast(1 as int)",
  "cast(1.25 as decimal(5,2)) * cast(2 as decimal(3,1))",
  "upper('aé')",
  "length('aé')",
  "round(2.5)",
  "coalesce(null, 3)",
  "1 = 1",
  "arrow_cast(1, 'Int8')",
  "arrow_cast('a', 'LargeUtf8')",
  "id",
];

const NEITHER = [
  "+5",
  "1_000",
  "`a`",
  "cast(300 as tinyint)",
  "cast(-1 as int unsigned)",
  "cast(1 as real)",
  "cast(1 as decimal)",
  "cast(123 as decimal(2,0))",
  "cast('x' as int)",
  "cast(1 as varchar)",
  "cast('a' as varchar(3))",
  "cast('a' as text)",
  "cast('abcd' as char(2))",
  "cast('a' as bytea)",
  "date '2020-02-30'",
  "time '10:11:12'",
  "cast('10:11:12' as time)",
  "interval '1' day",
  "--5",
  "+-5",
  "cast(1 as Int64)",
  "cast(1 as int8)",
  "cast(1 as int4)",
  "cast(1 as int2)",
  "cast(1 as float8)",
  "cast(1 as float4)",
  "cast(1 as numeric(5,1))",
  "cast(1 as dec)",
  "cast(1 as json)",
  "cast(1 as uuid)",
  "cast('a' as blob)",
  "cast(1 as bool)",
  "cast(1 as long)",
  "cast(2147483648 as int)",
  "cast(1e10 as int)",
];

const ONLY_THEY = ['"a"', "1; 2"];

const ALL = [...BOTH, ...NEITHER, ...ONLY_THEY];
const GROUP = 25;

const root = sharedDirectory();
const namespace = sharedNamespace({ root });

it.each(
  Array.from(
    { length: Math.ceil(ALL.length / GROUP) },
    (_, group) => [group, ALL.slice(group * GROUP, (group + 1) * GROUP)] as const,
  ),
)("group %i", async (group, expressions) => {
  const name = `t${group}`;
  const rows = rowsOf(new Schema([fieldOf("id", new Int32())]), 0, 3, "2.2");
  await namespace.createTable({ id: [name] }, rows);
  await cp(join(root, `${name}.lance`), join(root, `${name}b.lance`), { recursive: true });
  const ours = new Side(namespace, root, name);
  const theirs = new Side(namespace, root, `${name}b`);
  const columns: string[] = [];
  for (const [index, expression] of expressions.entries()) {
    const column = `c${index}`;
    const here = await errorOf(ours.byUs({ add: { [column]: expression } }));
    const there = await errorOf(theirs.byThem({ add: { [column]: expression } }));
    expect(here === null, `${expression}: ${here}`).toBe(BOTH.includes(expression));
    if (here !== null) {
      expect(
        here instanceof InvalidInputError ||
          here instanceof UnsupportedError ||
          here instanceof TableColumnNotFoundError,
        `${expression}: ${here}`,
      ).toBe(true);
    }
    expect(there === null, `${expression}: ${there}`).toBe(!NEITHER.includes(expression));
    if (here === null && there === null) columns.push(column);
  }
  if (columns.length === 0) return;
  const expected = await reference.readTable(root, theirs.name, { columns });
  compareTables(expected, await namespace.table([name]).scan({ columns }).toArrow());
  compareTables(expected, await reference.readTable(root, name, { columns }));
});
