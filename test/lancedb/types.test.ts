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

const NOT_MADE_BY_PROGRAMS =
  "its constructor takes what the drop-in's own modules make, as LanceDB's takes native objects";

/** Differences that are meant, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "new AutoQuery": NOT_MADE_BY_PROGRAMS,
  "new BlobFile": NOT_MADE_BY_PROGRAMS,
  "BlobFile.fromNative": "there is no native file",
  "new BranchContents": NOT_MADE_BY_PROGRAMS,
  "new Branches": NOT_MADE_BY_PROGRAMS,
  "new MergeInsertBuilder(2)": NOT_MADE_BY_PROGRAMS,
  "new QueryBase": NOT_MADE_BY_PROGRAMS,
  "new TagContents": NOT_MADE_BY_PROGRAMS,
  "new Tags": NOT_MADE_BY_PROGRAMS,
  "new TakeQuery": NOT_MADE_BY_PROGRAMS,
  "new VectorQuery": NOT_MADE_BY_PROGRAMS,
  "new rerankers.RRFReranker(1)": NOT_MADE_BY_PROGRAMS,
};

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
  expect(differences.filter((difference) => !(named(difference) in EXCEPTIONS))).toEqual([]);
});
