/**
 * The reference as a program would use it, with the apache-arrow release it accepts: for benchmarks and examples,
 * where the oracle's byte-exact detours would distort what is measured.
 */

export {
  BooleanQuery,
  BoostQuery,
  connect,
  connectNamespace,
  Index,
  MatchQuery,
  MultiMatchQuery,
  Occur,
  Operator,
  PhraseQuery,
  rerankers,
} from "@lancedb/lancedb";
export * as arrow from "apache-arrow";
