/**
 * Rows as JSON: an array of objects, or one object a line. The forms of values are those that docs/http.md
 * lists; the engine reads all of them back into columns of the same types.
 */

import type { RecordBatch } from "apache-arrow";
import { objectsOfBatch } from "../../arrow/exchange/objectsOfBatch.js";
import type { ValueForms } from "../../arrow/objects/valueForms.js";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { UnsupportedError } from "../../errors.js";

export interface JsonRowsForm {
  /** True: one object a line. False: an array. */
  readonly isLines: boolean;
  /** Form of NaN and infinities. */
  readonly nonFinite: "null" | "text";
}

/** Approximate bytes of values that are made at once. Numbers of 4 bytes take up to 20 characters. */
const MADE_BYTES = 2 ** 17;
/** Characters after which a piece ends. */
const PIECE_CHARACTERS = 2 ** 16;

const utf8 = new TextEncoder();

/** Yields the text in pieces. Ending the iteration closes the batches. */
export async function* writeJsonRows(
  batches: AsyncIterable<RecordBatch>,
  { isLines, nonFinite }: JsonRowsForm,
): AsyncGenerator<Uint8Array, void, undefined> {
  const forms: ValueForms = { dates: "iso", bigints: "safe", json: { nonFinite } };
  let text = isLines ? "" : "[";
  let isFirst = true;
  for await (const batch of batches) {
    for await (const rows of objectsOfBatch(batch, forms, MADE_BYTES)) {
      await yieldToEventLoop();
      for (const row of rows) {
        text += isLines ? `${textOf(row)}\n` : `${isFirst ? "" : ","}\n${textOf(row)}`;
        isFirst = false;
        if (text.length < PIECE_CHARACTERS) continue;
        yield utf8.encode(text);
        text = "";
        await yieldToEventLoop();
      }
    }
  }
  if (!isLines) text += "\n]\n";
  if (text !== "") yield utf8.encode(text);
}

function textOf(row: object): string {
  try {
    return JSON.stringify(row);
  } catch (error) {
    // The text would be longer than the runtime's strings.
    if ((error as Error).name !== "RangeError") throw error;
    throw new UnsupportedError("a row is too large for JSON; accept an Arrow stream instead", {
      cause: error,
    });
  }
}
