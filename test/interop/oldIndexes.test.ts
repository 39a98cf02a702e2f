/**
 * BTREE and FTS indexes of older LanceDB releases, which test/support/writeOldIndexes.mjs made: we find the
 * rows of the reference and of a full scan, before and after changes.
 */

import { readdirSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  CorruptFileError,
  DirectoryNamespace,
  InvalidInputError,
  type NamespaceWarning,
  UnsupportedError,
} from "tiltyard";
import { PhraseQuery } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { copyTree } from "../support/copyTree.js";
import { foundHere, foundThere, withReference } from "../support/indexedTable.js";
import { makeTempDir } from "../support/tempDir.js";

const GOLDEN = fileURLToPath(new URL("../golden/oldIndexes", import.meta.url));
const tables = readdirSync(GOLDEN).map((entry) => entry.slice(0, -".lance".length));
const ofKind = (kind: string): string[] => tables.filter((table) => table.endsWith(kind));

async function copyOf(table: string) {
  const root = await makeTempDir();
  await copyTree(join(GOLDEN, `${table}.lance`), join(root, "t.lance"));
  const warnings: NamespaceWarning[] = [];
  const onWarning = (warning: NamespaceWarning) => void warnings.push(warning);
  return { root, warnings, namespace: new DirectoryNamespace({ root, durability: "none", onWarning }) };
}

type Opened = Awaited<ReturnType<typeof copyOf>>;
const id = ["t"];

async function changed({ namespace }: Opened, kind: "btree" | "fts"): Promise<void> {
  await namespace.deleteFromTable({ id, predicate: "id % 17 = 2" });
  const updates = kind === "fts" ? [["text", "'cherry w3 apple'"]] : [["value", "-40"]];
  await namespace.updateTable({ id, updates: updates as [string, string][], predicate: "id % 31 = 1" });
}

const FILTERS = [
  ...["value = 7", "value > 20 AND value <= 31", "value IS NULL", "value < -35", "NOT (value >= -30)"],
  ...["value IN (3, 9, 500)", "word = 'k3'", "word LIKE 'k4%'", "word > 'k45'", "word IS NOT NULL"],
];

describe.each(ofKind("btree"))("%s", (table) => {
  it("finds what the reference and a scan find, as it is, changed, and optimised", async () => {
    const opened = await copyOf(table);
    const { root, namespace, warnings } = opened;
    const check = async (when: string): Promise<void> => {
      for (const filter of FILTERS) {
        const scanned = await namespace.queryTable({ id, filter, useScalarIndex: false, columns: ["id"] });
        const expected = (await scanned.toArray()).map((row) => Number(row["id"])).sort((a, b) => a - b);
        expect(await foundHere(namespace, "t", filter), `${when}: ${filter}`).toEqual(expected);
        expect(await foundThere(root, "t", filter), `${when}, there: ${filter}`).toEqual(expected);
        const forced = await namespace.queryTable({ id, filter, useScalarIndex: true, columns: ["id"] });
        expect((await forced.toArray()).length, `${when}, by the index: ${filter}`).toBe(expected.length);
        const query = { filter, useScalarIndex: true };
        expect(await namespace.explainTableQueryPlan({ id, query })).toContain("IndexSearch");
      }
    };
    await check("opened");
    await changed(opened, "btree");
    await check("changed");
    await namespace.optimizeTable({ id });
    for (const { numUnindexedRows } of (await namespace.listTableIndices({ id })).indexes) {
      expect(numUnindexedRows).toBe(0);
    }
    await check("optimised");
    expect(warnings).toEqual([]);
    await namespace.close();
  });
});

const MATCHES = [
  "apple",
  "bananas",
  "the",
  "run",
  "running",
  "naive",
  "strasse",
  "easily",
  "w7",
  "end",
  "no such",
];
const PHRASES = ["cherry apple", "apple w3", "the apple", "running the", "apple of apple", "easily of"];

type Found = readonly { readonly id: unknown; readonly _score: number }[];
const scored = (rows: Found): string[] =>
  rows.map((row) => `${row.id}: ${row._score.toFixed(3)}`).sort((one, next) => (one < next ? -1 : 1));

describe.each(ofKind("fts"))("%s", (table) => {
  it("finds the words that the reference finds, with their scores, as it is, changed, and optimised", async () => {
    const opened = await copyOf(table);
    const { root, namespace, warnings } = opened;
    const search = async (fullTextQuery: object): Promise<Found> => {
      const matches = await namespace.queryTable({ id, columns: ["id"], fullTextQuery } as never);
      return (await matches.toArray()) as unknown as Found;
    };
    const there = (query: string | PhraseQuery): Promise<Found> =>
      withReference(root, "t", async (reference) => {
        const asked = reference.query().fullTextSearch(query, { columns: ["text"] });
        return (await asked.select(["id", "_score"]).limit(1000).toArray()) as Found;
      });
    const check = async (when: string, hasPhrases: boolean): Promise<void> => {
      for (const query of MATCHES) {
        const matches = scored(await search({ stringQuery: { query } }));
        expect(matches, `${when}: ${query}`).toEqual(scored(await there(query)));
      }
      for (const terms of hasPhrases ? PHRASES : []) {
        const filtered = scored(
          await search({ structuredQuery: { query: { phrase: { terms, column: "text" } } } }),
        );
        expect(filtered, `${when}: phrase ${terms}`).toEqual(
          scored(await there(new PhraseQuery(terms, "text"))),
        );
      }
      const query = { fullTextQuery: { stringQuery: { query: "apple" } } };
      expect(await namespace.explainTableQueryPlan({ id, query })).toContain(
        "IndexSearch: query=text_idx (FTS)",
      );
    };
    // The reference finds no positions in indexes before 0.22; ours are compared after a merge.
    await check("opened", !/^0\.(14|21)/.test(table));
    await changed(opened, "fts");
    await check("changed", false);
    await namespace.optimizeTable({ id });
    await check("optimised", true);
    expect(warnings).toEqual([]);
    await namespace.close();
  });

  it("finds phrases before a merge as after it", async () => {
    const { namespace } = await copyOf(table);
    const phrases = async (): Promise<number[][]> => {
      const answers: number[][] = [];
      for (const terms of PHRASES) {
        const fullTextQuery = { structuredQuery: { query: { phrase: { terms, column: "text" } } } };
        const rows = await (await namespace.queryTable({ id, columns: ["id"], fullTextQuery })).toArray();
        answers.push(rows.map((row) => Number(row["id"])).sort((one, next) => one - next));
      }
      return answers;
    };
    const before = await phrases();
    expect(before.map(({ length }) => length > 0)).toContain(true);
    await namespace.optimizeTable({ id });
    expect(await phrases()).toEqual(before);
    await namespace.close();
  });

  it("answers a phrase with words that a document has more often than a block holds", async () => {
    const { namespace } = await copyOf(table);
    const fullTextQuery = {
      structuredQuery: { query: { phrase: { terms: "apple end", column: "text", slop: 1 } } },
    };
    const rows = await (await namespace.queryTable({ id, columns: ["id"], fullTextQuery })).toArray();
    expect(rows.map((row) => Number(row["id"]))).toEqual([7]);
    await namespace.close();
  });
});

it.each(
  tables,
)("%s is answered or reported as damaged, whatever byte of its index is flipped", async (table) => {
  const { root, namespace } = await copyOf(table);
  const isText = table.endsWith("fts");
  const ask = async (): Promise<string> => {
    const on = new DirectoryNamespace({ root, durability: "none" });
    try {
      const rows = await on.queryTable({
        id,
        columns: ["id"],
        ...(isText
          ? {
              fullTextQuery: {
                structuredQuery: { query: { phrase: { terms: "cherry apple", column: "text" } } },
              },
            }
          : { filter: "value = 7 OR value IS NULL OR word = 'k3'", useScalarIndex: true }),
      });
      return JSON.stringify((await rows.toArray()).map((row) => Number(row["id"])).sort());
    } finally {
      await on.close();
    }
  };
  await ask();
  const indices = join(root, "t.lance", "_indices");
  let reported = 0;
  for (const directory of await readdir(indices)) {
    for (const name of await readdir(join(indices, directory))) {
      const path = join(indices, directory, name);
      const bytes = await readFile(path);
      // Without checksums a changed value may pass; an error must be one of these.
      for (let offset = 3; offset < bytes.length; offset += Math.ceil(bytes.length / 12)) {
        const damaged = Uint8Array.from(bytes);
        damaged[offset] ^= 0x55;
        await writeFile(path, damaged);
        const outcome = await ask().catch((error: unknown) => error);
        if (typeof outcome === "string") continue;
        // An index without positions refuses phrases.
        expect([CorruptFileError, UnsupportedError, InvalidInputError]).toContain(
          (outcome as Error).constructor,
        );
        reported++;
      }
      await writeFile(path, bytes.subarray(0, Math.floor(bytes.length / 2)));
      await expect(ask(), name).rejects.toThrow(CorruptFileError);
      await writeFile(path, bytes);
    }
  }
  expect(reported).toBeGreaterThan(0);
  await namespace.close();
});
