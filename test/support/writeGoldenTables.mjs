/**
 * Writes test/golden anew: `node test/support/writeGoldenTables.mjs` (the reference has to be installed). Vite loads
 * the TypeScript of the generator as vitest does that of the tests.
 */
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const { module } = await runnerImport(fileURLToPath(new URL("./goldenGenerator.ts", import.meta.url)));
await module.writeGoldenTables(fileURLToPath(new URL("../golden", import.meta.url)));
