/**
 * Hands items from a producer to a consumer, one at a time. The producer waits until an item was taken and
 * the next one is asked for. If either side ends early, so does the other.
 */
export class Handover<Item> implements AsyncIterable<Item> {
  #item: { readonly value: Item } | null = null;
  #isEnded = false;
  #failure: { readonly error: unknown } | null = null;
  #wake: (() => void) | null = null;

  /**
   * Resolves when the consumer has finished with the item. @throws the error with which the consumer ended
   */
  async put(value: Item): Promise<void> {
    this.#item = { value };
    this.#turn();
    while (this.#item !== null && !this.#isEnded) await this.#change();
    if (this.#isEnded) throw this.#failure?.error ?? new Error("the consumer takes no more items");
  }

  /** Tells the consumer that no more items come. */
  end(): void {
    this.#isEnded = true;
    this.#turn();
  }

  /** Makes both sides fail with the error. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    try {
      for (;;) {
        while (this.#item === null && !this.#isEnded) await this.#change();
        if (this.#failure !== null) throw this.#failure.error;
        if (this.#item === null) return;
        yield this.#item.value;
        this.#item = null;
        this.#turn();
      }
    } finally {
      this.end();
    }
  }

  /** Wakes the side that waits. */
  #turn(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
