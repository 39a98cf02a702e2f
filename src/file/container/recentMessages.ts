/**
 * Remembers recently decoded messages by their bytes. The files of a table share one schema, and their pages
 * few encodings. With many small files, decoding the same bytes again would take longer than reading their
 * rows. Callers share messages and must not change them.
 */

import { isSameBytes } from "../../platform/native.js";

export class RecentMessages<Decoded> {
  readonly #messages: { readonly bytes: Uint8Array; readonly decoded: Decoded }[] = [];
  #next = 0;

  /**
   * @param most number of messages that are remembered
   * @param maxBytes of a message that is remembered
   */
  constructor(
    private readonly most: number,
    private readonly maxBytes: number,
  ) {}

  /**
   * Returns the message that was decoded from the same bytes, or else the result of `decode`.
   * @param decode is given the bytes, or a copy of them
   */
  get(bytes: Uint8Array, decode: (bytes: Uint8Array) => Decoded): Decoded {
    if (bytes.length > this.maxBytes) return decode(bytes);
    const message = this.#messages.find(
      (each) => each.bytes.length === bytes.length && isSameBytes(each.bytes, bytes),
    );
    if (message !== undefined) return message.decoded;
    // Messages may have views of the bytes; views of the file's bytes would keep them alive, or change.
    const copy = bytes.slice();
    const decoded = decode(copy);
    this.#messages[this.#next] = { bytes: copy, decoded };
    this.#next = (this.#next + 1) % this.most;
    return decoded;
  }
}
