/** The partitions that several vectors probe: each has its turn once for all vectors that probe it, or a few times. */

/** A vector that probes partitions. */
interface ProbingVector {
  /** The partitions that it may probe, the nearest first. */
  readonly order: Uint32Array;
  /** Rows that were offered to it so far. */
  readonly offered: number;
}

interface Probes {
  /** Partitions that each vector probes. */
  readonly leastProbes: number;
  /** Partitions that it probes where fewer rows than wanted were offered to it. */
  readonly mostProbes: number;
  readonly wantedRows: number;
}

/** Partitions one after the other, with the vectors that probe them then. */
export function* probedPartitions<Own extends ProbingVector>(
  vectors: readonly Own[],
  { leastProbes, mostProbes, wantedRows }: Probes,
): Generator<[partition: number, vectors: Own[]], void, undefined> {
  // Callers may ask for any number.
  const end = Math.min(Math.max(leastProbes, mostProbes), vectors[0]?.order.length ?? 0);
  for (let probe = 0; probe < end; ) {
    // The nearest partition of each first: its rows tell which of the others are too far away. Where what was offered tells
    // how many are probed, each vector probes them in its own order, as it would if it were alone.
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
