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
  makeArrowTable,
  Occur,
  Operator,
  PhraseQuery,
  permutationBuilder,
  rerankers,
  tokenize,
  VectorColumnOptions,
} from "@lancedb/lancedb";
export * as arrow from "apache-arrow";
