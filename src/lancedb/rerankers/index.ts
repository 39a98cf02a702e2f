/** Rerankers of hybrid searches. */

export * from "./rrf.js";
