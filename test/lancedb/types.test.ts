/** The declarations of the drop-in beside those of LanceDB. */

import { join } from "node:path";
import { expect, it } from "vitest";
import { declarationDifferences } from "../support/comparedDeclarations.js";
import { CHECKOUT } from "../support/packedProject.js";

const THEIRS = join(CHECKOUT, "test/reference/node_modules/@lancedb/lancedb/dist");
const OURS = join(CHECKOUT, "dist/esm/types/lancedb");

/** LanceDB's native classes, which its own modules keep. */
const HIDDEN = [
  "JsFullTextQuery",
  "NapiScannable",
  "NativeBatchIterator",
  "NativeBlobFile",
  "NativeBranches",
  "NativeJob",
  "NativeMergeInsertBuilder",
  "NativePermutationBuilder",
  "NativeQuery",
  "NativeRRFReranker",
  "NativeTable",
  "NativeTakeQuery",
  "NativeVectorQuery",
];

/** Differences that are meant, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {};

it.each([
  ["index"],
  ["embedding/index"],
  ["embedding/openai"],
  ["embedding/transformers"],
])("%s declares what LanceDB's declares, but for the listed exceptions", (entry) => {
  const differences = declarationDifferences({
    theirs: join(THEIRS, `${entry}.d.ts`),
    ours: join(OURS, `${entry}.d.ts`),
    arrow: join(CHECKOUT, "node_modules/apache-arrow"),
    hidden: HIDDEN,
  });
  const named = (difference: string) => difference.slice(0, difference.indexOf(": "));
  expect(differences.filter((difference) => EXCEPTIONS[named(difference)] === undefined)).toEqual([]);
});
