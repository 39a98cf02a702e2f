import { sourceParts } from "../../support/corpora.js";
import { runsOf } from "../../support/effort.js";
import { testCorpus } from "../../support/textInterop.js";

testCorpus(
  {
    name: "source code",
    texts: sourceParts(700),
    parameters: { baseTokenizer: "whitespace", stem: false, removeStopWords: false, maxTokenLength: 30 },
    others: { lowerCase: false, stem: false, removeStopWords: false },
  },
  runsOf("TEXT_ROUNDS", 24),
);
