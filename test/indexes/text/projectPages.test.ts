import { projectPages } from "../../support/corpora.js";
import { runsOf } from "../../support/effort.js";
import { testCorpus } from "../../support/textInterop.js";

testCorpus(
  {
    name: "pages of the project",
    texts: projectPages(700),
    parameters: {},
    others: { stem: false, removeStopWords: false, asciiFolding: false },
  },
  runsOf("TEXT_ROUNDS", 32),
);
