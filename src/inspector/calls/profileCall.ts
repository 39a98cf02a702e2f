/** Statistics of a column: counts, extremes, a histogram and the most frequent values. */

import { TableColumnNotFoundError, UnsupportedError } from "../../errors.js";
import type { JsonField } from "../../namespace/tables.js";
import type { ProfileAnswer, ProfileBar } from "./answers.js";
import { CallMembers } from "./callMembers.js";
import type { CallContext } from "./context.js";
import { columnPath, filterMember } from "./rowCalls.js";

const BARS = 24;
const FREQUENT = 8;
/** Rows in which frequent values are counted. Larger tables are sampled. */
const SAMPLED_ROWS = 500_000;
const LABEL_CHARACTERS = 120;

/** Groups of types that have the same statistics. */
type Family = "number" | "time" | "text" | "boolean" | "bytes" | "list" | "other";

const INTEGERS = /^u?int(?:8|16|32|64)$/;
const FLOATS = /^float(?:16|32|64)?$|^(?:half|double)$/;

function familyOf(type: string): Family {
  if (INTEGERS.test(type) || FLOATS.test(type) || type.startsWith("decimal")) return "number";
  if (/^(?:date|timestamp|time)/.test(type)) return "time";
  if (/utf8|string/.test(type)) return "text";
  if (type === "bool") return "boolean";
  if (/binary/.test(type)) return "bytes";
  if (/^(?:large_)?list$/.test(type)) return "list";
  return "other";
}

type Row = Readonly<Record<string, unknown>>;
type Aggregate = (request: {
  readonly values: Readonly<Record<string, string>>;
  readonly groupBy?: string;
  readonly filter?: string;
  readonly orderBy?: string;
  readonly limit?: number;
}) => Promise<Row[]>;

/** Returns the statistics of a column, over the rows that a filter selects. */
export async function profile(context: CallContext, request: unknown): Promise<ProfileAnswer> {
  const members = CallMembers.ofTable(request, ["column", "filter"]);
  const name = members.text("column");
  const field = await fieldOf(context, members, name);
  const aggregate = aggregatesOf(context, members);
  const column = columnPath(name);
  const family = familyOf(field.type.type);
  const counts = await countsOf(aggregate, column, family);
  const rowCount = Number(counts.rows);
  const nulls = counts.filled === undefined ? undefined : rowCount - Number(counts.filled);
  const answer: ProfileAnswer = {
    rows: rowCount,
    nulls: nulls ?? 0,
    ...(counts.different !== undefined && {
      // The estimate may exceed the number of values.
      distinct: Math.min(Number(counts.different), Number(counts.filled)),
    }),
    ...(counts.low !== undefined &&
      counts.low !== null && { min: labelOf(counts.low), max: labelOf(counts.high) }),
    ...(typeof counts.mean === "number" && { mean: counts.mean }),
    ...(counts.shortest !== undefined &&
      counts.shortest !== null && {
        lengths: { min: Number(counts.shortest), max: Number(counts.longest) },
      }),
    ...(counts.odd !== undefined && Number(counts.odd) > 0 && { notFinite: Number(counts.odd) }),
  };
  if (family === "number" || family === "time") {
    return { ...answer, histogram: await histogramOf(aggregate, column, field.type.type, answer) };
  }
  if (family === "text" || family === "boolean") {
    return { ...answer, ...(await frequentOf(aggregate, column, rowCount)) };
  }
  return answer;
}

async function fieldOf(context: CallContext, members: CallMembers, name: string): Promise<JsonField> {
  const { schema } = await context.namespace.describeTable({ ...context.base, ...members.table });
  const field = schema?.fields.find((each) => each.name === name);
  if (field === undefined) throw new TableColumnNotFoundError(`the table has no column ${name}`);
  return field;
}

function aggregatesOf(context: CallContext, members: CallMembers): Aggregate {
  const { filter } = filterMember(members);
  return async (request) => {
    const conditions = [filter, request.filter].filter((each) => each !== undefined);
    const result = await context.namespace.aggregateTable({
      ...context.base,
      ...members.table,
      ...request,
      ...(conditions.length > 0 && { filter: conditions.map((each) => `(${each})`).join(" AND ") }),
    });
    return result.toArray({ dates: "iso", bigints: "string" });
  };
}

const isFloat = (type: string): boolean => FLOATS.test(type);
/** Condition that a float is a number with a place on an axis. */
const finite = (column: string): string => `${column} > -1.7e308 AND ${column} < 1.7e308`;

async function countsOf(aggregate: Aggregate, column: string, family: Family): Promise<Row> {
  const counted = { rows: "count(*)", filled: `count(${column})` };
  const extremes = { low: `min(${column})`, high: `max(${column})` };
  const different = { different: `approx_count_distinct(${column})` };
  const lengthsBy = (length: string) => ({ shortest: `min(${length})`, longest: `max(${length})` });
  const values: Readonly<Record<Family, Readonly<Record<string, string>>>> = {
    number: { ...counted, ...extremes, ...different, mean: `avg(cast(${column} AS double))` },
    time: { ...counted, ...extremes, ...different },
    text: { ...counted, ...different, ...lengthsBy(`length(${column})`) },
    boolean: { ...counted, ...different },
    bytes: { ...counted, ...lengthsBy(`octet_length(${column})`) },
    list: { ...counted, ...lengthsBy(`array_length(${column})`) },
    other: counted,
  };
  try {
    const [row] = await aggregate({ values: values[family] });
    return row;
  } catch (error) {
    if (!(error instanceof UnsupportedError) || family === "other") throw error;
    return countsOf(aggregate, column, "other");
  }
}

/** Counts the values in ranges of equal width. */
async function histogramOf(
  aggregate: Aggregate,
  column: string,
  type: string,
  { min, max }: ProfileAnswer,
): Promise<readonly ProfileBar[]> {
  const number = isFloat(type) ? column : `cast(cast(${column} AS bigint) AS double)`;
  const filter = isFloat(type) ? finite(column) : `${column} IS NOT NULL`;
  const [range] = await aggregate({ values: { low: `min(${number})`, high: `max(${number})` }, filter });
  const { low, high } = range;
  if (typeof low !== "number" || typeof high !== "number") return [];
  const width = (high - low) / BARS;
  if (!(width > 0) || !Number.isFinite(width)) {
    const [{ count }] = await aggregate({ values: { count: "count(*)" }, filter });
    return [{ label: min ?? String(low), count: Number(count) }];
  }
  const groupBy = `floor((${number} - (${low})) / ${width})`;
  const groups = await aggregate({ groupBy, values: { count: "count(*)" }, filter });
  const counts = new Array<number>(BARS).fill(0);
  for (const group of groups) counts[Math.min(BARS - 1, Number(group[groupBy]))] += Number(group.count);
  const isTime = familyOf(type) === "time";
  const label = (index: number): string =>
    isTime ? timeBetween(min, max, index / BARS) : String(Number((low + width * index).toPrecision(6)));
  return counts.map((count, index) => ({ label: `${label(index)} … ${label(index + 1)}`, count }));
}

/** Returns a moment between two others, as ISO text. */
function timeBetween(from: string | undefined, to: string | undefined, fraction: number): string {
  const [start, end] = [Date.parse(from ?? ""), Date.parse(to ?? "")];
  if (Number.isNaN(start) || Number.isNaN(end)) return `${Math.round(fraction * 100)} %`;
  return new Date(start + (end - start) * fraction).toISOString().replace(/:\d\d\.\d+Z$/, "");
}

async function frequentOf(
  aggregate: Aggregate,
  column: string,
  rowCount: number,
): Promise<Pick<ProfileAnswer, "frequent" | "sampledRows">> {
  const step = Math.ceil(rowCount / SAMPLED_ROWS);
  const groups = await aggregate({
    groupBy: column,
    values: { __count: "count(*)" },
    filter: `${column} IS NOT NULL${step > 1 ? ` AND _rowoffset % ${step} = 0` : ""}`,
    orderBy: "-__count",
    limit: FREQUENT,
  });
  const frequent = groups.map(({ __count: count, ...key }) => ({
    label: labelOf(Object.values(key)[0]),
    count: Number(count),
  }));
  return { frequent, ...(step > 1 && { sampledRows: Math.ceil(rowCount / step) }) };
}

const labelOf = (value: unknown): string => String(value).slice(0, LABEL_CHARACTERS);
