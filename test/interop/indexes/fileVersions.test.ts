/** Index files have the version of the table's data files, so that releases that read the table read them. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DirectoryNamespace, IndexType } from "tiltyard";
import { describe, expect, it } from "vitest";
import { sharedDirectory } from "../../support/fixtures.js";
import { buildIndex, foundHere, foundThere, withReference } from "../../support/indexedTable.js";
import { FILE_VERSIONS, sharedNamespaces } from "../../support/interop.js";

/** Major and minor version in the footer of a file. */
const FOOTERS = { "2.0": [0, 3], "2.1": [2, 1], "2.2": [2, 2] } as const;
const WORDS = ["quick", "brown", "fox", "lazy", "dog"];

const rowsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, row) => {
    const id = first + row;
    return {
      id,
      n: BigInt(id % 50),
      text: `${WORDS[id % 5]} ${WORDS[(id * 3 + 1) % 5]} word${id % 20}`,
      tags: [WORDS[id % 5], WORDS[(id + 2) % 5]],
      v: Float32Array.from({ length: 8 }, (_, index) => Math.sin(id * 8 + index)),
    };
  });

interface Kind {
  readonly indexType: IndexType;
  readonly column: string;
  /** A filter that the index answers, with its predicate. */
  readonly filter?: string;
  readonly passes?: (row: ReturnType<typeof rowsFrom>[number]) => boolean;
  readonly options?: object;
}

const KINDS: readonly Kind[] = [
  { indexType: "BTREE", column: "n", filter: "n = 7", passes: ({ n }) => n === 7n },
  {
    indexType: "BTREE",
    column: "text",
    filter: "text = 'quick brown word0'",
    passes: ({ text }) => text === "quick brown word0",
  },
  { indexType: "BITMAP", column: "n", filter: "n IN (3, 4)", passes: ({ n }) => n === 3n || n === 4n },
  {
    indexType: "LABEL_LIST",
    column: "tags",
    filter: "array_has_any(tags, ['fox'])",
    passes: ({ tags }) => tags.includes("fox"),
  },
  {
    indexType: "NGRAM",
    column: "text",
    filter: "contains(text, 'word1')",
    passes: ({ text }) => text.includes("word1"),
  },
  {
    indexType: "FM",
    column: "text",
    filter: "contains(text, 'word1')",
    passes: ({ text }) => text.includes("word1"),
  },
  { indexType: "ZONEMAP", column: "n", filter: "n > 45", passes: ({ n }) => n > 45n },
  { indexType: "BLOOMFILTER", column: "n", filter: "n = 11", passes: ({ n }) => n === 11n },
  { indexType: "FTS", column: "text" },
  { indexType: "IVF_FLAT", column: "v", options: { numPartitions: 2 } },
  { indexType: "IVF_SQ", column: "v", options: { numPartitions: 2 } },
  { indexType: "IVF_PQ", column: "v", options: { numPartitions: 2, numSubVectors: 4 } },
  { indexType: "IVF_HNSW_FLAT", column: "v", options: { numPartitions: 2 } },
  { indexType: "IVF_HNSW_SQ", column: "v", options: { numPartitions: 2 } },
  { indexType: "IVF_HNSW_PQ", column: "v", options: { numPartitions: 2, numSubVectors: 4 } },
];

const root = sharedDirectory();
const namespaces = sharedNamespaces(root);

/** Distinct versions of a table's index files. */
async function footersOf(name: string): Promise<string[]> {
  const indices = join(root, `${name}.lance`, "_indices");
  const versions = new Set<string>();
  for (const segment of await readdir(indices)) {
    for (const file of await readdir(join(indices, segment))) {
      const bytes = await readFile(join(indices, segment, file));
      versions.add(`${bytes.readUInt16LE(bytes.length - 8)}.${bytes.readUInt16LE(bytes.length - 6)}`);
    }
  }
  return [...versions];
}

async function expectAnswers(
  ns: DirectoryNamespace,
  name: string,
  { indexType, column, filter, passes }: Kind,
  rows: ReturnType<typeof rowsFrom>,
): Promise<void> {
  if (filter !== undefined && passes !== undefined) {
    const expected = rows.filter(passes).map(({ id }) => id);
    expect(expected.length).toBeGreaterThan(0);
    expect(await foundHere(ns, name, filter)).toEqual(expected);
    expect(await foundThere(root, name, filter)).toEqual(expected);
  } else if (indexType === "FTS") {
    const fullTextQuery = { stringQuery: { query: "fox word3", columns: [column] } };
    const here = await ns
      .table([name])
      .search({ fullTextQuery, columns: ["id"], limit: 1000 })
      .toArray();
    const there = await withReference(root, name, (table) =>
      table
        .query()
        .fullTextSearch("fox word3", { columns: [column] })
        .select(["id"])
        .limit(1000)
        .toArray(),
    );
    expect(here.length).toBeGreaterThan(50);
    expect(here.map(({ id }) => Number(id)).sort()).toEqual(there.map(({ id }) => Number(id)).sort());
  } else {
    const vector = Array.from(rowsFrom(77, 1)[0].v);
    const here = await ns
      .table([name])
      .search({ vector, columns: ["id"], limit: 5, nprobes: 2 })
      .toArray();
    const there = await withReference(root, name, (table) =>
      table.vectorSearch(vector).nprobes(2).select(["id"]).limit(5).toArray(),
    );
    expect(Number(here[0].id)).toBe(77);
    expect(Number(there[0].id)).toBe(77);
  }
}

describe.each(FILE_VERSIONS)("files of indexes on tables of version %s", (version) => {
  const footer = FOOTERS[version].join(".");

  it.each(KINDS)("are of that version: $indexType on $column", async (kind) => {
    const ns = namespaces[version];
    const name = `${kind.indexType}_${kind.column}_${version.replace(".", "_")}`.toLowerCase();
    await ns.createTable({ id: [name] }, rowsFrom(0, 300));
    await buildIndex(ns, { id: [name], column: kind.column, indexType: kind.indexType, ...kind.options });
    expect(await footersOf(name)).toEqual([footer]);
    await expectAnswers(ns, name, kind, rowsFrom(0, 300));
    await ns.insertIntoTable({ id: [name] }, rowsFrom(300, 100));
    await ns.deleteFromTable({ id: [name], predicate: "id % 4 = 2" });
    await ns.table([name]).optimize();
    expect(await footersOf(name)).toEqual([footer]);
    const rows = rowsFrom(0, 400).filter(({ id }) => id % 4 !== 2);
    await expectAnswers(ns, name, kind, rows);
  });
});
