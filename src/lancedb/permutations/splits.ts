/** Sizes of splits, and orders of rows drawn at random. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { failure } from "../failures.js";

/** Rows between two looks at the clock. */
const STEP_ROWS = 4096;

/** Sizes of splits; one of the members has a value. */
export interface SizeOptions {
  readonly ratios?: readonly number[] | null | undefined;
  readonly counts?: readonly number[] | null | undefined;
  readonly fixed?: number | null | undefined;
}

/** @throws Error unless exactly one member has a value */
export function requireOneSize({ ratios, counts, fixed }: SizeOptions): void {
  if ([ratios, counts, fixed].filter((size) => size !== undefined && size !== null).length === 1) return;
  throw failure("Exactly one of 'ratios', 'counts', or 'fixed' must be provided");
}

/**
 * Returns the number of rows of each split.
 * @throws Error for sizes that do not fit the number of rows
 */
export function sizesOf({ ratios, counts, fixed }: SizeOptions, rowCount: number): number[] {
  if (ratios !== undefined && ratios !== null) return sizesOfRatios(ratios, rowCount);
  if (counts !== undefined && counts !== null) return checkedCounts(counts, rowCount);
  const splitCount = Math.trunc(Number(fixed));
  if (!(splitCount > 0)) throw failure("Invalid input, Split fixed config must be greater than 0");
  if (splitCount > rowCount) {
    throw failure(
      `Invalid input, Split fixed config specified ${splitCount} splits but only ${rowCount} rows are available.  Must have at least 1 row per split.`,
    );
  }
  return Array.from({ length: splitCount }, () => Math.floor(rowCount / splitCount));
}

function sizesOfRatios(ratios: readonly number[], rowCount: number): number[] {
  for (const ratio of ratios) {
    if (!(ratio >= 0 && ratio <= 1)) {
      throw failure("Invalid input, Split percentages must be between 0.0 and 1.0");
    }
    if (Math.floor(ratio * rowCount) > 0) continue;
    throw failure(
      `Invalid input, One of the splits has ${ratio * 100}% of ${rowCount} rows which rounds to 0 rows`,
    );
  }
  const sum = ratios.reduce((total, ratio) => total + ratio, 0);
  if (sum > 1) throw failure("Invalid input, Split percentages must sum to 1.0 or less");
  const sizes = ratios.map((ratio) => Math.round(ratio * rowCount));
  const total = sizes.reduce((rows, size) => rows + size, 0);
  // Rounding may give too many rows, or too few for shares that cover all. The first splits make up for it.
  const wanted = Math.round(sum * rowCount) >= rowCount ? rowCount : Math.min(total, rowCount);
  for (let split = 0, missing = wanted - total; missing !== 0; split = (split + 1) % sizes.length) {
    const change = Math.sign(missing);
    sizes[split] += change;
    missing -= change;
  }
  return sizes;
}

function checkedCounts(counts: readonly number[], rowCount: number): number[] {
  const sizes = counts.map((count) => Math.trunc(count));
  const total = sizes.reduce((rows, size) => rows + size, 0);
  if (total > rowCount) {
    throw failure(`Invalid input, Split counts specified ${total} rows but only ${rowCount} are available`);
  }
  if (sizes.every((size) => size > 0)) return sizes;
  throw failure("Invalid input, Split counts must be greater than 0");
}

/** Returns 0, 1, 2 and so on. */
export function* rowsInOrder(rowCount: number): Steps<Uint32Array> {
  const rows = new Uint32Array(rowCount);
  const pace = new Pace(STEP_ROWS);
  for (let row = 0; row < rowCount; row++) {
    rows[row] = row;
    if (pace.isStep()) yield;
  }
  return rows;
}

/** Choices of a random order. */
export interface DrawOptions {
  readonly seed?: number | null | undefined;
  readonly clumpSize?: number | null | undefined;
}

/** Returns rows in a random order. Rows of a clump stay together. Equal seeds give equal orders. */
export function* shuffled(rows: Uint32Array, { seed, clumpSize }: DrawOptions): Steps<Uint32Array> {
  const draw = drawing(seed ?? Math.random() * 2 ** 53);
  const size = clumpSize === undefined || clumpSize === null ? 1 : Math.trunc(clumpSize);
  if (!(size > 0)) throw failure("Invalid input, The clump size must be greater than 0");
  const clumps = yield* rowsInOrder(Math.ceil(rows.length / size));
  const pace = new Pace(STEP_ROWS);
  for (let last = clumps.length - 1; last > 0; last--) {
    const drawn = Math.floor(draw() * (last + 1));
    [clumps[last], clumps[drawn]] = [clumps[drawn], clumps[last]];
    if (pace.isStep()) yield;
  }
  const order = new Uint32Array(rows.length);
  let length = 0;
  for (const clump of clumps) {
    const part = rows.subarray(clump * size, (clump + 1) * size);
    order.set(part, length);
    length += part.length;
    if (pace.isStep()) yield;
  }
  return order;
}

/** Returns a function that draws numbers from 0 to 1, exclusive: Marsaglia's xorshift128. */
function drawing(seed: number): () => number {
  const whole = Math.trunc(Number.isFinite(seed) ? seed : 0);
  const state = Uint32Array.of(whole, whole / 2 ** 32, 0x9e3779b9, 0x243f6a88);
  const next = (): number => {
    let mixed = state[3];
    mixed ^= mixed << 11;
    mixed ^= mixed >>> 8;
    state.copyWithin(1, 0, 3);
    state[0] = mixed ^ state[1] ^ (state[1] >>> 19);
    return state[0];
  };
  // The first numbers of similar seeds are similar.
  for (let turn = 0; turn < 32; turn++) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

/** Returns rows grouped by their splits, which ascend; nulls come last. Rows of a split keep their order. */
export function* groupedBySplit(rows: Uint32Array, splits: ArrayLike<unknown>): Steps<Uint32Array> {
  const groups = new Map<unknown, number[]>();
  const pace = new Pace(STEP_ROWS);
  for (const row of rows) {
    const split = splits[row];
    const group = groups.get(split);
    if (group === undefined) groups.set(split, [row]);
    else group.push(row);
    if (pace.isStep()) yield;
  }
  const order = new Uint32Array(rows.length);
  let length = 0;
  for (const [, group] of [...groups].sort(([first], [second]) => compareSplits(first, second))) {
    for (const row of group) {
      order[length++] = row;
      if (pace.isStep()) yield;
    }
  }
  return order;
}

function compareSplits(first: unknown, second: unknown): number {
  if (first === null || second === null) return Number(first === null) - Number(second === null);
  return (first as number) < (second as number) ? -1 : 1;
}

/** Continues a hash with the text of a value. */
export function hashed(hash: number, value: unknown): number {
  let mixed = hash;
  for (const letter of `${typeof value}:${textOf(value)}`) {
    mixed = Math.imul(mixed ^ (letter.codePointAt(0) as number), 16_777_619);
  }
  return mixed;
}

/** Start of a hash. */
export const HASH_START = 0x811c9dc5;

/** Spreads a hash, whose low digits are weak, over 32 bits. */
export function spread(hash: number): number {
  let mixed = hash;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

const textOf = (value: unknown): string =>
  typeof value === "object" && value !== null
    ? JSON.stringify(value, (_, item) => (typeof item === "bigint" ? `${item}n` : item))
    : String(value);
