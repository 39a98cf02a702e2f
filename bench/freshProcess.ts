/**
 * The program of a fresh-process case: `freshProcess.js <side> <step> <root> [request]`. It imports one
 * contestant only, takes the step on table `t`, and ends. Both contestants get the rows that they append from
 * their own apache-arrow.
 */

/** Request of a step, as JSON. */
export interface FreshRequest {
  readonly filter?: string;
  readonly columns?: readonly string[];
  readonly orderBy?: readonly { columnName: string; ascending: boolean; nullsFirst: boolean }[];
  readonly limit?: number;
  /** SQL, by column. */
  readonly updates?: Readonly<Record<string, string>>;
  /** Rows of a merge by `id`. */
  readonly mergedRows?: number;
  /** To which the nearest rows are found. */
  readonly vector?: readonly number[];
  /** Words that texts are searched for. */
  readonly words?: string;
}

const [side, step, root, text = "{}"] = process.argv.slice(2);
const {
  filter,
  columns,
  orderBy,
  limit,
  updates = {},
  mergedRows = 0,
  vector = [],
  words = "",
} = JSON.parse(text) as FreshRequest;
const condition = filter ?? "true";

/** Rows of an append. */
const APPENDED = 1000;
const FIRST_ROWS = 10;

const values = () => Int32Array.from({ length: APPENDED }, (_, row) => row);

/** Rows of which half are new. */
const merged = () => ({
  id: BigInt64Array.from({ length: mergedRows }, (_, row) =>
    BigInt(row % 2 === 0 ? row * 10 : 2 ** 40 + row),
  ),
  count: Int32Array.from({ length: mergedRows }, (_, row) => row % 1000),
  score: Float64Array.from({ length: mergedRows }, (_, row) => row / 2),
});

async function tiltyard(): Promise<void> {
  const { DirectoryNamespace } = await import("tiltyard");
  if (step === "import") return;
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const table = ns.table(["t"]);
  if (step === "count") expectRows(await table.countRows());
  else if (step === "first") expectRows((await table.scan({ limit: FIRST_ROWS }).toArrow()).numRows);
  else if (step === "query") {
    await (await ns.queryTable({ id: ["t"], filter, columns, orderBy, limit })).toArrow();
  } else if (step === "nearest") {
    expectRows(
      (await table.search({ vector: [...vector], k: FIRST_ROWS, columns: ["id"] }).toArrow()).numRows,
    );
  } else if (step === "match") {
    expectRows((await table.search({ text: words, limit: FIRST_ROWS, columns: ["id"] }).toArrow()).numRows);
  } else if (step === "count where") await table.countRows(condition);
  else if (step === "delete") await table.delete(condition);
  else if (step === "update")
    await ns.updateTable({ id: ["t"], predicate: condition, updates: Object.entries(updates) });
  else if (step === "merge") {
    const { tableFromArrays } = await import("apache-arrow");
    const upsert = { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
    await table.mergeInsert("id", tableFromArrays(merged()), upsert);
  } else if (step === "scan") {
    let rows = 0;
    for await (const batch of table.scan()) rows += batch.numRows;
    expectRows(rows);
  } else {
    const { tableFromArrays } = await import("apache-arrow");
    await table.insert(tableFromArrays({ id: values() }));
  }
  await ns.close();
}

async function reference(): Promise<void> {
  const { arrow, connect } = await import("tiltyard-reference/session.js");
  if (step === "import") return;
  const connection = await connect(root);
  const table = await connection.openTable("t");
  if (step === "count") expectRows(await table.countRows());
  else if (step === "first") expectRows((await table.query().limit(FIRST_ROWS).toArrow()).numRows);
  else if (step === "query") {
    let query = table.query();
    if (columns !== undefined) query = query.select([...columns]);
    if (filter !== undefined) query = query.where(filter);
    if (orderBy !== undefined) query = query.orderBy([...orderBy]);
    if (limit !== undefined) query = query.limit(limit);
    await query.toArrow();
  } else if (step === "nearest") {
    const query = table
      .query()
      .nearestTo([...vector])
      .limit(FIRST_ROWS)
      .select(["id", "_distance"]);
    expectRows((await query.toArrow()).numRows);
  } else if (step === "match") {
    const query = table.query().fullTextSearch(words).limit(FIRST_ROWS).select(["id", "_score"]);
    expectRows((await query.toArrow()).numRows);
  } else if (step === "count where") await table.countRows(condition);
  else if (step === "delete") await table.delete(condition);
  else if (step === "update") await table.update({ where: condition, valuesSql: { ...updates } });
  else if (step === "merge") {
    const merge = table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll();
    await merge.execute(arrow.tableFromArrays(merged()));
  } else if (step === "scan") {
    let rows = 0;
    for await (const batch of table.query()) rows += batch.numRows;
    expectRows(rows);
  } else await table.add(arrow.tableFromArrays({ id: values() }));
  connection.close();
}

function expectRows(rows: number): void {
  if (!(rows > 0)) throw new Error(`${side}, ${step}: ${rows} rows`);
}

await (side === "tiltyard" ? tiltyard() : reference());
