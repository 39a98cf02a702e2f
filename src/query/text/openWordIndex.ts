/**
 * Opens the index of words on a column for a search. Where a part of it can't be read, its fragments are searched by
 * looking at their texts.
 */

import { UnsupportedError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { Analyzer } from "../../indexes/text/analyzer.js";
import { detailedParameters } from "../../indexes/text/detailedParameters.js";
import { PLAIN_TEXT_PARAMETERS } from "../../indexes/text/parameters.js";
import { TextIndex } from "../../indexes/text/textIndex.js";
import type { TableField } from "../../schema/schema.js";
import { jointCoverageOf } from "../../table/commit/indexCoverage.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { noteUnread, openIndexSegment } from "../indexes/tableIndexes.js";
import type { ReaderEnvironment } from "../indexes/versionSource.js";
import { wordIndexOn } from "./wordIndexes.js";

/** A segment of an index of words that is asked. */
export interface OpenWordSegment {
  readonly index: TextIndex;
  /** Ids of the fragments of the version that it covers. */
  readonly covered: ReadonlySet<number>;
}

/** What a search of one column asks. */
export interface OpenWordIndex {
  /** Path of the column. */
  readonly path: string;
  /** Name of the index; null where none is asked. */
  readonly name: string | null;
  readonly segments: readonly OpenWordSegment[];
  /** Fragments whose texts are looked at one by one. */
  readonly others: readonly DataFragment[];
  /** Cuts the column's texts, and those that are searched for. */
  readonly analyzer: Analyzer;
}

/**
 * @param column its path
 * @throws CorruptFileError
 */
export async function openWordIndex(
  column: string,
  {
    version,
    fields,
    isFast,
  }: {
    readonly version: OpenVersion<ReaderEnvironment>;
    readonly fields: readonly TableField[];
    /** Whether rows are left out that no index covers, be it one that can't be read. */
    readonly isFast: boolean;
  },
): Promise<OpenWordIndex> {
  const { path, index, unread } = wordIndexOn(column, version, fields);
  noteUnread(version.table, unread);
  const segments: OpenWordSegment[] = [];
  for (const segment of index?.segments ?? []) {
    const open = await openIndexSegment(
      version,
      version.table.environment,
      index as NonNullable<typeof index>,
      segment,
    );
    if (open instanceof TextIndex) segments.push({ index: open, covered: segment.covered });
  }
  const entries = [
    ...(index?.segments ?? []).map(({ metadata }) => metadata),
    ...unread.map(({ entry }) => entry),
  ];
  const analyzer = (await segments[0]?.index.analyzer()) ?? (await analyzerOf(entries));
  const name = segments.length === 0 || index === undefined ? null : index.name;
  const covered = new Set(segments.flatMap((segment) => [...segment.covered]));
  const wanted = isFast ? jointCoverageOf(entries) : null;
  const others = version.file.manifest.fragments.filter(
    ({ id }) => (wanted === null || wanted.has(id)) && !covered.has(id),
  );
  return { path, name, segments, others, analyzer };
}

/** Cuts texts as an index that can't be read does, where the manifest says how; into words as they are otherwise. */
async function analyzerOf(entries: Parameters<typeof detailedParameters>[0][]): Promise<Analyzer> {
  for (const entry of entries) {
    const parameters = detailedParameters(entry);
    if (parameters === null) continue;
    try {
      return await Analyzer.load(parameters);
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error;
    }
  }
  return Analyzer.load(PLAIN_TEXT_PARAMETERS);
}
