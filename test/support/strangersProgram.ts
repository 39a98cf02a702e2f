/** A program that test runners, bundlers and other runtimes run. */

/** Imports of an ES module; apache-arrow is the program's own choice. */
export const PROGRAM_IMPORTS = `import * as arrow from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
`;

/** Imports of a CommonJS module. */
export const PROGRAM_REQUIRES = `const arrow = require("apache-arrow");
const { DirectoryNamespace } = require("tiltyard");
const { createRestHandler } = require("tiltyard/rest");
`;

/**
 * Makes, fills, indexes and queries a table, also over HTTP, and prints counts. Its data lies in its folder.
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

export const PROGRAM_PRINTS = "200 2 3";

export const PROGRAM = PROGRAM_IMPORTS + PROGRAM_STEPS;
/**
 * The program as a module of either kind, in a function, because some runtimes lack `await` outside of one.
 */
export const PROGRAM_MAIN = `async function main() {\n${PROGRAM_STEPS}}\nmain();\n`;
