/** DuckDB as the oracle of aggregates: a table with the rows of ours, and answers in comparable form. */

import { DuckDBDateValue, DuckDBDecimalValue, DuckDBInstance, DuckDBTimestampValue } from "@duckdb/node-api";

/** A value that both engines have in one form: times are milliseconds, decimals texts. */
export type Comparable = null | boolean | number | bigint | string;

export interface Oracle {
  /** Runs a statement and returns its rows. */
  rows(sql: string): Promise<Comparable[][]>;
  close(): void;
}

const DAY_MS = 86_400_000;

export async function openDuckDb(): Promise<Oracle> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  return {
    async rows(sql) {
      const reader = await connection.runAndReadAll(sql);
      return reader.getRows().map((row) => row.map(comparableOfDuckDb));
    },
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

function comparableOfDuckDb(value: unknown): Comparable {
  if (value instanceof DuckDBDateValue) return value.days * DAY_MS;
  if (value instanceof DuckDBTimestampValue) return Number(value.micros) / 1000;
  if (value instanceof DuckDBDecimalValue) return value.toString();
  return value as Comparable;
}

/** Returns a value of a row as an object in comparable form. */
export function comparable(value: unknown): Comparable {
  return value instanceof Date ? value.getTime() : (value as Comparable);
}

/** True if two values are equal; floats may differ by 1e-9 of their size. */
export function areClose(ours: Comparable, theirs: Comparable): boolean {
  if (typeof ours === "number" && typeof theirs === "number") {
    if (Object.is(ours, theirs) || ours === theirs) return true;
    return Math.abs(ours - theirs) <= 1e-9 * Math.max(1, Math.abs(ours), Math.abs(theirs));
  }
  if (typeof ours === "bigint" || typeof theirs === "bigint") {
    return areIntegers(ours, theirs);
  }
  return ours === theirs;
}

/** Integers are numbers or bigints, depending on the width of their type. */
function areIntegers(ours: Comparable, theirs: Comparable): boolean {
  if (ours === null || theirs === null || typeof ours === "string" || typeof theirs === "string")
    return false;
  return (
    Number.isInteger(Number(ours)) && Number.isInteger(Number(theirs)) && BigInt(ours) === BigInt(theirs)
  );
}
