/** `tiltyard query` and `count`. */

import type { QueryTableRequest } from "tiltyard";
import {
  byName,
  columnsOfQuery,
  optionItems,
  selectedColumns,
  sortedColumns,
  vectorNumbers,
  wholeNumber,
} from "../arguments/lists.js";
import { CommandMistake } from "../arguments/mistake.js";
import type { CommandCall } from "../call/call.js";
import { type CommandSpec, type OptionSpec, required } from "../call/command.js";
import { printJson, printLine } from "../output/print.js";
import { type PrintableRows, printResult } from "../rows/rows.js";
import { ROW_OPTIONS } from "./someRows.js";

const DISTANCES = ["l2", "cosine", "dot", "hamming"];

const whole = (flags: string, text: string, least = 1): OptionSpec => {
  const [, name] = /(--[\w-]+)/.exec(flags) as RegExpExecArray;
  return { flags, text, parse: (value) => wholeNumber(name, value, least) };
};

/** Options that say which rows a query returns. `export` has them too. */
export const QUERY_OPTIONS: readonly OptionSpec[] = [
  { flags: "-w, --where <sql>", text: "condition of the rows" },
  { flags: "-o, --order <columns>", text: 'columns to sort by: "price desc, id"' },
  whole("-l, --limit <count>", "maximum number of rows"),
  whole("--offset <count>", "number of rows to skip", 0),
];

/** Options of searches and groups. */
const SEARCH_OPTIONS: readonly OptionSpec[] = [
  { flags: "--near <vector>", text: 'find the rows nearest to a vector: "[0.1, 0.2]"' },
  {
    flags: "--near-row <offset>",
    text: "find the rows nearest to the vector of a row",
    parse: (text) => wholeNumber("--near-row", text),
  },
  { flags: "--vector-column <path>", text: "column of --near, if the table has several" },
  { flags: "--distance <kind>", text: "distance of --near", choices: DISTANCES, byDefault: "l2" },
  whole("--nprobes <count>", "partitions of the index to search"),
  whole("--refine <factor>", "candidates whose exact distances are computed, as a multiple of the limit"),
  { flags: "--match <text>", text: "find the rows that contain words" },
  { flags: "--match-columns <paths>", text: "columns of --match; default: all with an index of words" },
  {
    flags: "-g, --group-by <columns>",
    text: 'group the rows; --select has the aggregates: "city, count(*) AS n"',
  },
  { flags: "--having <sql>", text: "condition of the groups" },
  { flags: "--explain", text: "show how the query would run" },
  { flags: "--analyze", text: "run the query and show where its time goes" },
];

export const queryCommand: CommandSpec = {
  usage: "query <table>",
  summary: "Select, sort, group and search rows",
  examples: [
    'tiltyard query orders --where "price > 10" --order "price desc" --limit 5',
    'tiltyard query orders --group-by city --select "city, count(*) AS n" --order "n desc"',
    'tiltyard query articles --match "puppy training" --format jsonl',
    'tiltyard query articles --near "[0.1, 0.2, 0.3]" --select "id, _distance"',
  ],
  options: [...ROW_OPTIONS, ...QUERY_OPTIONS, ...SEARCH_OPTIONS],
  reads: "version",
  async run(call, name) {
    const { options, signal } = call;
    const table = await call.table(required(name, "the table"));
    const { namespace } = table;
    const request = { id: table.id, ...call.readPoint, signal };
    if (options.groupBy !== undefined || options.having !== undefined) {
      if (options.explain === true || options.analyze === true) {
        throw new CommandMistake("--explain and --analyze do not go with --group-by");
      }
      const rows = await namespace.aggregateTable({ ...request, ...groups(call) });
      return printResult(call, rows, options.limit as number | undefined);
    }
    const search = await searchOf(call, table.handle);
    if (options.explain === true) {
      const { id, branch, signal: _, ...point } = request;
      const plan = await namespace.explainTableQueryPlan({
        id,
        branch,
        signal,
        query: { ...point, ...search },
      });
      return printPlan(call, plan);
    }
    if (options.analyze === true) {
      return printPlan(call, await namespace.analyzeTableQueryPlan({ ...request, ...search }));
    }
    const rows: PrintableRows = await namespace.queryTable({ ...request, ...search });
    await printResult(call, rows, options.limit as number | undefined);
  },
};

const printPlan = ({ terminal, options }: CommandCall, plan: string): void =>
  options.json === true ? printJson(terminal, { plan }) : printLine(terminal, plan);

type Search = Omit<QueryTableRequest, "id" | "branch" | "version" | "asOf" | "tag">;

/** Returns the members of a query without a search. */
export function selectionOf({ options }: CommandCall): Search {
  return {
    columns: columnsOfQuery(options.select as string | undefined),
    filter: options.where as string | undefined,
    orderBy: sortedColumns(options.order as string | undefined),
    limit: options.limit as number | undefined,
    offset: options.offset as number | undefined,
  };
}

async function searchOf(
  call: CommandCall,
  handle: Awaited<ReturnType<CommandCall["table"]>>["handle"],
): Promise<Search> {
  const { options, signal } = call;
  const { near, nearRow, match, matchColumns } = options as Readonly<Record<string, string | undefined>>;
  const vectorColumn = options.vectorColumn as string | undefined;
  if (near !== undefined && nearRow !== undefined) {
    throw new CommandMistake("--near and --near-row name the same thing: give one of them");
  }
  let vector: QueryTableRequest["vector"];
  if (near !== undefined) vector = vectorNumbers(near);
  if (nearRow !== undefined) {
    const column = vectorColumn ?? (await onlyVectorColumn(handle, signal));
    const [row] = await handle.takeRows({ offsets: [Number(nearRow)], columns: [column], signal }).toArray();
    vector = (row as Readonly<Record<string, ArrayLike<number> | null>> | undefined)?.[column] ?? undefined;
    if (vector === undefined)
      throw new CommandMistake(`--near-row: row ${nearRow} has no vector in ${column}`);
  }
  const columns = matchColumns === undefined ? undefined : optionItems("--match-columns", matchColumns);
  const { distance, nprobes, refine } = options as Readonly<Record<string, number | undefined>>;
  return {
    ...selectionOf(call),
    ...(vector !== undefined && {
      vector,
      vectorColumn,
      distanceType: distance as unknown as "l2" | undefined,
      nprobes,
      refineFactor: refine,
    }),
    ...(match !== undefined && { fullTextQuery: { stringQuery: { query: match, columns } } }),
  };
}

async function onlyVectorColumn(
  handle: Awaited<ReturnType<CommandCall["table"]>>["handle"],
  signal: AbortSignal,
): Promise<string> {
  const { fields } = await handle.schema({ signal });
  const vectors = fields.filter(({ type }) => `${type}`.startsWith("FixedSizeList")).map(({ name }) => name);
  if (vectors.length === 1) return vectors[0];
  throw new CommandMistake(
    vectors.length === 0
      ? "--near-row: the table has no vector column"
      : `--near-row: the table has several vector columns; add --vector-column ${vectors.join(" or ")}`,
  );
}

/** Returns the members of an aggregation. Columns of `--select` that are not keys are aggregates. */
function groups({ options }: CommandCall) {
  const { groupBy, select, where, having, order } = options as Readonly<Record<string, string | undefined>>;
  const keys = groupBy === undefined ? [] : optionItems("--group-by", groupBy);
  const selected = select === undefined ? [] : selectedColumns(select);
  const values = selected.filter(({ expression }) => !keys.includes(expression));
  return {
    groupBy: keys,
    values: byName("--select", values.length > 0 || select !== undefined ? values : COUNT_OF_ROWS),
    filter: where,
    having,
    orderBy: sortedColumns(order),
    limit: options.limit as number | undefined,
    offset: options.offset as number | undefined,
  };
}

/** Aggregate of groups without `--select`. */
const COUNT_OF_ROWS = [{ name: "count", expression: "count(*)", isPath: false }];

export const countCommand: CommandSpec = {
  usage: "count <table>",
  summary: "Count the rows of a table",
  examples: ["tiltyard count orders", "tiltyard count orders --where \"city = 'Oslo'\""],
  options: [{ flags: "-w, --where <sql>", text: "condition of the rows" }],
  reads: "version",
  async run(call, name) {
    const { handle } = await call.table(required(name, "the table"));
    const rows = await handle.countRows(call.options.where as string | undefined, undefined, {
      signal: call.signal,
    });
    if (call.options.json === true) printJson(call.terminal, { rows });
    else printLine(call.terminal, String(rows));
  },
};
