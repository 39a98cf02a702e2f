/** Tables of any seed: columns of all types and encodings, changes of all kinds, written by us or LanceDB. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { DirectoryNamespace, type TableHandle } from "tiltyard";
import { Index } from "tiltyard-reference/session.js";
import { fieldOf, listOf } from "./arrowColumns.js";
import { makeColumn, Random, type TableSpec, TYPE_NAMES, type TypeName, tableSpecs } from "./generators.js";
import { withReference } from "./indexedTable.js";
import { reference } from "./reference.js";

/** Name of the table that {@link makeVariedTable} makes. */
export const VARIED = "varied";

const WORDS = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine"];
const DIMENSION = 8;
/** LanceDB refuses NaN in vectors. */
const WITHOUT_NAN = TYPE_NAMES.filter((name) => !/^vectorFloat/.test(name));

const INDEXES = [
  ["id", "BTREE"],
  ["word", "BITMAP"],
  ["word", "BTREE"],
  ["id", "BITMAP"],
  ["words", "LABEL_LIST"],
  ["score", "ZONEMAP"],
  ["score", "BTREE"],
  ["id", "BLOOMFILTER"],
  ["text", "FTS"],
  ["text", "NGRAM"],
  ["vector", "IVF_FLAT"],
  ["vector", "IVF_PQ"],
  ["vector", "IVF_SQ"],
  ["vector", "IVF_HNSW_SQ"],
] as const;

const OWN_FIELDS = [
  fieldOf("id", new arrow.Int64(), false),
  fieldOf("word", new arrow.Utf8()),
  fieldOf("words", listOf(new arrow.Utf8())),
  fieldOf("text", new arrow.Utf8()),
  fieldOf("score", new arrow.Float64()),
  fieldOf("vector", new arrow.FixedSizeList(DIMENSION, fieldOf("item", new arrow.Float32()))),
];

/** Makes rows: columns that changes name, and others of random types. */
class Rows {
  readonly #random: Random;
  readonly #spec: TableSpec;
  #nextId = 0;

  /** @param types types of the random columns */
  constructor(seed: number, types: readonly TypeName[]) {
    this.#random = new Random(seed);
    const specs = tableSpecs({ types, maxColumns: 5, minRows: 300, maxRows: 300 });
    [this.#spec] = fc.sample(specs, { seed, numRuns: 1 });
  }

  below(limit: number): number {
    return this.#random.below(limit);
  }

  chance(share: number): boolean {
    return this.below(1000) < share * 1000;
  }

  get lastId(): number {
    return this.#nextId;
  }

  /** @param firstId id of the first row. Default: rows get new ids */
  make(count: number, firstId = this.#nextId): arrow.Table {
    this.#nextId = Math.max(this.#nextId, firstId + count);
    const word = () => WORDS[this.below(WORDS.length)];
    const own = new arrow.Schema(OWN_FIELDS);
    const rows = Array.from({ length: count }, (_, row) => ({
      id: BigInt(firstId + row),
      word: this.chance(0.1) ? null : word(),
      words: this.chance(0.1) ? null : Array.from({ length: this.below(4) }, word),
      text: this.chance(0.1) ? null : Array.from({ length: this.below(12) }, word).join(" "),
      score: this.chance(0.1) ? null : this.below(100) / 8,
      vector: Array.from({ length: DIMENSION }, () => this.below(1000) / 1000),
    }));
    const columns = Object.fromEntries(
      OWN_FIELDS.map(({ name, type }, index) => [
        name,
        arrow.vectorFromArray(
          rows.map((row) => Object.values(row)[index]),
          type,
        ),
      ]),
    );
    const table = new arrow.Table(own, columns as never);
    const extra = this.#spec.columns.map(
      (spec) => new arrow.Vector([makeColumn(spec, count, this.#random.next())]),
    );
    return withColumns(table, extra, this.#spec);
  }
}

function withColumns(
  table: arrow.Table,
  vectors: readonly arrow.Vector[],
  { columns }: TableSpec,
): arrow.Table {
  const fields = columns.map(({ name }, index) => new arrow.Field(name, vectors[index].type, true));
  const schema = new arrow.Schema([...table.schema.fields, ...fields]);
  const data = [...table.schema.fields.map(({ name }) => table.getChild(name) as arrow.Vector), ...vectors];
  return new arrow.Table(
    schema,
    Object.fromEntries(schema.fields.map(({ name }, index) => [name, data[index]])),
  );
}

/** Makes a table in a new directory. Every fourth one begins with LanceDB's changes. */
export async function makeVariedTable(root: string, seed: number): Promise<void> {
  const isOfReference = seed % 4 === 0;
  const rows = new Rows(seed, isOfReference ? WITHOUT_NAN : TYPE_NAMES);
  const dataStorageVersion = (["2.0", "2.1", "2.2"] as const)[rows.below(3)];
  const ns = new DirectoryNamespace({ root, durability: "none", dataStorageVersion });
  try {
    const table = ns.table(VARIED);
    if (isOfReference) await makeByReference(root, rows);
    else {
      await table.create(rows.make(50 + rows.below(250)), { stableRowIds: rows.chance(0.3) });
    }
    const changes = seed % 8 === 0 ? 0 : 3 + rows.below(7);
    for (let change = 0; change < changes; change++) await makeChange(table, rows, change);
  } finally {
    await ns.close();
  }
}

const ipcOf = (table: arrow.Table): Uint8Array => arrow.tableToIPC(table, "stream");

async function makeByReference(root: string, rows: Rows): Promise<void> {
  const uri = root;
  await reference.createTable(uri, VARIED, ipcOf(rows.make(50 + rows.below(250))));
  if (rows.chance(0.7)) await reference.appendTable(uri, VARIED, ipcOf(rows.make(1 + rows.below(100))));
  if (rows.chance(0.5)) {
    await withReference(root, VARIED, async (table) => {
      await table.createIndex("id", { config: Index.btree() });
      if (rows.chance(0.5)) await table.createIndex("word", { config: Index.bitmap() });
      if (rows.chance(0.5)) await table.createIndex("words", { config: Index.labelList() });
      if (rows.chance(0.5)) await table.createIndex("text", { config: Index.fts() });
      if (rows.chance(0.5))
        await table.createIndex("vector", { config: Index.ivfFlat({ numPartitions: 2 }) });
    });
  }
  if (rows.chance(0.7)) await reference.deleteRows(uri, VARIED, `id % 7 = ${rows.below(7)}`);
  if (rows.chance(0.7)) await reference.updateRows(uri, VARIED, { score: "score + 1" }, "id % 5 = 1");
  if (rows.chance(0.5)) await reference.createTag(uri, VARIED, "theirs", 1);
  if (rows.chance(0.5)) await reference.createBranch(uri, VARIED, "their/branch");
  if (rows.chance(0.4)) await reference.optimizeTable(uri, VARIED);
}

/** Makes a change of a random kind. */
async function makeChange(table: TableHandle, rows: Rows, number: number): Promise<void> {
  const kinds = [
    () => table.insert(rows.make(1 + rows.below(150))),
    () => table.delete(`id % 7 = ${rows.below(7)}`),
    () => table.update({ where: `id % 11 = ${rows.below(11)}`, valuesSql: { score: "score + 1" } }),
    () => table.mergeInsert("id", rows.make(40, rows.below(rows.lastId)), upsert),
    () => table.optimize({ targetRowsPerFragment: 100 + rows.below(400) }),
    () => makeIndex(table, rows, number),
    () => makeIndex(table, rows, number),
    () => makeIndex(table, rows, number),
    () => table.createTag(`tag-${number}`),
    async () => {
      const branch = await table.createBranch(`line/${number}`);
      await branch.insert(rows.make(1 + rows.below(50)));
      if (rows.chance(0.5)) await branch.delete("id % 3 = 1");
    },
    () => addComputed(table, rows, number),
    () => table.addColumns([{ name: `sql${number}`, expression: "score * 2" }]),
    () => table.cleanup({ olderThanMs: 0 }),
    () => table.restore(1).catch(() => undefined),
  ];
  await kinds[rows.below(kinds.length)]();
}

const upsert = { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };

async function makeIndex(table: TableHandle, rows: Rows, number: number): Promise<void> {
  const [column, indexType] = INDEXES[rows.below(INDEXES.length)];
  const settings = indexType.startsWith("IVF") ? { numPartitions: 1 + rows.below(3), numSubVectors: 4 } : {};
  const name = `${column}_${number}`;
  await table.waitForJob(await table.createIndex(column, { indexType, name, ...settings } as never));
}

async function addComputed(table: TableHandle, rows: Rows, number: number): Promise<void> {
  const name = `computed${number}`;
  await table.addColumns([{ name, computed: "id * 2" }]);
  if (rows.chance(0.8)) await table.waitForJob(await table.backfill(name));
}
