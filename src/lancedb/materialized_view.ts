/** Materialized views. */

export {};
