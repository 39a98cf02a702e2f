/** Metrics of the storage for OpenTelemetry. */

import type { MeterProvider, MetricOptions, ObservableCallback } from "@opentelemetry/api";
import { connect, instrumentLanceDbMetrics } from "tiltyard/lancedb";
import { expect, it } from "vitest";
import { lancedbMetricsCatalog, snapshotLancedbMetrics } from "../../src/lancedb/native.js";
import { makeTempDir } from "../support/tempDir.js";

/** A provider that keeps its instruments. */
function keptInstruments() {
  const instruments = new Map<string, { options: MetricOptions | undefined; callback: ObservableCallback }>();
  const create = (name: string, options?: MetricOptions) => ({
    addCallback: (callback: ObservableCallback) => void instruments.set(name, { options, callback }),
  });
  const meter = { createObservableCounter: create, createObservableGauge: create };
  const provider = { getMeter: () => meter } as unknown as MeterProvider;
  const read = (name: string) => {
    const points: { value: number; attributes: Record<string, unknown> }[] = [];
    const observe = (value: number, attributes = {}) => void points.push({ value, attributes });
    instruments.get(name)?.callback({ observe } as never);
    return points;
  };
  return { provider, instruments, read };
}

it("counts requests by operation once the program asks for it", async () => {
  expect(lancedbMetricsCatalog()).toEqual([]);
  expect(instrumentLanceDbMetrics()).toBe(false);
  const { provider, instruments, read } = keptInstruments();
  expect(instrumentLanceDbMetrics(provider)).toBe(true);
  const db = await connect(await makeTempDir());
  const table = await db.createTable("t", [{ id: 1 }]);
  expect(await table.countRows()).toBe(1);
  const requests = read("lance_object_store_requests_total");
  expect(requests.map(({ attributes }) => attributes.operation)).toContain("put");
  expect(requests.every(({ attributes, value }) => attributes.base === "file" && value > 0)).toBe(true);
  expect(read("lance_object_store_in_flight_requests").every(({ value }) => value === 0)).toBe(true);
  const sum = instruments.get("lance_object_store_request_duration_seconds_sum");
  expect(sum?.options?.unit).toBe("s");
  const last = read("lance_object_store_request_duration_seconds_bucket").filter(
    ({ attributes }) => attributes.le === "+Inf",
  );
  const count = read("lance_object_store_request_duration_seconds_count");
  expect(last.map(({ value }) => value)).toEqual(count.map(({ value }) => value));
  expect(snapshotLancedbMetrics().length).toBeGreaterThan(0);
  // A second call makes no further instruments.
  const second = keptInstruments();
  expect(instrumentLanceDbMetrics(second.provider)).toBe(true);
  expect(second.instruments.size).toBe(0);
  db.close();
});
