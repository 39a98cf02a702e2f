/** FTS: full-text index. The analyzer and the postings load on first use. */

import { lazyModule } from "../../async/lazy.js";
import { InvertedIndexDetails } from "../../format/indexDetails.js";
import type { IndexKind } from "../kind.js";
import { textParameters } from "./parameters.js";

const files = lazyModule(() => import("./ftsFiles.js"));
const opened = lazyModule(() => import("./textIndex.js"));

export const FTS: IndexKind = {
  name: "FTS",
  typeUrl: "/lance.table.InvertedIndexDetails",
  indexVersion: 2,
  maxIndexVersion: 3,
  storesAddresses: false,
  rowTime: 8,
  // LanceDB 0.39 finds rows twice if an index has several segments.
  isUndivided: true,
  refusal({ type, children }) {
    const item = type.kind === "list" ? children[0]?.type : undefined;
    return type.kind === "string" || item?.kind === "string" ? null : "holds no text";
  },
  versionOf: (parameters) => (textParameters(parameters).blockSize === 256 ? 3 : 2),
  details(settings) {
    const { customStopWords, language, ...parameters } = textParameters(settings);
    return InvertedIndexDetails.encode(
      InvertedIndexDetails.create({
        ...parameters,
        language: JSON.stringify(language),
        maxTokenLength: parameters.maxTokenLength ?? undefined,
      }),
    );
  },
  checkParameters: async (parameters) => (await files.get()).checkTextParameters(parameters),
  build: async (rows, target) => (await files.get()).buildTextIndex(rows, target),
  merge: async (old, rows, target) => (await files.get()).mergeTextIndexes(old, rows, target),
  open: async (indexFiles) => (await opened.get()).openTextIndex(indexFiles),
};
