import { hostileTexts } from "../../support/corpora.js";
import { runsOf } from "../../support/effort.js";
import { testCorpus } from "../../support/textInterop.js";

testCorpus(
  {
    name: "many scripts",
    texts: hostileTexts(700),
    parameters: { stem: false },
    others: { baseTokenizer: "raw", stem: false, removeStopWords: false },
  },
  runsOf("TEXT_ROUNDS", 32),
);
