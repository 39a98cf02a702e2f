/**
 * Matches of a query in the texts of rows:
 *
 *     _highlights    list<struct<column utf8, item int32, start int32, end int32>>
 *
 * The ranges of a row are ordered by query column, by text in a list (`item`, null if the column is no list),
 * and by offset. Offsets count UTF-16 code units; `end` is exclusive. Overlapping ranges, as of character
 * windows, are merged.
 *
 * The texts are cut again as for the index, since a token knows its range in the text.
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { validityFrom } from "../../arrow/columns/validity.js";
import { runAsync, type Steps, yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFragment } from "../../format/table.js";
import { parseFieldPath } from "../../ident.js";
import { phrasePositions } from "../../indexes/text/phrases.js";
import { documentTokens, RowTexts } from "../../indexes/text/rowTexts.js";
import { ColumnReads } from "../columns/columnReads.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { readRowsAtAddresses } from "../scan/take.js";
import { type LeafWords, leafWords, type TextScope } from "./textLeaf.js";
import { type MatchQuery, needsAll, type PhraseQuery, type TextQuery } from "./textQuery.js";

/** A range of a text. */
interface Range {
  /** Index of the text in its row. */
  readonly text: number;
  readonly start: number;
  readonly end: number;
}

interface PlacedToken extends Range {
  readonly token: string;
  readonly position: number;
}

/** Returns the query parts that select rows: neither those that lower scores, nor those that exclude rows. */
function leavesOf(query: TextQuery): (MatchQuery | PhraseQuery)[] {
  switch (query.kind) {
    case "match":
    case "phrase":
      return [query];
    case "multi":
      return query.queries.flatMap(leavesOf);
    case "boost":
      return leavesOf(query.positive);
    case "boolean":
      return [...query.must, ...query.should].flatMap(leavesOf);
  }
}

export class Highlighter {
  /** Query parts by column path. */
  readonly #leavesByPath: ReadonlyMap<string, readonly LeafWords[]>;
  readonly #scope: TextScope;

  private constructor(sought: ReadonlyMap<string, readonly LeafWords[]>, scope: TextScope) {
    this.#leavesByPath = sought;
    this.#scope = scope;
  }

  static async open(query: TextQuery, scope: TextScope): Promise<Highlighter> {
    const sought = new Map<string, LeafWords[]>();
    for (const leaf of leavesOf(query)) {
      const words = await leafWords(leaf, scope);
      const onPath = sought.get(words.path) ?? [];
      onPath.push(words);
      sought.set(words.path, onPath);
    }
    return new Highlighter(sought, scope);
  }

  /** Returns the column {@link HIGHLIGHTS} of rows. */
  async column(
    source: FragmentSource,
    fragments: readonly DataFragment[],
    addresses: FixedColumn,
  ): Promise<Column> {
    const { fields, signal } = this.#scope;
    const reads = new ColumnReads(fields);
    const paths = [...this.#leavesByPath.keys()];
    for (const path of paths) reads.source(parseFieldPath(path));
    const projection = { ...reads.plan(), withAddresses: false };
    const { columns } = await readRowsAtAddresses(source, { fragments, projection, signal }, addresses);
    const texts = columns.map((column) => new RowTexts(plainColumn(column)));
    const highlights = new RangeColumn(paths);
    for (let row = 0; row < addresses.length; row++) {
      for (const [position, path] of paths.entries()) {
        const ranges = await runAsync(rangesOf(this.#leavesByPath.get(path) ?? [], texts[position].of(row)));
        const numbers = ranges.length === 0 ? null : texts[position].numbersOf(row);
        for (const range of ranges) highlights.add(position, numbers?.[range.text] ?? null, range);
        await yieldToEventLoop();
      }
      highlights.endRow();
    }
    return highlights.column();
  }
}

/** Returns the matches of query parts in the texts of a row's column. */
function* rangesOf(sought: readonly LeafWords[], texts: readonly string[]): Steps<Range[]> {
  const ranges: Range[] = [];
  for (const words of sought) {
    for (const range of yield* matchedTokens(words, texts)) ranges.push(range);
    yield;
  }
  return merged(ranges);
}

function* matchedTokens({ analyzer, leaf, terms }: LeafWords, texts: readonly string[]): Steps<Range[]> {
  const wanted = new Set(terms.map(({ token }) => token));
  const matches: PlacedToken[] = [];
  yield* documentTokens(analyzer, texts, (token, position, start, end, text) => {
    if (wanted.has(token)) matches.push({ token, position, start, end, text });
  });
  const { query, words, wordPositions } = leaf;
  if (query.kind === "phrase") return tokensOfPhrase(matches, words, query.slop);
  if (!needsAll(leaf)) return matches;
  const tokens = new Set(matches.map(({ token }) => token));
  const having = new Set(terms.filter(({ token }) => tokens.has(token)).map(({ word }) => word));
  return having.size === wordPositions.length ? matches : [];
}

function tokensOfPhrase(
  matches: readonly PlacedToken[],
  words: LeafWords["leaf"]["words"],
  slop: number,
): Range[] {
  const all = words.map(({ token }) =>
    matches.filter((each) => each.token === token).map(({ position }) => position),
  );
  const kept = new Map<string, Set<number>>();
  for (const [word, positions] of phrasePositions(words, all, slop).entries()) {
    const { token } = words[word];
    kept.set(token, new Set([...(kept.get(token) ?? []), ...positions]));
  }
  return matches.filter(({ token, position }) => kept.get(token)?.has(position));
}

/** Sorts ranges and merges overlapping ones. */
function merged(ranges: readonly Range[]): Range[] {
  const sorted = [...ranges].sort((a, b) => a.text - b.text || a.start - b.start || a.end - b.end);
  const kept: Range[] = [];
  for (const { text, start, end } of sorted) {
    const last = kept.at(-1);
    if (last === undefined || last.text !== text || start >= last.end) kept.push({ text, start, end });
    else if (end > last.end) kept[kept.length - 1] = { ...last, end };
  }
  return kept;
}

/** Builds the column of ranges. */
class RangeColumn {
  readonly #names: readonly Uint8Array[];
  readonly #columns: number[] = [];
  readonly #items: (number | null)[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #rows: number[] = [0];

  constructor(paths: readonly string[]) {
    const encoder = new TextEncoder();
    this.#names = paths.map((path) => encoder.encode(path));
  }

  /** @param item index of the text in its list; null outside of lists */
  add(column: number, item: number | null, { start, end }: Range): void {
    this.#columns.push(column);
    this.#items.push(item);
    this.#starts.push(start);
    this.#ends.push(end);
  }

  endRow(): void {
    this.#rows.push(this.#columns.length);
  }

  column(): Column {
    const length = this.#columns.length;
    const bits = new Uint8Array((length + 7) >>> 3);
    for (const [offset, item] of this.#items.entries())
      if (item !== null) bits[offset >>> 3] |= 1 << (offset & 7);
    const items = numbersColumn(Int32Array.from(this.#items, (item) => item ?? 0));
    const children = [
      this.#nameColumn(),
      { ...items, validity: validityFrom(bits, 0, length) },
      numbersColumn(Int32Array.from(this.#starts)),
      numbersColumn(Int32Array.from(this.#ends)),
    ];
    return {
      kind: "list",
      length: this.#rows.length - 1,
      validity: null,
      offsets: Int32Array.from(this.#rows),
      items: { kind: "struct", length, validity: null, children },
    };
  }

  #nameColumn(): Column {
    const offsets = new Int32Array(this.#columns.length + 1);
    for (const [index, column] of this.#columns.entries()) {
      offsets[index + 1] = offsets[index] + this.#names[column].length;
    }
    const bytes = new Uint8Array(offsets[this.#columns.length]);
    for (const [slot, column] of this.#columns.entries()) bytes.set(this.#names[column], offsets[slot]);
    return { kind: "variable", length: this.#columns.length, validity: null, offsets, bytes };
  }
}
