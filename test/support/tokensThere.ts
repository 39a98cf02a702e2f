/** Tokens that the reference makes of texts, read from an index that it builds. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { connect, Index } from "tiltyard-reference/session.js";
import { openTextIndex } from "../../src/indexes/text/textIndex.js";
import { filesIn } from "../indexes/indexDirectory.js";
import { makeTempDir } from "./tempDir.js";

/** The reference's names of parameters. */
const NAMES: Readonly<Record<string, string>> = {
  lowerCase: "lowercase",
  minNgramLength: "ngramMinLength",
  maxNgramLength: "ngramMaxLength",
};

/** The reference's options for parameters of an index of words. */
export const optionsThere = (parameters: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(parameters).map(([name, value]) => [NAMES[name] ?? name, value]));

export type PlacedToken = readonly [token: string, position: number];

/** Tokens of each text by position. */
export async function tokensThere(
  texts: readonly string[],
  parameters: Readonly<Record<string, unknown>>,
): Promise<PlacedToken[][]> {
  const root = await makeTempDir();
  const connection = await connect(root);
  const table = await connection.createTable("t", texts.map((t) => ({ t })) as never);
  await table.createIndex("t", { config: Index.fts(optionsThere({ ...parameters, withPosition: true })) });
  connection.close();
  const indices = join(root, "t.lance", "_indices");
  const files = filesIn(join(indices, readdirSync(indices)[0]));
  const byText: PlacedToken[][] = texts.map(() => []);
  try {
    const { partitions } = await openTextIndex(files);
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    for (const partition of partitions) {
      const table = await partition.tokens();
      const names = new Map<number, string>();
      for (let rowIndex = 0; rowIndex < table.count; rowIndex++) {
        names.set(table.id(rowIndex), decoder.decode(table.token(rowIndex)));
      }
      const { ids } = await partition.documents();
      for await (const { id, postings } of partition.allPostings()) {
        let slot = 0;
        for (const [index, document] of postings.documents.entries()) {
          for (let count = 0; count < postings.frequencies[index]; count++) {
            const position = postings.positions?.[slot++] ?? 0;
            byText[ids[2 * document]].push([names.get(id) ?? "", position]);
          }
        }
      }
    }
  } finally {
    await files.close();
  }
  return byText.map((tokens) => tokens.sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1)));
}
