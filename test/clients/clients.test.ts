/** Clients of LanceDB, installed from npm, print on the drop-in what they print on the release that they ask for. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needRegistry } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import {
  type ClientOptions,
  copyPrograms,
  isNative,
  makeClientProject,
  nativePackages,
} from "./support/clientProject.js";

interface Client extends ClientOptions {
  readonly program: string;
}

const CLIENTS: Readonly<Record<string, Client>> = {
  "@langchain/community": {
    packages: ["@langchain/community@1.1.29", "@langchain/core@^1.1.38"],
    arrow: "18.1.0",
    release: "0.19.1",
    program: "langchain.mjs",
  },
  "@mastra/lance": { packages: ["@mastra/lance@0.3.6"], release: "0.21.3", program: "mastra.mjs" },
  "@llm-tools/embedjs-lancedb": {
    packages: ["@llm-tools/embedjs-lancedb@0.1.31"],
    arrow: "18.1.0",
    release: "0.22.3",
    program: "embedjs.mjs",
  },
  "mcp-local-rag": {
    packages: ["mcp-local-rag@0.19.1"],
    arrow: "18.1.0",
    release: "0.38.0",
    program: "mcp-local-rag.mjs",
  },
  "AnythingLLM's provider": {
    packages: [],
    arrow: "19.0.1",
    isOutsideRange: true,
    release: "0.15.0",
    program: "anythingllm.cjs",
  },
};

describe(isNative ? "LanceDB" : "the drop-in", () => {
  it.for(Object.entries(CLIENTS))("serves %s as its LanceDB does", async ([, client], context) => {
    await needRegistry(context);
    const { program } = client;
    const file = join(import.meta.dirname, "expected", program.replace(/\.\w+$/, ".jsonl"));
    const directory = await makeClientProject(client);
    await copyPrograms(directory);
    const printed = await printedBy(process.execPath, [program], directory, { RUST_LOG: "off" });
    if (process.env["CLIENTS_UPDATE"] !== undefined) await writeFile(file, `${printed}\n`);
    const lines = (text: string) =>
      text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    expect(lines(printed)).toEqual(lines(await readFile(file, "utf8")));
    if (!isNative) expect(await nativePackages(directory)).toEqual([]);
  });
});
