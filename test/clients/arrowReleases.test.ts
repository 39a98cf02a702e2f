/** Rows are in the classes of the program's copy of apache-arrow, whichever release of the declared range that is. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { needRegistry } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { copyPrograms, isNative, makeClientProject } from "./support/clientProject.js";

const PROGRAM = `
const db = await lancedb.connect("./arrow-data");
const batch = arrow.tableFromArrays({ id: Int32Array.of(1, 2), x: Float64Array.of(0.5, 1.5) });
const table = await db.createTable("t", batch, { mode: "overwrite" });
await table.add([{ id: 3, x: 2.5 }]);
const schema = new arrow.Schema([new arrow.Field("v", new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float32())))]);
const empty = await db.createEmptyTable("empty", schema, { mode: "overwrite" });
await empty.add([{ v: [1, 2] }]);
const [row] = await empty.query().toArray();
const rows = await table.query().where("id > 1").toArrow();
console.log([
  // Since release 21, "instanceof" is true for objects of other copies.
  rows.constructor === arrow.Table,
  rows.schema.constructor === arrow.Schema,
  rows.getChild("x").constructor === arrow.Vector,
  (await table.schema()).fields[0].type.constructor.name === "Int32",
  row.v.constructor === arrow.Vector,
  row.v.toArray() instanceof Float32Array,
  lancedb.makeArrowTable([{ a: 1 }]).constructor === arrow.Table,
].join(" "), arrow.tableToIPC(rows).length > 0, rows.numRows);
`;

it.for([
  "15.0.2",
  "16.1.0",
  "17.0.0",
  "18.1.0",
  "19.0.1",
  "20.0.0",
  "21.0.0",
])("rows are those of apache-arrow %s", async (arrow, context) => {
  await needRegistry(context);
  if (isNative) context.skip("LanceDB accepts releases to 18 only");
  const directory = await makeClientProject({ packages: [], release: "0.39.0", arrow });
  await copyPrograms(directory);
  const esm = `import * as arrow from "apache-arrow";\nimport * as lancedb from "@lancedb/lancedb";\n${PROGRAM}`;
  await writeFile(join(directory, "arrow.mjs"), esm);
  const cjs = `const arrow = require("apache-arrow");\nconst lancedb = require("@lancedb/lancedb");\n`;
  await writeFile(join(directory, "arrow.cjs"), `${cjs}(async () => {${PROGRAM}})();`);
  for (const file of ["arrow.mjs", "arrow.cjs"]) {
    const printed = await printedBy(process.execPath, [file], directory);
    expect([file, printed]).toEqual([file, "true true true true true true true true 2"]);
  }
  expect(await printedBy(process.execPath, ["recipe.mjs"], directory)).toBe("2 1 1 function");
});
