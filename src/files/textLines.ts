/** Decodes bytes as text, and cuts it into lines. */

import { InvalidInputError } from "../errors.js";

/** Default of the longest record of a text file, in characters. */
export const MAX_RECORD_LENGTH = 2 ** 26;

/** Lines that came with one piece of a file. */
export interface Lines {
  /** Number of the first line, counted from 1. */
  readonly firstLine: number;
  readonly texts: readonly string[];
}

/** Decodes UTF-8 piece by piece. A byte order mark at the start is left out. */
class TextDecoding {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #name: string;
  #byteCount = 0;

  /** @param name name of the reader, for messages */
  constructor(name: string) {
    this.#name = name;
  }

  /**
   * Returns the text that ends in a piece.
   * @param piece null at the end of the file
   * @throws InvalidInputError for bytes that are not UTF-8
   */
  decode(piece: Uint8Array | null): string {
    const start = this.#byteCount;
    this.#byteCount += piece?.byteLength ?? 0;
    try {
      return this.#decoder.decode(piece ?? undefined, { stream: piece !== null });
    } catch (error) {
      const range = piece === null ? "the last bytes" : `bytes ${start} to ${this.#byteCount}`;
      throw new InvalidInputError(
        `${this.#name}: ${range} of the file are not UTF-8, the only encoding that is read`,
        { cause: error },
      );
    }
  }
}

/**
 * Yields the lines of a text, without their ends.
 * @param maxChars maximum characters of a line
 * @throws InvalidInputError naming the line, for one that is too long
 */
export async function* linesOf(
  pieces: AsyncIterable<Uint8Array>,
  name: string,
  maxChars: number,
): AsyncGenerator<Lines> {
  const decoding = new TextDecoding(name);
  let firstLine = 1;
  let open = "";
  const cut = (text: string): string[] => {
    const texts = text.split("\n");
    texts[0] = open + texts[0];
    open = texts.pop() as string;
    const long = texts.findIndex((line) => line.length > maxChars);
    if (long < 0 && open.length <= maxChars) return texts;
    const line = firstLine + (long < 0 ? texts.length : long);
    throw new InvalidInputError(
      `${name}: line ${line} is longer than ${maxChars} characters; set maxRecordLength to take it`,
    );
  };
  for await (const piece of pieces) {
    const texts = cut(decoding.decode(piece));
    if (texts.length > 0) yield { firstLine, texts };
    firstLine += texts.length;
  }
  const texts = cut(`${decoding.decode(null)}\n`);
  if (texts[0] !== "") yield { firstLine, texts };
}
