/** Searches of source code. */

import { sourceParts } from "../../support/corpora.js";
import { testCorpus } from "../../support/textInterop.js";

testCorpus(
  {
    name: "source code",
    texts: sourceParts(700),
    parameters: { baseTokenizer: "whitespace", stem: false, removeStopWords: false, maxTokenLength: 30 },
    others: { lowerCase: false, stem: false, removeStopWords: false },
  },
  8,
);
