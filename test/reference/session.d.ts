/** The reference as a program would use it, with the apache-arrow release it accepts. */

export {
  BooleanQuery,
  BoostQuery,
  type Connection,
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
  type Table,
  tokenize,
  VectorColumnOptions,
} from "@lancedb/lancedb";
export * as arrow from "apache-arrow";
