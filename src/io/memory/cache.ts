/**
 * A cache that is bounded in bytes, or in entries if each weighs 1. It drops entries that nobody used for
 * long: an entry goes when its turn comes, unless somebody has used it since its last turn. A use only leaves
 * a mark; an exact order would have to move the entry each time. What always holds:
 *
 * - Callers that ask for one key at the same time share one load.
 * - A failed load is not remembered.
 * - A deleted entry stays deleted. If it is being loaded, its callers get the value but the cache does not
 *   keep it.
 *
 * The cache does not notice changes. A key must name something that never changes, or the value must tell
 * what it was made from (a file by its identity), so that the caller can compare.
 */

/** Result of a load. */
export interface Weighed<V> {
  readonly value: V;
  /** Approximate bytes that the value keeps alive. */
  readonly weight: number;
}

/** Use of a cache. Bytes are weights. */
export interface CacheCounts {
  readonly entries: number;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly hits: number;
  readonly misses: number;
}

/** Maximum number of used entries that a call spares, so that no call takes long. */
const MAX_CHANCES = 256;

interface Entry<V> extends Weighed<V> {
  /** True if somebody has used it since its last turn. */
  isUsed: boolean;
}

interface Load<V> {
  readonly value: Promise<V>;
}

export class LruCache<V> {
  readonly #maxWeight: number;
  /** In the order of their turns. */
  readonly #entries = new Map<string, Entry<V>>();
  readonly #loading = new Map<string, Load<V>>();
  #weight = 0;
  #hits = 0;
  #misses = 0;

  readonly #leastEntries: number;

  /**
   * @param maxWeight maximum weight of all entries together; a single heavier value is not kept either
   * @param leastEntries number of entries that stay, whatever their weight; default 0
   */
  constructor(maxWeight: number, leastEntries = 0) {
    this.#maxWeight = maxWeight;
    this.#leastEntries = leastEntries;
  }

  /** Weight of all entries together. */
  get weight(): number {
    return this.#weight;
  }

  /** Maximum weight of all entries together. */
  get maxWeight(): number {
    return this.#maxWeight;
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  /** Counts of the cache: its lookups since it was made, and its content now. */
  get counts(): CacheCounts {
    return {
      ...{ entries: this.size, bytes: this.#weight, maxBytes: this.#maxWeight },
      ...{ hits: this.#hits, misses: this.#misses },
    };
  }

  /** Returns the value if the cache has it; never loads. */
  peek(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#misses++;
      return undefined;
    }
    this.#hits++;
    entry.isUsed = true;
    return entry.value;
  }

  /** Returns the value, and loads it if the cache does not have it. Rejects as `load` does. */
  async get(key: string, load: () => Promise<Weighed<V>>): Promise<V> {
    if (this.#entries.has(key)) return this.peek(key) as V;
    this.#misses++;
    const loading = this.#loading.get(key);
    if (loading !== undefined) return loading.value;
    const slot: Load<V> = { value: load().then((entry) => this.#finish(key, slot, entry)) };
    this.#loading.set(key, slot);
    try {
      return await slot.value;
    } finally {
      if (this.#loading.get(key) === slot) this.#loading.delete(key);
    }
  }

  #finish(key: string, slot: Load<V>, entry: Weighed<V>): V {
    if (this.#loading.get(key) === slot) this.set(key, entry.value, entry.weight);
    return entry.value;
  }

  /** Replaces the value of a key, also one that is being loaded. */
  set(key: string, value: V, weight: number): void {
    this.delete(key);
    if (weight > this.#maxWeight && this.#leastEntries === 0) return;
    this.#entries.set(key, { value, weight, isUsed: false });
    this.#weight += weight;
    let chances = 0;
    // A used entry gets another turn, after all others.
    for (const [oldestKey, oldest] of this.#entries) {
      if (this.#weight <= this.#maxWeight || this.#entries.size <= this.#leastEntries) break;
      if (oldestKey === key) continue;
      this.#entries.delete(oldestKey);
      if (oldest.isUsed && chances++ < MAX_CHANCES) {
        oldest.isUsed = false;
        this.#entries.set(oldestKey, oldest);
      } else {
        this.#weight -= oldest.weight;
      }
    }
  }

  delete(key: string): void {
    this.#loading.delete(key);
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
  }

  clear(): void {
    this.#entries.clear();
    this.#loading.clear();
    this.#weight = 0;
  }
}
