/** Indexes built by either engine: both answer as a scan does, also after changes and upkeep. */

import { FixedSizeList, Float32, Float64, Int32, type Table, Utf8 } from "apache-arrow";
import { describe, expect, it } from "vitest";
import type { CreateTableIndexRequest, IndexType } from "../../src/namespace/indexes.js";
import { fieldOf, listOf } from "../support/arrowColumns.js";
import { Random } from "../support/generators.js";
import { buildIndex } from "../support/indexedTable.js";
import { ITS_OWN_FAULT, MAJORS, openPair, type PylancePair } from "./support/pylance.js";
import { PythonError } from "./support/python.js";
import { ascending, idsOf, numbersFrom, rowsOf, sortedIdsOf } from "./support/rows.js";

const ROWS = 600;
const DIMENSION = 16;
const NEAREST = 10;
const WORDS = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath"];
const VECTORS = new FixedSizeList(DIMENSION, fieldOf("item", new Float32()));

/** Returns the vector of a row; no two rows have the same. */
function vectorOf(id: number): number[] {
  const random = new Random(id + 1);
  return Array.from({ length: DIMENSION }, () => random.below(10_000) / 10_000);
}

const wordOf = (id: number, step: number): string => WORDS[(id * step) % WORDS.length];

const rowsFrom = (first: number, count: number, vectorOfRow = vectorOf): Table =>
  rowsOf(numbersFrom(first, count), {
    i: [new Int32(), (id) => (id % 6 === 0 ? null : (id * 17) % 12)],
    n: [new Float64(), (id) => (id % 9 === 0 ? null : (id * 31) % 200)],
    s: [new Utf8(), (id) => (id % 11 === 0 ? null : `${wordOf(id, 1)} ${wordOf(id, 3)} ${id % 40}`)],
    labels: [listOf(new Utf8()), (id) => (id % 8 === 0 ? null : [wordOf(id, 1), wordOf(id, 5)])],
    v: [VECTORS, vectorOfRow],
  });

type Question =
  | { readonly filter: string }
  | { readonly text: string }
  | { readonly near: readonly number[] };

type Settings<Request> = Request extends unknown ? Omit<Request, "id" | "column"> : never;

interface Kind {
  readonly column: string;
  readonly here: Settings<CreateTableIndexRequest>;
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

/** An index of values, with the same name and no settings in both engines. */
const scalar = (indexType: IndexType, column: string, questions: readonly Question[]): Kind => ({
  ...{ column, questions, here: { indexType } },
  there: ["create_scalar_index", indexType],
});

/** An index of vectors in four partitions. */
const ofVectors = (
  indexType: "IVF_PQ" | "IVF_HNSW_SQ",
  here: { readonly numSubVectors?: number } = {},
  there: object = {},
): Kind => ({
  ...{ column: "v", questions: near },
  here: { indexType, distanceType: "l2", numPartitions: 4, ...here },
  there: ["create_vector_index", indexType, { num_partitions: 4, metric: "l2", ...there }],
});

const KINDS: Readonly<Record<string, Kind>> = {
  BTREE: scalar("BTREE", "n", numbers),
  BITMAP: scalar("BITMAP", "i", filters("i = 5", "i > 8", "i IS NULL", "i IN (2, 3)", "NOT (i > 2)")),
  ZONEMAP: scalar("ZONEMAP", "n", numbers),
  BLOOMFILTER: scalar("BLOOMFILTER", "n", filters("n = 31", "n IS NULL", "n IN (62, 93)")),
  LABEL_LIST: scalar(
    "LABEL_LIST",
    "labels",
    filters("array_has_any(labels, ['dune', 'fjord'])", "array_has_all(labels, ['birch', 'fjord'])"),
  ),
  NGRAM: scalar(
    "NGRAM",
    "s",
    filters("contains(s, 'birch')", "contains(s, 'er 3')", "contains(s, 'nowhere')"),
  ),
  FTS: {
    column: "s",
    here: { indexType: "FTS", stem: false, removeStopWords: false },
    there: ["create_scalar_index", "INVERTED", { stem: false, remove_stop_words: false }],
    questions: [{ text: "birch" }, { text: "cedar dune" }, { text: "39" }],
  },
  IVF_PQ: ofVectors("IVF_PQ", { numSubVectors: 4 }, { num_sub_vectors: 4 }),
  IVF_HNSW_SQ: ofVectors("IVF_HNSW_SQ"),
};

async function askedHere({ namespace }: PylancePair, name: string, question: Question): Promise<number[]> {
  const table = namespace.table([name]);
  if ("filter" in question) return sortedIdsOf(await table.scan({ ...question, columns: ["id"] }).toArrow());
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
  return sortedIdsOf(await table.search({ ...asked, columns: ["id"] }).toArrow());
}

async function askedThere(pair: PylancePair, name: string, question: Question): Promise<number[]> {
  if ("filter" in question) return sortedIdsOf(await pair.rowsThere(name, { ...question, columns: ["id"] }));
  if ("text" in question) {
    return sortedIdsOf(
      await pair.rowsThere(name, { full_text_query: question.text, columns: ["id"], limit: 10_000 }),
    );
  }
  const options = { k: NEAREST, nprobes: 100, refine_factor: 100, ef: 1000 };
  return sortedIdsOf(
    await pair.there<Table>("nearest", name, "v", question.near, { ...options, columns: ["id"] }),
  );
}

/** Answers a question by a look at every row. */
async function scanned(pair: PylancePair, plain: string, question: Question): Promise<number[]> {
  if ("filter" in question) return askedHere(pair, plain, question);
  const rows = await pair.rowsHere(plain);
  if ("text" in question) {
    const wanted = question.text.split(" ");
    const ids = idsOf(rows);
    const words = Array.from(rows.getChild("s") ?? [], (text) => String(text ?? "").split(" "));
    return ascending(ids.filter((_, row) => wanted.some((word) => words[row].includes(word))));
  }
  const distance = (id: number): number =>
    vectorOf(id).reduce((sum, value, index) => sum + (Math.fround(value) - question.near[index]) ** 2, 0);
  const nearest = idsOf(rows).sort((one, two) => distance(one) - distance(two));
  return ascending(nearest.slice(0, NEAREST));
}

/** After each, both engines are asked. */
const STAGES = ["built", "changed", "optimised", "compacted"] as const;
type Stage = (typeof STAGES)[number];

interface Fault {
  readonly kinds: RegExp;
  readonly majors: readonly number[];
  /** Only where row ids are stable. */
  readonly ofStableIds?: boolean;
  readonly stages: readonly Stage[];
  /** The questions with wrong answers; null for a step that fails. */
  readonly asked: RegExp | null;
}

/**
 * Faults of pylance, also with tables and indexes that it made alone; a test that meets one proves that.
 * docs/format.md lists them.
 */
const FAULTS: readonly Fault[] = [
  {
    kinds: /^(ZONEMAP|BLOOMFILTER)$/,
    majors: [9],
    ofStableIds: true,
    stages: ["changed", "optimised", "compacted"],
    asked: /filter/,
  },
  {
    kinds: /^(ZONEMAP|BLOOMFILTER)$/,
    majors: [10],
    ofStableIds: true,
    stages: ["compacted"],
    asked: /filter/,
  },
  { kinds: /^NGRAM$/, majors: [9, 10, 11, 12, 13], stages: STAGES, asked: /'er 3'/ },
  { kinds: /^IVF_/, majors: [9], ofStableIds: true, stages: ["optimised"], asked: null },
  { kinds: /^IVF_/, majors: [10], ofStableIds: true, stages: ["optimised", "compacted"], asked: /near/ },
];

const isListed = (
  kind: string,
  major: number,
  { stableRowIds }: Origin,
  stage: Stage,
  asked: string | null,
): boolean =>
  FAULTS.some(
    (fault) =>
      fault.kinds.test(kind) &&
      fault.majors.includes(major) &&
      (stableRowIds || fault.ofStableIds !== true) &&
      fault.stages.includes(stage) &&
      (fault.asked === null ? asked === null : asked !== null && fault.asked.test(asked)),
  );

interface Origin {
  readonly by: "here" | "there";
  readonly stableRowIds: boolean;
}

type Make = (pair: PylancePair, name: string, origin: Origin) => Promise<unknown>;
/** Changes a table, and says what happened to it. */
type Step = (pair: PylancePair, name: string, origin: Origin, kind: Kind) => Promise<unknown>;

const buildThere: Step = (pair, name, _, { there: [call, ...settings], column }) =>
  pair.there(call, name, column, ...settings);
const UPDATED = [{ s: "'cedar 39'", n: "31" }, "id % 50 = 5"] as const;
const GONE = "id % 7 = 3";

/** Both engines work on the table, which is ours. */
const MIXED: { readonly make: Make } & Readonly<Record<Stage, Step>> = {
  async make({ namespace }, name, { stableRowIds }) {
    await namespace.createTable({ id: [name], stableRowIds }, rowsFrom(0, ROWS / 2));
    await namespace.table([name]).insert(rowsFrom(ROWS / 2, ROWS / 2));
  },
  built: (pair, name, origin, kind) =>
    origin.by === "here"
      ? buildIndex(pair.namespace, { id: [name], column: kind.column, ...kind.here })
      : buildThere(pair, name, origin, kind),
  async changed(pair, name) {
    await pair.there("write", name, rowsFrom(ROWS, 60), { mode: "append" });
    await pair.namespace.table([name]).delete(GONE);
    await pair.there("update", name, ...UPDATED);
  },
  // The engine that did not build the index brings it up to date.
  optimised: (pair, name, { by }) =>
    by === "here" ? pair.there("optimize_indices", name) : pair.namespace.table([name]).optimize(),
  compacted: (pair, name, { by }) =>
    by === "here" ? pair.namespace.table([name]).optimize() : pair.there("compact", name),
};

/** pylance does the same alone. */
const ALONE: typeof MIXED = {
  async make(pair, name, { stableRowIds }) {
    await pair.there("write", name, rowsFrom(0, ROWS / 2), { enable_stable_row_ids: stableRowIds });
    await pair.there("write", name, rowsFrom(ROWS / 2, ROWS / 2), { mode: "append" });
  },
  built: buildThere,
  async changed(pair, name) {
    await pair.there("write", name, rowsFrom(ROWS, 60), { mode: "append" });
    await pair.there("delete", name, GONE);
    await pair.there("update", name, ...UPDATED);
  },
  async optimised(pair, name, { by }) {
    if (by === "there") await pair.there("compact", name);
    await pair.there("optimize_indices", name);
  },
  compacted: (pair, name) => pair.there("compact", name),
};

/** Returns the fault of a step or an answer of pylance; null if there is none. */
async function wrongOf(act: () => Promise<unknown>, expected?: readonly number[]): Promise<string | null> {
  try {
    const answer = await act();
    if (expected === undefined || JSON.stringify(answer) === JSON.stringify(expected)) return null;
    const ids = answer as number[];
    const missing = expected.filter((id) => !ids.includes(id)).length;
    const wrong = ids.filter((id) => !expected.includes(id)).length;
    return `${missing} of ${expected.length} rows missing, ${wrong} wrong`;
  } catch (error) {
    if (!(error instanceof PythonError)) throw error;
    return error.message.split("\n", 1)[0].replace(/, \S+\.rs:.*/, "");
  }
}

describe.each(MAJORS)("pylance %i", (major) => {
  const pair = openPair(major);

  describe.each(Object.entries(KINDS))("index %s", (kindName, kind) => {
    it.for(
      (["here", "there"] as const).flatMap((by) => [
        { by, stableRowIds: false, said: `${by === "here" ? "ours" : "its own"} by row addresses` },
        { by, stableRowIds: true, said: `${by === "here" ? "ours" : "its own"} by stable row ids` },
      ]),
    )("$said", async ({ by, stableRowIds }, { annotate }) => {
      const origin = { by, stableRowIds };
      const [name, plain] = [pair.freshName(), pair.freshName()];
      for (const each of [name, plain]) await MIXED.make(pair, each, origin);
      const alone = new OwnTable(pair, origin, kind);
      // The training of vectors begins at random: pylance's own table need not show a fault at the same
      // vectors.
      const isRandom = kind.column === "v";
      for (const stage of STAGES) {
        if (stage === "changed") await MIXED.changed(pair, plain, origin, kind);
        const failed = await wrongOf(() => MIXED[stage](pair, name, origin, kind));
        if (failed !== null) {
          await annotate(`${stage}: ${failed}`, ITS_OWN_FAULT);
          expect(
            await alone.wrongStep(stage),
            `pylance alone, ${stage}, where mixed: ${failed}`,
          ).not.toBeNull();
          expect(isListed(kindName, major, origin, stage, null), `${stage}: ${failed}`).toBe(true);
        }
        for (const question of kind.questions) {
          const expected = await scanned(pair, plain, question);
          const asked = `${stage}: ${JSON.stringify(question).slice(0, 60)}`;
          expect(await askedHere(pair, name, question), `here, ${asked}`).toEqual(expected);
          const wrong = await wrongOf(() => askedThere(pair, name, question), expected);
          if (wrong === null) continue;
          await annotate(`${asked}: ${wrong}`, ITS_OWN_FAULT);
          const wrongAlone = isRandom || (await alone.wrongAnswer(stage, question, expected)) !== null;
          expect(wrongAlone, `pylance alone, ${asked}, where mixed: ${wrong}`).toBe(true);
          expect(isListed(kindName, major, origin, stage, asked), `${asked}: ${wrong}`).toBe(true);
        }
      }
      await pair.there("validate", name);
    });
  });

  it.each([
    "IVF_PQ",
    "IVF_HNSW_SQ",
  ])("vectors replaced and then indexed by %s are found once", async (type) => {
    const name = pair.freshName();
    await pair.there("write", name, rowsFrom(0, ROWS), { enable_stable_row_ids: true });
    const [call, , options] = KINDS[type].there;
    await pair.there(call, name, "v", type, { ...options, num_partitions: 2 });
    const replaced = (id: number) => vectorOf(id + 10_000);
    await pair.there("replace_vectors", name, rowsFrom(0, 100, replaced));
    for (const refineFactor of [undefined, 20]) {
      const search = { vector: replaced(3), vectorColumn: "v", limit: 100, nprobes: 10, ef: 1000 };
      const ids = idsOf(
        await pair.namespace
          .table([name])
          .search({ ...search, refineFactor, columns: ["id"] })
          .toArrow(),
      );
      expect(ids).toHaveLength(100);
      expect(new Set(ids).size).toBe(100);
      expect(ids).toContain(3);
    }
  });
});

/** A table that only pylance works on, to see its faults without us. It is made for the first question. */
class OwnTable {
  readonly #pair: PylancePair;
  readonly #origin: Origin;
  readonly #kind: Kind;
  #name: string | null = null;
  readonly #wrong: (string | null)[] = [];

  constructor(pair: PylancePair, origin: Origin, kind: Kind) {
    this.#pair = pair;
    this.#origin = origin;
    this.#kind = kind;
  }

  async wrongStep(stage: Stage): Promise<string | null> {
    if (this.#name === null) {
      this.#name = this.#pair.freshName();
      await ALONE.make(this.#pair, this.#name, this.#origin);
    }
    const name = this.#name;
    while (this.#wrong.length <= STAGES.indexOf(stage)) {
      const step = ALONE[STAGES[this.#wrong.length]];
      this.#wrong.push(await wrongOf(() => step(this.#pair, name, this.#origin, this.#kind)));
    }
    return this.#wrong[STAGES.indexOf(stage)];
  }

  async wrongAnswer(stage: Stage, question: Question, expected: readonly number[]): Promise<string | null> {
    await this.wrongStep(stage);
    return wrongOf(() => askedThere(this.#pair, this.#name as string, question), expected);
  }
}
