/**
 * The program of a fresh-process case: `freshProcess.js <side> <step> <root> [filter]`. It imports one contestant only, takes the
 * step on table `t`, and ends. Both contestants get the rows that they append from their own apache-arrow.
 */

const [side, step, root, filter] = process.argv.slice(2);

/** Rows of an append. */
const APPENDED = 1000;
const FIRST_ROWS = 10;

const values = () => Int32Array.from({ length: APPENDED }, (_, row) => row);

async function tiltyard(): Promise<void> {
  const { DirectoryNamespace } = await import("tiltyard");
  if (step === "import") return;
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const table = ns.table(["t"]);
  if (step === "count") expectRows(await table.countRows());
  else if (step === "first") expectRows((await table.scan({ limit: FIRST_ROWS }).toArrow()).numRows);
  else if (step === "query") await (await ns.queryTable({ id: ["t"], filter })).toArrow();
  else if (step === "scan") {
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
  else if (step === "query") await table.query().where(filter).toArrow();
  else if (step === "scan") {
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
