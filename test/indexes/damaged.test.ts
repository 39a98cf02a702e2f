/** Searches of damaged index files give an answer or a typed error, and never hang. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { NamespaceError } from "../../src/errors.js";
import type { IndexKind, IndexQuery, IndexRows } from "../../src/indexes/kind.js";
import { kindOfName } from "../../src/indexes/kinds/kinds.js";
import { Random } from "../support/generators.js";
import { makeTempDir } from "../support/tempDir.js";
import { filesIn, rowsOf, targetOf } from "./indexDirectory.js";
import { columnOf, drawValues, fieldOf } from "./indexValues.js";

const ROWS = 3000;
const DAMAGES = 60;

async function* placed(rows: AsyncIterable<IndexRows>): AsyncGenerator<IndexRows> {
  let first = 0;
  for await (const batch of rows) {
    const offsets = Uint32Array.from({ length: batch.rowCount }, (_, row) => first + row);
    yield { ...batch, fragmentRows: { fragmentId: 0, offsets } };
    first += batch.rowCount;
  }
}

describe.each(["BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER", "NGRAM", "FM"])("a damaged %s index", (name) => {
  const kind = kindOfName(name) as IndexKind;
  const field = fieldOf("string");

  it("returns an answer or a typed error", async () => {
    const random = new Random(9);
    const values = drawValues(random, field.type, { rowCount: ROWS, nulls: 0.1, distinct: 100 });
    const ids = values.map((_, row) => BigInt(row));
    const directory = await makeTempDir();
    const target = targetOf(directory, field, { rowsPerZone: 100 });
    const written = await kind.build(placed(rowsOf(field.type, values, ids)), target);
    const some = values.filter((value) => value !== null).slice(0, 3);
    const value = columnOf(field.type, some.slice(0, 1));
    const queries: IndexQuery[] = [
      { kind: "in", values: columnOf(field.type, some) },
      { kind: "range", lower: { value, isInclusive: true }, upper: null },
      { kind: "isNull" },
      { kind: "contains", text: "v12" },
    ];
    const outcomes = { answered: 0, failed: 0 };
    for (let damage = 0; damage < DAMAGES; damage++) {
      const damaged = await makeTempDir();
      const chosen = random.below(written.length);
      for (const [index, { name: fileName }] of written.entries()) {
        const bytes = await readFile(join(directory, fileName));
        if (index === chosen) {
          // Damage near the end hits the structure of the file.
          const span = damage % 2 === 0 ? bytes.length : Math.min(bytes.length, 600);
          const slot = bytes.length - 1 - random.below(span);
          if (damage % 7 === 6) await writeFile(join(damaged, fileName), bytes.subarray(0, slot));
          else bytes[slot]! ^= 1 << random.below(8);
        }
        if (index !== chosen || damage % 7 !== 6) await writeFile(join(damaged, fileName), bytes);
      }
      const files = filesIn(damaged);
      try {
        const index = await kind.open(files, field);
        for (const query of queries.filter((candidate) => index.answers(candidate))) {
          index.estimate(query);
          await index.search(query, { withNulls: true });
        }
        outcomes.answered++;
      } catch (error) {
        expect(error, `damage ${damage}`).toBeInstanceOf(NamespaceError);
        outcomes.failed++;
      } finally {
        await files.close();
      }
    }
    expect(outcomes.failed).toBeGreaterThan(DAMAGES / 4);
  });
});
