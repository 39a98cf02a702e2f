/** Bounds on the memory that views become: a short message can hold many views of the same long values. */

import type { MemoryShare } from "../../memory.js";
import { tooLargeIpc } from "./malformedIpc.js";

/** Name of this use of memory. */
const VIEWS = "views";

/** Bounds on the bytes of all values of one batch after they are copied out of its views. */
export class ViewBounds {
  readonly #maxBytes: number;
  readonly #memory: MemoryShare | undefined;
  #bytes = 0;

  /** @param memory accounts for the values */
  constructor(maxBytes: number, memory?: MemoryShare) {
    this.#maxBytes = maxBytes;
    this.#memory = memory;
  }

  /** @throws InvalidInputError where the values of the batch take too much */
  take(byteLength: number): Promise<void> | undefined {
    this.#bytes += byteLength;
    if (this.#bytes > this.#maxBytes) throw tooLargeIpc(this.#bytes, this.#maxBytes);
    return this.#memory?.hold(VIEWS, this.#bytes);
  }

  /** Ends the use of the values. */
  release(): void {
    if (this.#bytes > 0) this.#memory?.note(VIEWS, 0);
    this.#bytes = 0;
  }
}
