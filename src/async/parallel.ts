/**
 * Runs work on many items at a time, with a bound: the items of a list or a stream, or tasks of separate
 * callers. The first error ends everything: no further item starts, and all started work has ended when the
 * error is thrown. An aborted signal and a consumer that stops early do the same. No work outlives the call
 * that started it.
 */

import type { MemoryShare } from "../memory.js";
import { whenAborted } from "./abort.js";

/**
 * Calls `work` with each index below `count`, in ascending order, at most `most` at a time.
 * @throws the first error of `work`, or the signal's reason
 */
export async function runParallel(
  count: number,
  most: number,
  work: (index: number) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  let next = 0;
  let failure: { readonly error: unknown } | null = null;
  const lane = async (): Promise<void> => {
    while (next < count && failure === null) {
      const index = next++;
      try {
        signal?.throwIfAborted();
        await work(index);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(most, count)) }, lane));
  // Another lane may have set it; the compiler does not see that.
  const failed = failure as { readonly error: unknown } | null;
  if (failed !== null) throw failed.error;
}

/**
 * Maps a list, `most` items at a time. Results come in the order of the list.
 * @throws the first error of `map`, or the signal's reason
 */
export async function mapParallel<Item, Result>(
  items: readonly Item[],
  most: number,
  map: (item: Item, index: number) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result[]> {
  if (items.length === 1) {
    signal?.throwIfAborted();
    return [await map(items[0], 0)];
  }
  const results = new Array<Result>(items.length);
  const work = async (index: number): Promise<void> => {
    results[index] = await map(items[index], index);
  };
  await runParallel(items.length, most, work, signal);
  return results;
}

export interface AheadLimit<Item> {
  /** Weight of an item from its start until the consumer takes its result. */
  weigh(item: Item): number;
  /**
   * Items start while the sum of weights is below this; one item may always run. The number may change
   * meanwhile.
   */
  readonly maxWeight: number;
  /** Called with the sum, the consumer's result included, whenever it changes; with 0 at the end. */
  hold?(weight: number): void;
  /** Accounts for the memory of results. A result that would have to wait for memory is not read ahead. */
  readonly memory?: { readonly share: MemoryShare; bytesOf(item: Item): number };
  /** Ends the work: the next item to start throws the signal's reason. */
  readonly signal?: AbortSignal;
}

const AHEAD = "read ahead";

/**
 * Maps a stream, some items ahead of the consumer. Results come in the order of the stream. A bound on the
 * weight of started items bounds the memory. An error is thrown in the turn of its result.
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
  let failed = false;
  /** Item that was taken from the source and has not started. */
  let waiting: { readonly value: Item } | null = null;
  try {
    for (;;) {
      while (!exhausted && !failed && (started.length === 0 || weight < limit.maxWeight)) {
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
        limit.signal?.throwIfAborted();
        waiting = null;
        const itemWeight = limit.weigh(item);
        const result = map(item);
        // The error is thrown where the result is taken.
        result.catch(() => {
          failed = true;
        });
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
    await Promise.allSettled(started.map(({ result }) => result));
    limit.hold?.(0);
    share?.note(AHEAD, 0);
    if (!exhausted) await iterator.return?.();
  }
}

function iterate<Item>(source: AsyncIterable<Item> | Iterable<Item>): AsyncIterator<Item> | Iterator<Item> {
  return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
}

/** Runs at most a fixed number of tasks of one kind at a time; later ones wait, in order. */
export class Limit {
  readonly #most: number;
  #underWay = 0;
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Runs the work in its turn, and settles as the work does.
   * @param signal bounds the wait for the turn
   * @throws the signal's reason
   */
  async run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#underWay >= this.#most) await this.#turn(signal);
    else this.#underWay++;
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      // The next task takes this task's slot.
      const [next] = this.#waiting;
      if (next === undefined) this.#underWay--;
      else next();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        this.#waiting.delete(begin);
        endWait?.();
        resolve();
      };
      this.#waiting.add(begin);
      const endWait =
        signal &&
        whenAborted(signal, () => {
          this.#waiting.delete(begin);
          reject(signal.reason);
        });
    });
  }
}

/**
 * Waits for two results, also when one fails. If both fail, throws the failure of the first, so that the
 * reason is always the same.
 */
export async function bothOf<First, Second>(
  first: Promise<First>,
  second: Promise<Second>,
): Promise<[First, Second]> {
  await Promise.allSettled([first, second]);
  return [await first, await second];
}
