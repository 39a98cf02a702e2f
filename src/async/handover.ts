/**
 * Hands items from who makes them to who goes through them, one at a time: the maker waits until an item was taken and the
 * next is asked for. Where either ends early, so does the other.
 */
export class Handover<Item> implements AsyncIterable<Item> {
  #item: { readonly value: Item } | null = null;
  #isEnded = false;
  #failure: { readonly error: unknown } | null = null;
  #wake: (() => void) | null = null;

  /** Resolves when the item was taken and done with. @throws what the other side ended with */
  async put(value: Item): Promise<void> {
    this.#item = { value };
    this.#turn();
    while (this.#item !== null && !this.#isEnded) await this.#change();
    if (this.#isEnded) throw this.#failure?.error ?? new Error("nobody takes what is handed over");
  }

  /** There are no more items. */
  end(): void {
    this.#isEnded = true;
    this.#turn();
  }

  /** Whoever waits gets the error. */
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

  /** Lets the other side look again. */
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
