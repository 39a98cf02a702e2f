/** Bounds the memory of values copied from views: a short message can hold a long value many times. */

import type { MemoryShare } from "../../memory.js";
import { tooLargeIpc } from "./malformedIpc.js";

/** Name of this use of memory. */
const VIEWS = "views";

/** Bounds on the bytes of all values that are copied out of one batch's views. */
export class ViewBounds {
  readonly #maxBytes: number;
  readonly #memory: MemoryShare | undefined;
  #bytes = 0;

  /** @param memory accounts for the values */
  constructor(maxBytes: number, memory?: MemoryShare) {
    this.#maxBytes = maxBytes;
    this.#memory = memory;
  }

  /** @throws InvalidInputError if the batch's values exceed the bound */
  take(byteLength: number): Promise<void> | undefined {
    this.#bytes += byteLength;
    if (this.#bytes > this.#maxBytes) throw tooLargeIpc(this.#bytes, this.#maxBytes);
    return this.#memory?.hold(VIEWS, this.#bytes);
  }

  /** Stops accounting for the values. */
  release(): void {
    if (this.#bytes > 0) this.#memory?.note(VIEWS, 0);
    this.#bytes = 0;
  }
}
