/** All cases, in the order they are run and shown. */

import type { BenchCase } from "./case.js";
import { ablationCases } from "./cases/ablation.js";
import { aggregateCases } from "./cases/aggregate.js";
import { backfillCases } from "./cases/backfill.js";
import { branchCases } from "./cases/branch.js";
import { catalogCases } from "./cases/catalog.js";
import { changeCases } from "./cases/change.js";
import { commitCases } from "./cases/commit.js";
import { dropInCases } from "./cases/dropIn.js";
import { eventLoopCases } from "./cases/eventLoop.js";
import { freshQueryCases } from "./cases/freshQuery.js";
import { largeTextCases } from "./cases/largeTexts.js";
import { mergeCases } from "./cases/merge.js";
import { objectCases } from "./cases/objects.js";
import { openCases } from "./cases/open.js";
import { peerCases } from "./cases/peers.js";
import { processCases } from "./cases/process.js";
import { queryCases } from "./cases/query.js";
import { readCases } from "./cases/read.js";
import { restCases } from "./cases/rest.js";
import { rewriteCases } from "./cases/rewrite.js";
import { indexCases } from "./cases/scalarIndex.js";
import { takeCases } from "./cases/take.js";
import { textCases } from "./cases/textIndex.js";
import { threadCases } from "./cases/threads.js";
import { upkeepCases } from "./cases/upkeep.js";
import { vectorIndexCases } from "./cases/vectorIndex.js";
import { vectorSearchCases } from "./cases/vectorSearch.js";
import { writeCases } from "./cases/write.js";

export const CASES: readonly BenchCase[] = [
  ...writeCases,
  ...changeCases,
  ...rewriteCases,
  ...mergeCases,
  ...upkeepCases,
  ...backfillCases,
  ...readCases,
  ...largeTextCases,
  ...objectCases,
  ...queryCases,
  ...aggregateCases,
  ...indexCases,
  ...vectorSearchCases,
  ...vectorIndexCases,
  ...peerCases,
  ...textCases,
  ...threadCases,
  ...eventLoopCases,
  ...takeCases,
  ...openCases,
  ...commitCases,
  ...catalogCases,
  ...branchCases,
  ...dropInCases,
  ...restCases,
  ...processCases,
  ...freshQueryCases,
  ...ablationCases,
];

/** @throws Error where there is none of the name */
export function caseNamed(name: string): BenchCase {
  const match = CASES.find((candidate) => candidate.name === name);
  if (match === undefined) throw new Error(`there is no case ${JSON.stringify(name)}`);
  return match;
}
