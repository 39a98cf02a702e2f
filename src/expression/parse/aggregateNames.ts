/** Names of the aggregate functions. */

/** Names of aggregate functions that have several. */
export const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ["mean", "avg"],
  ["stddev", "stddev_samp"],
  ["variance", "var_samp"],
  ["approx_distinct", "approx_count_distinct"],
  ["first_value", "first"],
  ["last_value", "last"],
  ["percentile_cont", "quantile_cont"],
]);

/** Names that call an aggregate function. */
export const AGGREGATES: ReadonlySet<string> = new Set([
  ...["count", "approx_count_distinct", "sum", "avg", "min", "max", "first", "last", "any_value"],
  ...["stddev_samp", "stddev_pop", "var_samp", "var_pop", "median", "quantile_cont"],
  ...SPELLINGS.keys(),
]);
