/**
 * Ordered read-ahead: maps a sequence through an asynchronous function, several items at a time, with results in order.
 * The weight of the items under way is bounded, so memory is.
 */

import type { MemoryShare } from "../memory.js";

export interface AheadLimit<Item> {
  /** Weight of an item while it is under way or waits to be taken. */
  weigh(item: Item): number;
  /** Items are started while the sum of weights is below this; one is always allowed. May change meanwhile. */
  readonly maxWeight: number;
  /** Called with the sum whenever it changes, the result in the consumer's hands included; 0 at the end. */
  hold?(weight: number): void;
  /**
   * Accounts for the memory of results; `bytesOf` is the size of one. Nothing that would have to wait for memory is
   * read ahead.
   */
  readonly memory?: { readonly share: MemoryShare; bytesOf(item: Item): number };
}

/** Name of this use of memory. */
const AHEAD = "read ahead";

/**
 * Maps `source` through `map`. If the consumer stops early, started work ends on its own; its results and errors are
 * dropped.
 */
export async function* mapAhead<Item, Result>(
  source: AsyncIterable<Item> | Iterable<Item>,
  map: (item: Item) => Promise<Result>,
  limit: AheadLimit<Item>,
): AsyncGenerator<Result, void, undefined> {
  const iterator = iterate(source);
  const started: { weight: number; bytes: number; result: Promise<Result> }[] = [];
  const share = limit.memory?.share;
  let weight = 0;
  let bytes = 0;
  let exhausted = false;
  /** Taken from the source, not yet started. */
  let waiting: { readonly value: Item } | null = null;
  try {
    for (;;) {
      while (!exhausted && (started.length === 0 || weight < limit.maxWeight)) {
        if (waiting === null) {
          const next = await iterator.next();
          if (next.done) {
            exhausted = true;
            break;
          }
          waiting = next;
        }
        const item: Item = waiting.value;
        const itemBytes = limit.memory?.bytesOf(item) ?? 0;
        if (share !== undefined) {
          if (started.length > 0 && bytes + itemBytes > share.spareBytes(AHEAD)) break;
          const room = share.hold(AHEAD, bytes + itemBytes);
          if (room !== undefined) await room;
        }
        waiting = null;
        const itemWeight = limit.weigh(item);
        const result = map(item);
        // The error is thrown where the result is taken; until then nobody listens.
        result.catch(() => undefined);
        started.push({ weight: itemWeight, bytes: itemBytes, result });
        weight += itemWeight;
        bytes += itemBytes;
        limit.hold?.(weight);
      }
      const first = started.shift();
      if (first === undefined) return;
      yield await first.result;
      weight -= first.weight;
      bytes -= first.bytes;
      limit.hold?.(weight);
      share?.note(AHEAD, bytes);
    }
  } finally {
    limit.hold?.(0);
    share?.note(AHEAD, 0);
    if (!exhausted) await iterator.return?.();
  }
}

function iterate<Item>(source: AsyncIterable<Item> | Iterable<Item>): AsyncIterator<Item> | Iterator<Item> {
  return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
}
