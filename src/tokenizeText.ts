/** Cuts texts into tokens without a namespace. */

import { lazyModule } from "./async/lazy.js";
import { InvalidInputError } from "./errors.js";
import type { Token, TokenizeRequest } from "./namespace/indexes.js";
import { checkRequestMembers } from "./requestMembers.js";

const tokenizing = lazyModule(() => import("./operations/index/tokenize.js"));

/** Members that name an index of a table. */
const OF_TABLES = ["id", "branch", "version", "tag", "asOf", "column", "indexName"];

/**
 * Cuts a text into tokens, as a full-text index with the same options does.
 *
 *     const tokens = await tokenize({ text: "Running foxes" });
 *     console.log(tokens); // [{ text: "run", position: 0 }, { text: "fox", position: 1 }]
 *
 * @throws InvalidInputError for an unknown option, tokenizer or language; UnsupportedError for tokenizers
 *   that need models
 */
export async function tokenizeText(
  request: Omit<TokenizeRequest, "id" | "branch" | "version" | "tag" | "asOf" | "column" | "indexName">,
): Promise<readonly Token[]> {
  checkRequestMembers("tokenize", request);
  const member = OF_TABLES.find((name) => name in request);
  if (member !== undefined) {
    throw new InvalidInputError(`${member}: only the method of a namespace reads indexes of tables`);
  }
  return (await tokenizing.get()).tokensOfText(request);
}
