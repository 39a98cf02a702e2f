/** Opens the full-text index of a column. Fragments of unreadable segments count as not indexed. */

import { UnsupportedError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { Analyzer } from "../../indexes/text/analyzer.js";
import { detailedParameters } from "../../indexes/text/detailedParameters.js";
import { PLAIN_TEXT_PARAMETERS } from "../../indexes/text/parameters.js";
import { TextIndex } from "../../indexes/text/textIndex.js";
import type { TableField } from "../../schema/schema.js";
import { jointCoverageOf } from "../../table/commit/indexCoverage.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { noteUnread, openIndexSegment, type UsableIndex } from "../indexes/tableIndexes.js";
import type { ReaderEnvironment } from "../indexes/versionSource.js";
import { wordIndexOn } from "./wordIndexes.js";

/** Version and rows of a search. */
export interface WordScope {
  readonly version: OpenVersion<ReaderEnvironment>;
  readonly fields: readonly TableField[];
  /** True to skip rows without coverage, even by an unreadable index. */
  readonly isFast: boolean;
}

/** An open segment of a full-text index. */
export interface OpenWordSegment {
  readonly index: TextIndex;
  /** Ids of the covered fragments of the version. */
  readonly covered: ReadonlySet<number>;
}

/** Index and fragments of a search in one column. */
export interface OpenWordIndex {
  /** Column path. */
  readonly path: string;
  /** Name of the index; null if none is used. */
  readonly name: string | null;
  readonly segments: readonly OpenWordSegment[];
  /** Fragments whose texts are read. */
  readonly others: readonly DataFragment[];
  /** Cuts the texts of the column and of the query. */
  readonly analyzer: Analyzer;
}

/** Opens the index of the column at a path. @throws CorruptFileError */
export async function openWordIndex(column: string, scope: WordScope): Promise<OpenWordIndex> {
  const { version, fields, isFast } = scope;
  const { path, index, unread } = wordIndexOn(column, version, fields);
  noteUnread(version.table, unread);
  const segments: OpenWordSegment[] = [];
  const { environment } = version.table;
  for (const segment of index?.segments ?? []) {
    const open = await openIndexSegment(version, environment, index as UsableIndex, segment);
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

/** Returns the recorded analyzer of an unreadable index; else one that cuts plain words. */
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
