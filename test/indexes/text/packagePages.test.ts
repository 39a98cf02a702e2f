import { packagePages } from "../../support/corpora.js";
import { runsOf } from "../../support/effort.js";
import { testCorpus } from "../../support/textInterop.js";

testCorpus(
  {
    name: "pages of packages",
    texts: packagePages(700),
    parameters: {},
    others: {
      baseTokenizer: "ngram",
      minNgramLength: 2,
      maxNgramLength: 3,
      stem: false,
      removeStopWords: false,
    },
  },
  runsOf("TEXT_ROUNDS", 24),
);
