/**
 * Searches texts of a version: by indexes where these cover the rows, and by looking at the others. Rows found by an
 * index are scored among those of the index; rows that none covers among all.
 */

import type { FixedColumn } from "../arrow/columns/column.js";
import { breathe } from "../async/eventLoop.js";
import { InvalidInputError, UnsupportedError } from "../errors.js";
import type { DataFragment } from "../format/table.js";
import { formatFieldPath, parseFieldPath } from "../ident.js";
import { Analyzer } from "../indexes/text/analyzer.js";
import { RowTexts } from "../indexes/text/fts.js";
import { PLAIN_TEXT_PARAMETERS } from "../indexes/text/parameters.js";
import type { Corpus } from "../indexes/text/score.js";
import { TextIndex } from "../indexes/text/textIndex.js";
import { STREAMED } from "../rows/readAhead.js";
import { lowerBound } from "../rows/rowPositions.js";
import type { TableField } from "../schema/schema.js";
import { stableIdsOf } from "../table/fragments/rowOrigins.js";
import { hasStableRowIds } from "../table/versions/flags.js";
import type { OpenVersion } from "../table/versions/tableAt.js";
import { plainColumn } from "../expression/values/operands.js";
import { ColumnReads } from "./columnReads.js";
import type { Filter } from "./filter.js";
import { selectedRows } from "./filteredRows.js";
import type { FragmentSource } from "./fragmentColumns.js";
import { physicalRow, scanColumns } from "./scan.js";
import type { RowNumbers } from "./systemColumns.js";
import { indexesOf, openIndexSegment, type UsableIndex } from "./tableIndexes.js";
import { FlatTexts, type Leaf, type PartitionTerms, scorePartition } from "./textLeaf.js";
import type { MatchQuery, PhraseQuery, TextQuery } from "./textQuery.js";
import { termsIn, wordsOf } from "./textTerms.js";
import type { ReaderEnvironment } from "./versionSource.js";

/** Scores by the addresses of rows: the fragment's id times 2^32, and the physical row. */
type Scores = Map<number, number>;

const WORD = 2 ** 32;
const BATCH_ROWS = 4096;

export interface TextSearchPlan {
  readonly version: OpenVersion<ReaderEnvironment>;
  readonly fields: readonly TableField[];
  readonly query: TextQuery;
  /** Rows that may be found; null for all. */
  readonly filter: Filter | null;
  /** Whether the filter comes before the search; else it takes rows away of those found. */
  readonly isPrefiltered: boolean;
  /** Whether only rows are found that an index covers. */
  readonly isFast: boolean;
}

/** Rows in the order of their scores, the best first. */
export interface RankedRows {
  readonly addresses: FixedColumn;
  readonly scores: FixedColumn;
  readonly rowCount: number;
}

/** The paths of the columns with an index of words. */
export const textColumns = ({ file }: Pick<OpenVersion, "file">, fields: readonly TableField[]): string[] =>
  [...indexesOf(file, fields)].flatMap(([path, indexes]) =>
    indexes.some(({ kind }) => kind.name === "FTS") ? [path] : [],
  );

export async function searchTexts(
  plan: TextSearchPlan,
  source: FragmentSource,
  numbers: RowNumbers,
  offset: number,
  limit: number,
  signal?: AbortSignal,
): Promise<RankedRows> {
  const { filter, isPrefiltered, query } = plan;
  const { fragments } = plan.version.file.manifest;
  const selection = filter === null ? null : await selectionOf(source, fragments, filter, numbers, signal);
  const search = new TextSearch(plan, source, isPrefiltered ? selection : null, signal);
  const scores = await search.scores(query);
  let ranked = [...scores].sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || a - b);
  await breathe();
  if (!isPrefiltered && selection !== null) {
    ranked = ranked.slice(0, offset + limit).filter(([address]) => isSelected(selection, address));
  }
  return columnsOf(ranked.slice(offset, offset + limit));
}

function columnsOf(ranked: readonly (readonly [number, number])[]): RankedRows {
  const words = new Uint32Array(2 * ranked.length);
  const scores = new Float32Array(ranked.length);
  for (const [row, [address, score]] of ranked.entries()) {
    words[2 * row] = address % WORD;
    words[2 * row + 1] = Math.floor(address / WORD);
    scores[row] = score;
  }
  const fixed = (array: Uint32Array | Float32Array, byteWidth: number): FixedColumn => ({
    kind: "fixed",
    length: ranked.length,
    validity: null,
    byteWidth,
    values: new Uint8Array(array.buffer),
  });
  return { addresses: fixed(words, 8), scores: fixed(scores, 4), rowCount: ranked.length };
}

/** Physical rows by fragment, ascending. */
type Selection = ReadonlyMap<number, Uint32Array>;

async function selectionOf(
  source: FragmentSource,
  fragments: readonly DataFragment[],
  filter: Filter,
  numbers: RowNumbers,
  signal: AbortSignal | undefined,
): Promise<Selection> {
  const selection = new Map<number, Uint32Array>();
  const request = { fragments, filter, numbers, readAhead: STREAMED, ...(signal && { signal }) };
  for await (const { fragment, rows } of selectedRows(source, request)) selection.set(fragment.id, rows);
  return selection;
}

const isSelected = (selection: Selection, address: number): boolean =>
  isAmong(selection.get(Math.floor(address / WORD)), address % WORD);

function isAmong(rows: Uint32Array | null | undefined, row: number): boolean {
  return rows !== null && rows !== undefined && rows[lowerBound(rows, row)] === row;
}

class TextSearch {
  readonly #plan: TextSearchPlan;
  readonly #source: FragmentSource;
  readonly #selection: Selection | null;
  readonly #signal: AbortSignal | undefined;
  readonly #deletions = new Map<number, Uint32Array | null>();

  constructor(
    plan: TextSearchPlan,
    source: FragmentSource,
    selection: Selection | null,
    signal: AbortSignal | undefined,
  ) {
    this.#plan = plan;
    this.#source = source;
    this.#selection = selection;
    this.#signal = signal;
  }

  async scores(query: TextQuery): Promise<Scores> {
    switch (query.kind) {
      case "match":
      case "phrase":
        return this.#leaf(query);
      case "multi": {
        const best: Scores = new Map();
        for (const part of query.queries) {
          for (const [address, score] of await this.scores(part)) {
            best.set(address, Math.max(score, best.get(address) ?? Number.NEGATIVE_INFINITY));
          }
        }
        return best;
      }
      case "boost": {
        const scores = await this.scores(query.positive);
        for (const [address, score] of await this.scores(query.negative)) {
          const own = scores.get(address);
          if (own !== undefined) scores.set(address, own - query.negativeBoost * score);
        }
        return scores;
      }
      case "boolean":
        return this.#boolean(query);
    }
  }

  async #boolean({ must, should, mustNot }: Extract<TextQuery, { kind: "boolean" }>): Promise<Scores> {
    let scores: Scores | null = null;
    for (const part of must) {
      const found = await this.scores(part);
      if (scores === null) scores = found;
      else {
        for (const [address, score] of scores) {
          const other = found.get(address);
          if (other === undefined) scores.delete(address);
          else scores.set(address, score + other);
        }
      }
    }
    const isRequired = scores !== null;
    const all: Scores = scores ?? new Map();
    for (const part of should) {
      for (const [address, score] of await this.scores(part)) {
        const own = all.get(address);
        if (own !== undefined || !isRequired) all.set(address, (own ?? 0) + score);
      }
    }
    for (const part of mustNot) for (const [address] of await this.scores(part)) all.delete(address);
    return all;
  }

  async #leaf(query: MatchQuery | PhraseQuery): Promise<Scores> {
    const { version, fields, isFast } = this.#plan;
    const path = formatFieldPath(parseFieldPath(query.column ?? ""));
    const usable = indexesOf(version.file, fields).get(path) ?? [];
    const index = usable.find(({ kind }) => kind.name === "FTS");
    const segments = index === undefined ? [] : await this.#open(index);
    const analyzer = segments[0]?.index.analyzer ?? new Analyzer(PLAIN_TEXT_PARAMETERS);
    if (query.kind === "phrase" && segments.some(({ index: { parameters } }) => !parameters.withPosition)) {
      throw new InvalidInputError(
        `fullTextQuery: the index on ${path} has no positions, which phrases need; build it with withPosition: true`,
      );
    }
    const isFuzzy = query.kind === "match" && query.fuzziness > 0;
    const leaf: Leaf = { query, words: wordsOf(analyzer, query.terms, isFuzzy) };
    const scores: Scores = new Map();
    const boost = query.kind === "match" ? query.boost : 1;
    const add = (address: number, score: number): void => void scores.set(address, score * boost);
    const { corpus, having } = await this.#indexed(leaf, segments, add);
    const covered = new Set(segments.flatMap(({ covered: ids }) => [...ids]));
    const rest = version.file.manifest.fragments.filter(({ id }) => !covered.has(id));
    if (rest.length > 0 && !isFast) {
      const plain: Leaf = { query, words: wordsOf(analyzer, query.terms, false) };
      await this.#flat(plain, analyzer, path, rest, corpus, having, add);
    }
    return scores;
  }

  async #open(index: UsableIndex): Promise<{ index: TextIndex; covered: ReadonlySet<number> }[]> {
    const { version } = this.#plan;
    const opened: { index: TextIndex; covered: ReadonlySet<number> }[] = [];
    for (const segment of index.segments) {
      const open = await openIndexSegment(version, version.at.environment, index, segment);
      if (!(open instanceof TextIndex)) {
        throw new UnsupportedError(`index ${index.name}: its form is not supported by this release`);
      }
      opened.push({ index: open, covered: segment.covered });
    }
    return opened;
  }

  /** Scores what indexes hold. */
  async #indexed(
    leaf: Leaf,
    segments: readonly { readonly index: TextIndex; readonly covered: ReadonlySet<number> }[],
    add: (address: number, score: number) => void,
  ): Promise<{ corpus: Corpus; having: ReadonlyMap<string, number> }> {
    const signal = this.#signal;
    const encoder = new TextEncoder();
    const parts: (PartitionTerms & { readonly covered: ReadonlySet<number> })[] = [];
    const having = new Map<string, number>();
    let documents = 0;
    let tokens = 0;
    for (const { index, covered } of segments) {
      for (const partition of index.partitions) {
        documents += partition.documentCount;
        tokens += await partition.totalTokens(signal);
        const table = await partition.tokens(signal);
        const terms = termsIn(leaf.query, leaf.words, table);
        const ids = new Map<string, number>();
        for (const { token } of terms) {
          const id = table.find(encoder.encode(token));
          if (id >= 0) ids.set(token, id);
        }
        const wanted = Uint32Array.from(new Set(ids.values())).sort();
        const counts = wanted.length === 0 ? wanted : await partition.documentCounts(wanted, signal);
        for (const [token, id] of ids) {
          having.set(token, (having.get(token) ?? 0) + counts[lowerBound(wanted, id)]);
        }
        if (wanted.length > 0) parts.push({ partition, terms, ids, covered });
        await breathe();
      }
    }
    const corpus = { documents, tokens };
    for (const part of parts) {
      const { ids } = await part.partition.documents(signal);
      const rows: number[] = [];
      const scores: number[] = [];
      await scorePartition(
        leaf,
        part,
        corpus,
        having,
        (document, score) => {
          rows.push(ids[2 * document + 1] * WORD + ids[2 * document]);
          scores.push(score);
        },
        signal,
      );
      await this.#place(rows, scores, part.covered, add);
    }
    return { corpus, having };
  }

  /** Hands on the rows that are still there, by their addresses. */
  async #place(
    ids: readonly number[],
    scores: readonly number[],
    covered: ReadonlySet<number>,
    add: (address: number, score: number) => void,
  ): Promise<void> {
    const { file } = this.#plan.version;
    const fragments = file.manifest.fragments.filter(({ id }) => covered.has(id));
    for (const fragment of fragments) await this.#deleted(fragment);
    const byId = new Map(fragments.map((fragment) => [fragment.id, fragment]));
    const addLive = (address: number, score: number): void => {
      const id = Math.floor(address / WORD);
      const row = address % WORD;
      const fragment = byId.get(id);
      if (fragment === undefined || row >= fragment.physicalRows) return;
      if (isAmong(this.#deletions.get(id), row)) return;
      if (this.#selection === null || isSelected(this.#selection, address)) add(address, score);
    };
    if (!hasStableRowIds(file.manifest)) {
      for (const [index, id] of ids.entries()) addLive(id, scores[index]);
      return;
    }
    const places = new Map(ids.map((id, index) => [id, index]));
    for (const fragment of fragments) {
      const { values, counts, step } = stableIdsOf(fragment, file.path);
      let row = 0;
      for (const [run, first] of values.entries()) {
        for (let at = 0; at < counts[run]; at++, row++) {
          const index = places.get(first + step * at);
          if (index !== undefined) addLive(fragment.id * WORD + row, scores[index]);
        }
        await breathe();
      }
    }
  }

  async #deleted(fragment: DataFragment): Promise<void> {
    if (this.#deletions.has(fragment.id)) return;
    const deleted = fragment.deletionFile === undefined ? null : await this.#source.readDeletions(fragment);
    this.#deletions.set(fragment.id, deleted);
  }

  /** Looks at the texts of fragments. */
  async #flat(
    leaf: Leaf,
    analyzer: Analyzer,
    path: string,
    fragments: readonly DataFragment[],
    corpus: Corpus,
    having: ReadonlyMap<string, number>,
    add: (address: number, score: number) => void,
  ): Promise<void> {
    if (leaf.words.length === 0) return;
    const reads = new ColumnReads(this.#plan.fields);
    reads.source(parseFieldPath(path));
    const texts = new FlatTexts(leaf, analyzer);
    const batches = scanColumns(this.#source, {
      fragments,
      projection: { ...reads.plan(), withAddresses: false },
      offset: 0,
      limit: Number.POSITIVE_INFINITY,
      batchRows: BATCH_ROWS,
      readAhead: STREAMED,
      ...(this.#signal && { signal: this.#signal }),
    });
    for await (const { columns, rowCount, places } of batches) {
      const values = new RowTexts(plainColumn(columns[0]));
      for (let row = 0; row < rowCount; row++) {
        const address = places.fragmentId * WORD + physicalRow(places, row);
        if (this.#selection !== null && !isSelected(this.#selection, address)) continue;
        texts.add(address, values.of(row));
        if (row % 64 === 0) await breathe();
      }
    }
    texts.finish(corpus, having, add);
  }
}
