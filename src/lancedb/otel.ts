/** Metrics for OpenTelemetry. */

import type { Meter, MeterProvider, ObservableResult } from "@opentelemetry/api";
import {
  installRecorder,
  lancedbMetricsCatalog,
  type MetricDescription,
  type MetricPoint,
  snapshotLancedbMetrics,
} from "./metrics/recorder.js";

/** Name under which the packages of OpenTelemetry's API keep their global objects. */
const GLOBALS = Symbol.for("opentelemetry.js.api.1");

let hasInstruments = false;

/**
 * Registers the metrics of the storage as observable instruments, and begins to count. A histogram becomes
 * three counters: buckets with the attribute `le`, their count and their sum. Databases that are opened later
 * are counted.
 * @param meterProvider provider of the instruments. Default: the global one of `@opentelemetry/api`
 * @returns true if the instruments are registered; false without a provider
 */
export function instrumentLanceDbMetrics(meterProvider?: MeterProvider): boolean {
  const provider = meterProvider ?? globalProvider();
  if (provider === undefined) return false;
  installRecorder();
  if (hasInstruments) return true;
  const meter = provider.getMeter("lancedb");
  for (const description of lancedbMetricsCatalog()) observe(meter, description);
  hasInstruments = true;
  return true;
}

function globalProvider(): MeterProvider | undefined {
  const globals = globalThis as unknown as Record<symbol, { readonly metrics?: MeterProvider } | undefined>;
  return globals[GLOBALS]?.metrics;
}

function observe(meter: Meter, { name, kind, description, unit = "" }: MetricDescription): void {
  const observed =
    (report: (point: MetricPoint, result: ObservableResult) => void) => (result: ObservableResult) => {
      for (const point of snapshotLancedbMetrics()) if (point.name === name) report(point, result);
    };
  const reportValue = observed(({ value = 0, attributes }, result) => result.observe(value, attributes));
  if (kind === "gauge") {
    meter.createObservableGauge(name, { description, unit }).addCallback(reportValue);
    return;
  }
  if (kind === "counter") {
    meter.createObservableCounter(name, { description, unit }).addCallback(reportValue);
    return;
  }
  const counter = (suffix: string, what: string, unitOfValue: string) =>
    meter.createObservableCounter(`${name}_${suffix}`, {
      description: `${description} (${what})`,
      unit: unitOfValue,
    });
  counter("bucket", "cumulative buckets", "").addCallback(
    observed(({ buckets = [], attributes }, result) => {
      for (const { le, cumulativeCount } of buckets) result.observe(cumulativeCount, { ...attributes, le });
    }),
  );
  counter("count", "count", "").addCallback(
    observed(({ count = 0, attributes }, result) => result.observe(count, attributes)),
  );
  counter("sum", "sum", unit).addCallback(
    observed(({ sum = 0, attributes }, result) => result.observe(sum, attributes)),
  );
}
