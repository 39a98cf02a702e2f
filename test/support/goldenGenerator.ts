/**
 * Lets the reference write the tables of goldenTables.ts. Keeps a table only if its file has the wanted
 * encodings, and if the reference reads the written rows or prints why not.
 */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tableFromIPC, tableToIPC } from "apache-arrow";
import { compareTables } from "./compareTables.js";
import { exactColumns } from "./exactJson.js";
import { ENCODINGS, type Golden, type GoldenTable, goldenTables } from "./goldenTables.js";
import { tableOutlines } from "./pageOutline.js";
import { reference } from "./reference.js";

/** A table that this build does not open. */
const UNOPENED = /fixed_size_list_of_struct$/;

export async function writeGoldenTables(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const failures: string[] = [];
  for (const golden of goldenTables()) {
    try {
      await writeGolden(directory, golden);
    } catch (error) {
      failures.push(`${golden.name}: ${(error as Error).message.slice(0, 400)}`);
    }
  }
  if (failures.length > 0) throw new Error(failures.join("\n"));
}

async function writeGolden(directory: string, { name, version, shows, rows }: GoldenTable): Promise<void> {
  const table = rows();
  await reference.createTable(directory, name, tableToIPC(table), { dataStorageVersion: version });
  try {
    compareTables(table, tableFromIPC(await reference.readTable(directory, name)), { metadata: false });
  } catch (error) {
    console.info(`${name}: read by the reference: ${(error as Error).message.slice(0, 300)}`);
  }
  const outlines = UNOPENED.test(name) ? [] : await tableOutlines(directory, name);
  console.info(name, outlines);
  for (const encoding of shows) {
    if (!outlines.flat().some((outline) => ENCODINGS[encoding].outline.test(outline))) {
      throw new Error(`no page with ${encoding} among ${outlines.flat().join(" | ")}`);
    }
  }
  // Files of 0.1 lose most nulls.
  const kept = version === "0.1" ? tableFromIPC(await reference.readTable(directory, name)) : table;
  const golden: Golden = { version, shows, outlines, columns: exactColumns(kept) };
  await writeFile(join(directory, `${name}.json`), `${JSON.stringify(golden)}\n`);
}
