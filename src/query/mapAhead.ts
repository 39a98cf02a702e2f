/**
 * Ordered read-ahead: maps a sequence through an asynchronous function, several items under way at once, results
 * in order. What is under way is bounded by weight, so memory is.
 */

export interface AheadLimit<Item> {
  /** What an item counts while it is under way or waits to be taken. */
  weigh(item: Item): number;
  /** Items are started while the sum stays below this; one is always allowed. May change meanwhile. */
  readonly maxWeight: number;
  /** Told the sum whenever it changes, the result in the consumer's hands included; 0 at the end. */
  hold?(weight: number): void;
}

/** Stopping early leaves started work to end on its own; its results and errors are dropped. */
export async function* mapAhead<Item, Result>(
  source: AsyncIterable<Item> | Iterable<Item>,
  map: (item: Item) => Promise<Result>,
  limit: AheadLimit<Item>,
): AsyncGenerator<Result, void, undefined> {
  const iterator = iterate(source);
  const started: { weight: number; result: Promise<Result> }[] = [];
  let weight = 0;
  let exhausted = false;
  try {
    for (;;) {
      while (!exhausted && (started.length === 0 || weight < limit.maxWeight)) {
        const next = await iterator.next();
        if (next.done) {
          exhausted = true;
          break;
        }
        const itemWeight = limit.weigh(next.value);
        const result = map(next.value);
        // An error is raised where the result is taken; until then nobody listens.
        result.catch(() => undefined);
        started.push({ weight: itemWeight, result });
        weight += itemWeight;
        limit.hold?.(weight);
      }
      const first = started.shift();
      if (first === undefined) return;
      yield await first.result;
      weight -= first.weight;
      limit.hold?.(weight);
    }
  } finally {
    limit.hold?.(0);
    if (!exhausted) await iterator.return?.();
  }
}

function iterate<Item>(source: AsyncIterable<Item> | Iterable<Item>): AsyncIterator<Item> | Iterator<Item> {
  return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
}
