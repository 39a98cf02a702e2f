/** Rerankers of searches by vector and text. */

import type { RecordBatch } from "apache-arrow";

export { RRFReranker } from "./rrf.js";

/** Orders the rows of a search by vector and text. */
export interface Reranker {
  /**
   * Returns the rows of both searches in one order, with the column `_relevance_score`.
   * @param query words that were searched; the kind of the query if it was an object
   * @param vecResults rows of the vector search, with `_distance` from 0 to 1 and `_rowid`
   * @param ftsResults rows of the text search, with `_score` from 0 to 1 and `_rowid`
   */
  rerankHybrid(query: string, vecResults: RecordBatch, ftsResults: RecordBatch): Promise<RecordBatch>;
}
