/**
 * Order in which several query vectors probe partitions: each partition is visited once, or a few times, for
 * all of them.
 */

/** A query vector. */
interface ProbingVector {
  /** Partitions to probe, nearest first. */
  readonly order: Uint32Array;
  /** Number of rows offered so far. */
  readonly offered: number;
}

interface Probes {
  /** Minimum number of partitions to probe. */
  readonly leastProbes: number;
  /** Maximum number of partitions to probe while rows are missing. */
  readonly mostProbes: number;
  readonly wantedRows: number;
}

/** Returns the partitions that each vector probes in any case, the nearest of all vectors first. */
export function certainProbes(vectors: readonly ProbingVector[], leastProbes: number): number[] {
  const partitions: number[] = [];
  const end = Math.min(leastProbes, vectors[0]?.order.length ?? 0);
  for (let probe = 0; probe < end; probe++) for (const { order } of vectors) partitions.push(order[probe]);
  return partitions;
}

/** Yields each partition with the query vectors that probe it. */
export function* probedPartitions<Own extends ProbingVector>(
  vectors: readonly Own[],
  { leastProbes, mostProbes, wantedRows }: Probes,
): Generator<[partition: number, vectors: Own[]]> {
  // Callers may ask for more partitions than exist.
  const end = Math.min(Math.max(leastProbes, mostProbes), vectors[0]?.order.length ?? 0);
  for (let probe = 0; probe < end; ) {
    // The nearest partition comes first, since its rows exclude others. If the rows offered decide how many
    // partitions a vector probes, each vector keeps its order, as in a search of its own.
    const next = probe === 0 || leastProbes < mostProbes ? probe + 1 : end;
    const going = probe < leastProbes ? vectors : vectors.filter(({ offered }) => offered < wantedRows);
    const probing = new Map<number, Own[]>();
    for (; probe < next; probe++) {
      for (const vector of going) {
        const partition = vector.order[probe];
        const others = probing.get(partition);
        if (others === undefined) probing.set(partition, [vector]);
        else others.push(vector);
      }
    }
    if (probing.size === 0) return;
    yield* probing;
  }
}
