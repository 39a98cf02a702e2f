/**
 * Counts of requests to the storage of databases, by operation and scheme, under the names that LanceDB has.
 * One recorder serves the process. It counts nothing until it is installed.
 */

import { performance } from "../../async/timers.js";

/** Kind, unit and description of a metric. */
export interface MetricDescription {
  /** Name of the metric. */
  name: string;
  /** `counter`, `gauge` or `histogram`. */
  kind: string;
  /** Unit of the values. Empty: a number of things. */
  unit?: string;
  /** Sentence about the metric. */
  description: string;
}

/** Number of samples up to a bound. */
export interface MetricBucket {
  /** Inclusive bound, or `+Inf`. */
  le: string;
  /** Number of samples of at most that value. */
  cumulativeCount: number;
}

/** Current value of a metric for one set of attributes. */
export interface MetricPoint {
  /** Name of the metric. */
  name: string;
  /** `counter`, `gauge` or `histogram`. */
  kind: string;
  /** Operation and scheme. */
  attributes: Record<string, string>;
  /** Value of a counter or gauge. */
  value?: number;
  /** Buckets of a histogram, in ascending order. */
  buckets?: Array<MetricBucket>;
  /** Number of samples of a histogram. */
  count?: number;
  /** Sum of the samples of a histogram. */
  sum?: number;
}

const REQUESTS = "lance_object_store_requests_total";
const IN_FLIGHT = "lance_object_store_in_flight_requests";
const DURATION = "lance_object_store_request_duration_seconds";
const BYTES = "lance_object_store_request_bytes_total";
const ERRORS = "lance_object_store_errors_total";

const CATALOG: readonly Required<MetricDescription>[] = [
  { name: REQUESTS, kind: "counter", unit: "", description: "Number of requests to the storage." },
  { name: IN_FLIGHT, kind: "gauge", unit: "", description: "Number of requests that have not ended." },
  { name: DURATION, kind: "histogram", unit: "s", description: "Duration of requests in seconds." },
  { name: BYTES, kind: "counter", unit: "B", description: "Number of bytes that requests read or wrote." },
  { name: ERRORS, kind: "counter", unit: "", description: "Number of requests that failed." },
];

/** Inclusive bounds of the buckets of durations, in seconds. */
const BOUNDS = [
  ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30],
  ...[45, 60, 90, 120, 150, 180, 240, 300],
];

/** Counts of one operation. */
class OperationCounts {
  requests = 0;
  inFlight = 0;
  bytes = 0;
  errors = 0;
  seconds = 0;
  /** Number of durations in each bucket; the last one has those beyond all bounds. */
  readonly buckets = new Float64Array(BOUNDS.length + 1);
}

let isInstalled = false;
const countsOf = new Map<string, OperationCounts>();

/** Begins to count. */
export const installRecorder = (): void => {
  isInstalled = true;
};

/** True if the recorder counts. */
export const isRecording = (): boolean => isInstalled;

/** Counts one request, and returns its answer. */
export async function recorded<Answer>(
  operation: string,
  request: () => Promise<Answer>,
  bytesOf: (answer: Answer) => number = () => 0,
): Promise<Answer> {
  let counts = countsOf.get(operation);
  if (counts === undefined) {
    counts = new OperationCounts();
    countsOf.set(operation, counts);
  }
  const beganMs = performance.now();
  counts.requests++;
  counts.inFlight++;
  try {
    const answer = await request();
    counts.bytes += bytesOf(answer);
    return answer;
  } catch (error) {
    counts.errors++;
    throw error;
  } finally {
    counts.inFlight--;
    const seconds = (performance.now() - beganMs) / 1000;
    counts.seconds += seconds;
    const bucket = BOUNDS.findIndex((bound) => seconds <= bound);
    const index = bucket < 0 ? BOUNDS.length : bucket;
    counts.buckets[index] = (counts.buckets[index] as number) + 1;
  }
}

/** Returns the metrics. Empty until {@link installRecorder} is called. */
export const lancedbMetricsCatalog = (): Array<MetricDescription> =>
  isInstalled ? CATALOG.map((description) => ({ ...description })) : [];

/** Returns the current values of all metrics. */
export function snapshotLancedbMetrics(): Array<MetricPoint> {
  return [...countsOf].flatMap(([operation, counts]) => {
    const attributes = () => ({ base: "file", operation });
    const values: [string, string, number][] = [
      [REQUESTS, "counter", counts.requests],
      [IN_FLIGHT, "gauge", counts.inFlight],
      [BYTES, "counter", counts.bytes],
      [ERRORS, "counter", counts.errors],
    ];
    let cumulativeCount = 0;
    const buckets = [...counts.buckets].map((count, index) => {
      cumulativeCount += count;
      return { le: index < BOUNDS.length ? String(BOUNDS[index]) : "+Inf", cumulativeCount };
    });
    return [
      ...values.map(([name, kind, value]): MetricPoint => ({ name, kind, attributes: attributes(), value })),
      {
        ...{ name: DURATION, kind: "histogram", attributes: attributes(), buckets },
        ...{ count: cumulativeCount, sum: counts.seconds },
      },
    ];
  });
}
