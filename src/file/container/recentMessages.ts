/**
 * Messages that were decoded a moment ago, by their bytes. The files of a table have one schema, and their pages few
 * encodings: with many small files, decoding the same bytes again would take longer than reading their rows. Whoever gets
 * a message may share it with others and must not change it.
 */

export class RecentMessages<Decoded> {
  readonly #most: number;
  readonly #maxBytes: number;
  readonly #known: { readonly bytes: Uint8Array; readonly decoded: Decoded }[] = [];
  /** The place that the next message takes. */
  #next = 0;

  /**
   * @param most how many messages are remembered
   * @param maxBytes of a message that is remembered
   */
  constructor(most: number, maxBytes: number) {
    this.#most = most;
    this.#maxBytes = maxBytes;
  }

  /**
   * The message that was decoded from the same bytes, or else the one that `decode` returns.
   * @param decode is given the bytes, or a copy of them
   */
  get(bytes: Uint8Array, decode: (bytes: Uint8Array) => Decoded): Decoded {
    if (bytes.length > this.#maxBytes) return decode(bytes);
    const found = this.#known.find((known) => isSame(known.bytes, bytes));
    if (found !== undefined) return found.decoded;
    // A copy, which the message may have views of: those of a file keep alive, or show, what lies there later.
    const own = bytes.slice();
    const decoded = decode(own);
    this.#known[this.#next] = { bytes: own, decoded };
    this.#next = (this.#next + 1) % this.#most;
    return decoded;
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  const { length } = a;
  if (length !== b.length) return false;
  // What tells one message from another is more often at the end.
  for (let index = length - 1; index >= 0; index--) if (a[index] !== b[index]) return false;
  return true;
}
