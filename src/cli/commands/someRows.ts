/** `tiltyard head`, `tail` and `sample`: some rows of a table. */

import type { ColumnSelection } from "tiltyard";
import { columnsOfQuery, wholeNumber } from "../arguments/lists.js";
import type { CommandCall } from "../call/call.js";
import { type CommandSpec, type OptionSpec, required } from "../call/command.js";
import { printResult, ROW_FORMATS } from "../rows/rows.js";

const DEFAULT_COUNT = 10;

const COUNT: OptionSpec = {
  flags: "-n, --rows <count>",
  text: "number of rows",
  byDefault: String(DEFAULT_COUNT),
  parse: (text) => wholeNumber("--rows", text, 1),
};

/** Options that say how rows are printed. */
export const ROW_OPTIONS: readonly OptionSpec[] = [
  { flags: "-s, --select <columns>", text: 'columns or expressions: "id, price * 2 AS double"' },
  { flags: "-f, --format <format>", text: "format of the output", choices: ROW_FORMATS, byDefault: "table" },
];

const WHERE: OptionSpec = { flags: "-w, --where <sql>", text: "condition of the rows" };

const countOption = ({ options }: CommandCall): number =>
  (options.rows as number | undefined) ?? DEFAULT_COUNT;

const columnsOption = ({ options }: CommandCall): ColumnSelection | undefined =>
  columnsOfQuery(options.select as string | undefined);

export const headCommand: CommandSpec = {
  usage: "head <table>",
  summary: "Show the first rows of a table",
  examples: ["tiltyard head orders", 'tiltyard head orders -n 3 --select "id, city"'],
  options: [COUNT, WHERE, ...ROW_OPTIONS],
  reads: "version",
  async run(call, name) {
    const { handle } = await call.table(required(name, "the table"));
    const limit = countOption(call);
    const filter = call.options.where as string | undefined;
    const rows = handle.scan({
      columns: columnsOption(call) as undefined,
      filter,
      limit,
      signal: call.signal,
    });
    await printResult(call, rows, limit);
  },
};

export const tailCommand: CommandSpec = {
  usage: "tail <table>",
  summary: "Show the last rows of a table",
  examples: ["tiltyard tail orders -n 3"],
  options: [COUNT, WHERE, ...ROW_OPTIONS],
  reads: "version",
  async run(call, name) {
    const { handle } = await call.table(required(name, "the table"));
    const limit = countOption(call);
    const filter = call.options.where as string | undefined;
    const count = await handle.countRows(filter, undefined, { signal: call.signal });
    const offset = Math.max(0, count - limit);
    const columns = columnsOption(call) as undefined;
    await printResult(call, handle.scan({ columns, filter, limit, offset, signal: call.signal }), limit);
  },
};

export const sampleCommand: CommandSpec = {
  usage: "sample <table>",
  summary: "Show rows of a table that are drawn at random",
  examples: ["tiltyard sample orders -n 3 --seed 7"],
  options: [
    COUNT,
    {
      flags: "--seed <number>",
      text: "draw the same rows for the same number",
      parse: (text) => wholeNumber("--seed", text),
    },
    ...ROW_OPTIONS,
  ],
  reads: "version",
  async run(call, name) {
    const { handle } = await call.table(required(name, "the table"));
    const count = await handle.countRows(undefined, undefined, { signal: call.signal });
    const limit = Math.min(countOption(call), count);
    const offsets = randomOffsets(count, limit, call.options.seed as number | undefined);
    const columns = columnsOption(call) as undefined;
    await printResult(call, handle.takeRows({ offsets, columns, signal: call.signal }), Math.max(1, limit));
  },
};

/** Returns distinct numbers below `count` in ascending order. All subsets are equally likely (Floyd). */
function randomOffsets(count: number, size: number, seed?: number): number[] {
  const random = seed === undefined ? Math.random : seededRandom(seed);
  const chosen = new Set<number>();
  for (let last = count - size; last < count; last++) {
    const offset = Math.floor(random() * (last + 1));
    chosen.add(chosen.has(offset) ? last : offset);
  }
  return [...chosen].sort((left, right) => left - right);
}

/** Generator of numbers from 0 to 1 (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
