/**
 * Compares a segment of an index with the rows that it covers. Rows come in batches. The index is asked for
 * values of each batch, and its answer is compared with the rows that have these values. Each question has a
 * random half of the values: a wrong entry stays unnoticed with a probability of 2^-ROUNDS.
 */

import type { Column } from "../../arrow/columns/column.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { integerWords } from "../../indexes/indexColumns.js";
import type { IndexQuery, IndexRows, OpenIndex, RowStream } from "../../indexes/kind.js";
import { documentTokens, RowTexts } from "../../indexes/text/rowTexts.js";
import type { TextIndex } from "../../indexes/text/textIndex.js";
import { compareValues, orderedValues } from "../../indexes/valueOrder.js";

/** Number of random halves per batch. */
const ROUNDS = 6;
/** Rows of a batch whose words, or whose parts of a text, are looked up. */
const SAMPLED_ROWS = 64;
/** Words of a row that are looked up. */
const SAMPLED_WORDS = 8;
/** Characters of a text that a look-up of its part takes. */
const PART_CHARACTERS = 12;

/** Mistake of an index about a row, as the end of a sentence; null if there is none. */
type Mistake = string | null;

/**
 * Compares the rows with an index on values. Returns the first mistake.
 * @param type of the values
 */
export async function checkValueIndex(
  index: OpenIndex,
  type: LogicalType,
  rows: RowStream,
  signal: AbortSignal | undefined,
): Promise<Mistake> {
  for await (const batch of rows) {
    signal?.throwIfAborted();
    const ids = integerWords(batch.ids, "rows");
    const mistake =
      (await checkNulls(index, batch, ids, signal)) ??
      (await checkValues(index, batch, ids, signal)) ??
      (await checkExtremes(index, type, batch, ids, signal)) ??
      (await checkParts(index, batch, ids, signal));
    if (mistake !== null) return mistake;
    await yieldToEventLoop();
  }
  return null;
}

const idText = (ids: Uint32Array, row: number): string =>
  String((BigInt(ids[2 * row + 1]) << 32n) | BigInt(ids[2 * row]));

/** Asks for the nulls. */
async function checkNulls(
  index: OpenIndex,
  { values, rowCount }: IndexRows,
  ids: Uint32Array,
  signal: AbortSignal | undefined,
): Promise<Mistake> {
  const query: IndexQuery = { kind: "isNull" };
  if (!index.answers(query)) return null;
  const { rows, isExact } = await index.search(query, { signal });
  for (let row = 0; row < rowCount; row++) {
    const isNull = values.kind === "null" || !isValid(values.validity, row);
    const isFound = rows.has(ids[2 * row + 1], ids[2 * row]);
    if (isNull && !isFound) return `it lacks the null of row ${idText(ids, row)}`;
    if (!isNull && isFound && isExact) return `it has a null for row ${idText(ids, row)}, which has a value`;
  }
  return null;
}

/** A value, the rows that have it, and its position in the column of values. */
interface ValueRowsOf {
  readonly rows: number[];
  readonly position: number;
}

/** Asks for random halves of the values. */
async function checkValues(
  index: OpenIndex,
  { values, rowCount }: IndexRows,
  ids: Uint32Array,
  signal: AbortSignal | undefined,
): Promise<Mistake> {
  const items = values.kind === "list" ? values.items : values;
  const byValue = values.kind === "list" ? rowsByItem(values) : rowsByValue(values, rowCount);
  if (byValue === null || byValue.size === 0) return null;
  const probe = takeColumn(items, Uint32Array.of(0));
  const queryOf = (column: Column): IndexQuery =>
    values.kind === "list" ? { kind: "hasAny", values: column } : { kind: "in", values: column };
  if (!index.answers(queryOf(probe))) return null;
  const entries = [...byValue.values()];
  for (let round = 0; round < ROUNDS; round++) {
    signal?.throwIfAborted();
    const chosen = entries.filter(() => Math.random() < 0.5);
    if (chosen.length === 0) continue;
    const asked = takeColumn(
      items,
      Uint32Array.from(chosen, ({ position }) => position),
    );
    const { rows, isExact } = await index.search(queryOf(asked), { signal });
    const expected = new Set(chosen.flatMap(({ rows: ofValue }) => ofValue));
    for (let row = 0; row < rowCount; row++) {
      const isFound = rows.has(ids[2 * row + 1], ids[2 * row]);
      if (expected.has(row) && !isFound) return `it does not find row ${idText(ids, row)} by its value`;
      if (!expected.has(row) && isFound && isExact) {
        return `it finds row ${idText(ids, row)} by a value that the row does not have`;
      }
    }
    await yieldToEventLoop();
  }
  return null;
}

/** Rows of which the least and the greatest value are looked up. */
const EXTREMES_OF = 512;

/** Asks for the least and the greatest value of some rows, which the bounds of a zone may exclude. */
async function checkExtremes(
  index: OpenIndex,
  type: LogicalType,
  { values, rowCount }: IndexRows,
  ids: Uint32Array,
  signal: AbortSignal | undefined,
): Promise<Mistake> {
  if (!["fixed", "variable", "bits"].includes(values.kind)) return null;
  const ordered = orderedValues(type, values);
  for (let start = 0; start < rowCount; start += EXTREMES_OF) {
    let [least, greatest] = [-1, -1];
    for (let row = start; row < Math.min(rowCount, start + EXTREMES_OF); row++) {
      if (values.kind === "null" || !isValid(values.validity, row)) continue;
      if (least < 0 || compareValues(ordered, row, ordered, least) < 0) least = row;
      if (greatest < 0 || compareValues(ordered, row, ordered, greatest) > 0) greatest = row;
    }
    for (const row of least < 0 ? [] : [least, greatest]) {
      const query: IndexQuery = { kind: "in", values: takeColumn(values, Uint32Array.of(row)) };
      if (!index.answers(query)) return null;
      const { rows } = await index.search(query, { signal });
      if (!rows.has(ids[2 * row + 1], ids[2 * row]))
        return `it does not find row ${idText(ids, row)} by its value`;
    }
  }
  return null;
}

/** Groups rows by the bytes of their values; null for columns whose values are no plain bytes. */
function rowsByValue(column: Column, rowCount: number): Map<string, ValueRowsOf> | null {
  const keyOf = keysOf(column);
  if (keyOf === null) return null;
  const groups = new Map<string, ValueRowsOf>();
  for (let row = 0; row < rowCount; row++) {
    if (column.kind === "null" || !isValid(column.validity, row)) continue;
    addRow(groups, keyOf(row), row, row);
  }
  return groups;
}

/** Groups rows by the items of their lists. */
function rowsByItem(column: Extract<Column, { kind: "list" }>): Map<string, ValueRowsOf> | null {
  const { offsets, items, validity, length } = column;
  const keyOf = keysOf(items);
  if (keyOf === null) return null;
  const groups = new Map<string, ValueRowsOf>();
  for (let row = 0; row < length; row++) {
    if (!isValid(validity, row)) continue;
    for (let item = Number(offsets[row]); item < Number(offsets[row + 1]); item++) {
      if (items.kind !== "null" && isValid(items.validity, item)) addRow(groups, keyOf(item), row, item);
    }
  }
  return groups;
}

function addRow(groups: Map<string, ValueRowsOf>, key: string, row: number, position: number): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, { rows: [row], position });
  else group.rows.push(row);
}

/** Returns a function that gives the bytes of a value as text; null if values have no bytes of their own. */
function keysOf(column: Column): ((row: number) => string) | null {
  switch (column.kind) {
    case "fixed": {
      const { values, byteWidth } = column;
      return (row) => String.fromCharCode(...values.subarray(row * byteWidth, (row + 1) * byteWidth));
    }
    case "variable": {
      const { bytes, offsets } = column;
      const decoder = new TextDecoder("latin1");
      return (row) => decoder.decode(bytes.subarray(Number(offsets[row]), Number(offsets[row + 1])));
    }
    case "bits": {
      const { bits, bitOffset } = column;
      return (row) => {
        const bit = bitOffset + row;
        return (bits[bit >>> 3] & (1 << (bit & 7))) === 0 ? "false" : "true";
      };
    }
    default:
      return null;
  }
}

/** Asks an index of trigrams for parts of some texts. */
async function checkParts(
  index: OpenIndex,
  { values, rowCount }: IndexRows,
  ids: Uint32Array,
  signal: AbortSignal | undefined,
): Promise<Mistake> {
  if (values.kind !== "variable" || !index.answers({ kind: "contains", text: "abc" })) return null;
  const texts = new RowTexts(values);
  for (const row of sampledRows(rowCount)) {
    const [text] = texts.of(row);
    const part = [...(text ?? "")].slice(0, PART_CHARACTERS).join("");
    if (part.length < 3 || !index.answers({ kind: "contains", text: part })) continue;
    const { rows } = await index.search({ kind: "contains", text: part }, { signal });
    if (!rows.has(ids[2 * row + 1], ids[2 * row]))
      return `it does not find row ${idText(ids, row)} by its text`;
  }
  return null;
}

/** Returns some rows of a batch, spread evenly from a random start. */
function sampledRows(rowCount: number): number[] {
  const step = Math.max(1, Math.floor(rowCount / SAMPLED_ROWS));
  const first = Math.floor(Math.random() * Math.min(step, rowCount));
  const rows: number[] = [];
  for (let row = first; row < rowCount; row += step) rows.push(row);
  return rows;
}

/** Compares some words of the rows with an index of words. Returns the first mistake. */
export async function checkTextIndex(
  index: TextIndex,
  rows: RowStream,
  signal: AbortSignal | undefined,
): Promise<Mistake> {
  const analyzer = await index.analyzer();
  const documents = new Map<string, { readonly partition: number; readonly document: number }>();
  for (const [partition, part] of index.partitions.entries()) {
    const { ids, count } = await part.documents(signal);
    for (let document = 0; document < count; document++) {
      documents.set(`${ids[2 * document + 1]} ${ids[2 * document]}`, { partition, document });
    }
    await yieldToEventLoop();
  }
  const finders = await Promise.all(index.partitions.map((partition) => partition.finder(signal)));
  const encoder = new TextEncoder();
  for await (const { values, ids: idColumn, rowCount } of rows) {
    signal?.throwIfAborted();
    const ids = integerWords(idColumn, "rows");
    const texts = new RowTexts(values);
    for (const row of sampledRows(rowCount)) {
      const words = new Set<string>();
      await runAsync(
        documentTokens(analyzer, texts.of(row), (word) => void words.add(word)),
        signal,
      );
      if (words.size === 0) continue;
      const entry = documents.get(`${ids[2 * row + 1]} ${ids[2 * row]}`);
      if (entry === undefined) return `it lacks row ${idText(ids, row)}`;
      for (const word of [...words].slice(0, SAMPLED_WORDS)) {
        const token = finders[entry.partition].find(encoder.encode(word));
        if (token < 0) return `it lacks a word of row ${idText(ids, row)}`;
        const [list] = await index.partitions[entry.partition].lists(Uint32Array.of(token), false, signal);
        if (!list.all().documents.includes(entry.document)) {
          return `it does not find row ${idText(ids, row)} by a word of its text`;
        }
      }
    }
    await yieldToEventLoop();
  }
  return null;
}
