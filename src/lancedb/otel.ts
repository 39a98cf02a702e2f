/** Metrics for OpenTelemetry. */

export {};
