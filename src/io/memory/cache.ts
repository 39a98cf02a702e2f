/**
 * A cache bounded in bytes, or in entries that weigh 1 each, that drops entries not used for long. An entry
 * that was used since its turn to go came, or since it was put there, gets a second chance: so a use only
 * leaves a mark, where exact order would have to move the entry each time. Of very many that were used, some
 * go without one, so that no call takes long. What always holds:
 *
 * - Callers who ask for the same key at the same time share one load.
 * - A failed load is not remembered.
 * - What was deleted stays deleted: a load under way at the time is handed to its callers but not kept.
 *
 * The cache does not notice changes: keys must name what cannot change, or values must tell what they were
 * made of, so that the caller can compare (files by their identity).
 */

/** What a load hands to the cache. */
export interface Weighed<V> {
  readonly value: V;
  /** Bytes the value keeps alive, about. */
  readonly weight: number;
}

/** Most second chances that are given at once. */
const MAX_CHANCES = 256;

interface Entry<V> extends Weighed<V> {
  /** True if it gets a second chance. */
  isUsed: boolean;
}

interface Load<V> {
  readonly value: Promise<V>;
}

export class LruCache<V> {
  readonly #maxWeight: number;
  /** In the order in which their turns to go come. */
  readonly #entries = new Map<string, Entry<V>>();
  readonly #loading = new Map<string, Load<V>>();
  #weight = 0;

  readonly #leastEntries: number;

  /**
   * @param maxWeight Bytes all entries may weigh together; a heavier single value is not kept, unless
   *   `leastEntries` keeps it
   * @param leastEntries number of entries that are kept however heavy they are; default none
   */
  constructor(maxWeight: number, leastEntries = 0) {
    this.#maxWeight = maxWeight;
    this.#leastEntries = leastEntries;
  }

  /** Bytes all entries weigh together. */
  get weight(): number {
    return this.#weight;
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value if it is there, without loading. */
  peek(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.isUsed = true;
    return entry.value;
  }

  /** The value, loaded if it is not there. Rejects as `load` does. */
  async get(key: string, load: () => Promise<Weighed<V>>): Promise<V> {
    if (this.#entries.has(key)) return this.peek(key) as V;
    const underWay = this.#loading.get(key);
    if (underWay !== undefined) return underWay.value;
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

  /** Puts a value in place of what is there or being loaded. */
  set(key: string, value: V, weight: number): void {
    this.delete(key);
    if (weight > this.#maxWeight && this.#leastEntries === 0) return;
    this.#entries.set(key, { value, weight, isUsed: false });
    this.#weight += weight;
    let chances = 0;
    // Those that get a second chance come up once more, behind all others.
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
