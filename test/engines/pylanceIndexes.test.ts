/** Indexes: built by either engine, asked by both, and the answers are those of a scan; also after changes and upkeep. */

import {
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int32,
  Int64,
  List,
  Table,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreateTableIndexRequest } from "../../src/namespace/indexes.js";
import { Random } from "../support/generators.js";
import { buildIndex } from "../support/indexedTable.js";
import { MAJORS, PylancePair } from "./support/pylance.js";

const ROWS = 600;
const DIMENSION = 16;
const NEAREST = 10;
const WORDS = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath"];
const VECTORS = new FixedSizeList(DIMENSION, new Field("item", new Float32(), true));

/** The vector of a row, which is no other's. */
function vectorOf(id: number): number[] {
  const random = new Random(id + 1);
  return Array.from({ length: DIMENSION }, () => random.below(10_000) / 10_000);
}

function rowsFrom(first: number, count: number): Table {
  const ids = Array.from({ length: count }, (_, index) => first + index);
  const wordOf = (id: number, step: number) => WORDS[(id * step) % WORDS.length];
  return new Table({
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    i: vectorFromArray(
      ids.map((id) => (id % 6 === 0 ? null : (id * 17) % 12)),
      new Int32(),
    ),
    n: vectorFromArray(
      ids.map((id) => (id % 9 === 0 ? null : (id * 31) % 200)),
      new Float64(),
    ),
    s: vectorFromArray(
      ids.map((id) => (id % 11 === 0 ? null : `${wordOf(id, 1)} ${wordOf(id, 3)} ${id % 40}`)),
      new Utf8(),
    ),
    labels: vectorFromArray(
      ids.map((id) => (id % 8 === 0 ? null : [wordOf(id, 1), wordOf(id, 5)])),
      new List(new Field("item", new Utf8(), true)),
    ),
    v: vectorFromArray(ids.map(vectorOf), VECTORS),
  });
}

type Question =
  | { readonly filter: string }
  | { readonly text: string }
  | { readonly near: readonly number[] };

interface Kind {
  readonly column: string;
  readonly here: Omit<CreateTableIndexRequest, "id" | "column">;
  /** Function of `pylance_tables.py`, type and options. */
  readonly there: readonly [string, string, object?];
  readonly questions: readonly Question[];
}

const filters = (...texts: string[]): Question[] => texts.map((filter) => ({ filter }));
const numbers = filters(
  "n = 31",
  "n > 150",
  "n IS NULL",
  "n IN (62, 93)",
  "n >= 10 AND n < 40",
  "NOT (n > 20)",
);
const near = [3, 77, 401].map((id) => ({ near: vectorOf(id).map((value) => value + 0.01) }));
const VECTOR = { distanceType: "l2" as const, numPartitions: 4 };

const KINDS: Readonly<Record<string, Kind>> = {
  BTREE: {
    column: "n",
    here: { indexType: "BTREE" },
    there: ["create_scalar_index", "BTREE"],
    questions: numbers,
  },
  BITMAP: {
    column: "i",
    here: { indexType: "BITMAP" },
    there: ["create_scalar_index", "BITMAP"],
    questions: filters("i = 5", "i > 8", "i IS NULL", "i IN (2, 3)", "NOT (i > 2)"),
  },
  ZONEMAP: {
    column: "n",
    here: { indexType: "ZONEMAP" },
    there: ["create_scalar_index", "ZONEMAP"],
    questions: numbers,
  },
  BLOOMFILTER: {
    column: "n",
    here: { indexType: "BLOOMFILTER" },
    there: ["create_scalar_index", "BLOOMFILTER"],
    questions: filters("n = 31", "n IS NULL", "n IN (62, 93)"),
  },
  LABEL_LIST: {
    column: "labels",
    here: { indexType: "LABEL_LIST" },
    there: ["create_scalar_index", "LABEL_LIST"],
    questions: filters(
      "array_has_any(labels, ['dune', 'fjord'])",
      "array_has_all(labels, ['birch', 'fjord'])",
    ),
  },
  NGRAM: {
    column: "s",
    here: { indexType: "NGRAM" },
    there: ["create_scalar_index", "NGRAM"],
    questions: filters("contains(s, 'birch')", "contains(s, 'er 3')", "contains(s, 'nowhere')"),
  },
  FTS: {
    column: "s",
    here: { indexType: "FTS", stem: false, removeStopWords: false },
    there: ["create_scalar_index", "INVERTED", { stem: false, remove_stop_words: false }],
    questions: [{ text: "birch" }, { text: "cedar dune" }, { text: "39" }],
  },
  IVF_PQ: {
    column: "v",
    here: { indexType: "IVF_PQ", ...VECTOR, numSubVectors: 4 },
    there: ["create_vector_index", "IVF_PQ", { num_partitions: 4, num_sub_vectors: 4, metric: "l2" }],
    questions: near,
  },
  IVF_HNSW_SQ: {
    column: "v",
    here: { indexType: "IVF_HNSW_SQ", ...VECTOR },
    there: ["create_vector_index", "IVF_HNSW_SQ", { num_partitions: 4, metric: "l2" }],
    questions: near,
  },
};

const idsOf = (rows: Table): number[] =>
  Array.from(rows.getChild("id") ?? [], Number).sort((one, other) => one - other);

async function askedHere({ namespace }: PylancePair, name: string, question: Question): Promise<number[]> {
  const table = namespace.table([name]);
  if ("filter" in question) return idsOf(await table.scan({ ...question, columns: ["id"] }).toArrow());
  const asked =
    "text" in question
      ? { fullTextQuery: { stringQuery: { query: question.text, columns: ["s"] } }, limit: 10_000 }
      : {
          vector: question.near,
          vectorColumn: "v",
          limit: NEAREST,
          nprobes: 100,
          refineFactor: 100,
          ef: 1000,
        };
  return idsOf(await table.search({ ...asked, columns: ["id"] }).toArrow());
}

async function askedThere(pair: PylancePair, name: string, question: Question): Promise<number[]> {
  if ("filter" in question) return idsOf(await pair.rowsThere(name, { ...question, columns: ["id"] }));
  if ("text" in question) {
    return idsOf(
      await pair.rowsThere(name, { full_text_query: question.text, columns: ["id"], limit: 10_000 }),
    );
  }
  const options = { k: NEAREST, nprobes: 100, refine_factor: 100, ef: 1000 };
  return idsOf(await pair.there<Table>("nearest", name, "v", question.near, { ...options, columns: ["id"] }));
}

/** What a look at every row finds. */
async function scanned(pair: PylancePair, plain: string, question: Question): Promise<number[]> {
  if ("filter" in question) return askedHere(pair, plain, question);
  const rows = await pair.rowsHere(plain);
  if ("text" in question) {
    const wanted = question.text.split(" ");
    return idsOf(rows).filter((id) => {
      const text = String(
        rows.getChild("s")?.get(Array.from(rows.getChild("id") ?? [], Number).indexOf(id)) ?? "",
      );
      return wanted.some((word) => text.split(" ").includes(word));
    });
  }
  const distance = (id: number): number =>
    vectorOf(id).reduce((sum, value, index) => sum + (Math.fround(value) - question.near[index]) ** 2, 0);
  const nearest = idsOf(rows).sort((one, other) => distance(one) - distance(other));
  return nearest.slice(0, NEAREST).sort((one, other) => one - other);
}

describe.each(MAJORS)("pylance %i", (major) => {
  let pair: PylancePair;
  beforeAll(async () => {
    pair = await PylancePair.open(major);
  });
  afterAll(() => pair[Symbol.asyncDispose]());

  describe.each(Object.entries(KINDS))("index %s", (_, kind) => {
    const build = (by: "here" | "there", name: string) => {
      const [call, ...settings] = kind.there;
      return by === "here"
        ? buildIndex(pair.namespace, { id: [name], column: kind.column, ...kind.here })
        : pair.there(call, name, kind.column, ...settings);
    };
    const expectAnswers = async (name: string, plain: string, when: string) => {
      for (const question of kind.questions) {
        const expected = await scanned(pair, plain, question);
        const asked = `${when}: ${JSON.stringify(question).slice(0, 60)}`;
        expect(await askedHere(pair, name, question), `here, ${asked}`).toEqual(expected);
        expect(await askedThere(pair, name, question), `there, ${asked}`).toEqual(expected);
      }
    };

    it.each(
      (["here", "there"] as const).flatMap((by) => [
        { by, stableRowIds: false, said: `${by === "here" ? "ours" : "its own"}, row addresses` },
        { by, stableRowIds: true, said: `${by === "here" ? "ours" : "its own"}, stable row ids` },
      ]),
    )("$said", async ({ by, stableRowIds }) => {
      const [name, plain] = [pair.freshName(), pair.freshName()];
      for (const each of [name, plain]) {
        await pair.namespace.createTable({ id: [each], stableRowIds }, rowsFrom(0, ROWS / 2));
        await pair.namespace.table([each]).insert(rowsFrom(ROWS / 2, ROWS / 2));
      }
      await build(by, name);
      await expectAnswers(name, plain, "built");
      // Rows beside the index, and rows that are gone, each by the other engine.
      for (const each of [name, plain]) {
        await pair.there("write", each, rowsFrom(ROWS, 60), { mode: "append" });
        await pair.namespace.table([each]).delete("id % 7 = 3");
        await pair.there("update", each, { s: "'cedar 39'", n: "31" }, "id % 50 = 5");
      }
      await expectAnswers(name, plain, "changed");
      if (by === "here") {
        await pair.there("optimize_indices", name);
        await expectAnswers(name, plain, "indexes optimised by pylance");
        await pair.namespace.table([name]).optimize();
        await expectAnswers(name, plain, "and compacted by us");
      } else {
        await pair.namespace.table([name]).optimize();
        await expectAnswers(name, plain, "optimised by us");
        await pair.there("compact", name);
        await expectAnswers(name, plain, "and compacted by pylance");
      }
      await pair.there("validate", name);
    });
  });
});
