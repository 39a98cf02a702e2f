/** A program that test runners, bundlers and other runtimes run. */

/** Imports of an ES module; apache-arrow is the program's own choice. */
export const PROGRAM_IMPORTS = `import * as arrow from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
`;

/** The same of a CommonJS module. */
export const PROGRAM_REQUIRES = `const arrow = require("apache-arrow");
const { DirectoryNamespace } = require("tiltyard");
const { createRestHandler } = require("tiltyard/rest");
`;

/**
 * Makes a table, fills it with objects and with Arrow's, indexes it, asks it, also over HTTP, and prints what it counts.
 * Its data lies in the folder that it runs in.
 */
export const PROGRAM_STEPS = `const ns = new DirectoryNamespace({ root: process.cwd() + "/tables" });
await ns.createTable({ id: ["t"], mode: "Overwrite" }, [{ id: 1, at: new Date(0), text: "a" }]);
await ns.insertIntoTable({ id: ["t"] }, arrow.tableFromArrays({ id: Float64Array.of(2, 3) }));
const { jobId } = await ns.table("t").createIndex("id", { indexType: "BTREE" });
await ns.waitForJob({ jobId });
const handler = createRestHandler(ns, { auth: { anonymous: true } });
const { status } = await handler(new Request("http://localhost/v1/table/t/count_rows", { method: "POST" }));
console.log(status, await ns.table("t").countRows("id > 1"), (await ns.table("t").scan().toArray()).length);
await ns.close();
`;

/** What it prints. */
export const PROGRAM_PRINTS = "200 2 3";

/** The program as an ES module. */
export const PROGRAM = PROGRAM_IMPORTS + PROGRAM_STEPS;
/** The program as a module of either kind, whose steps are a function: not everybody takes `await` outside of one. */
export const PROGRAM_MAIN = `async function main() {\n${PROGRAM_STEPS}}\nmain();\n`;
