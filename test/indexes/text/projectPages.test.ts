/** Searches of pages that people wrote of this project. */

import { projectPages } from "../../support/corpora.js";
import { testCorpus } from "../../support/textInterop.js";

testCorpus(
  {
    name: "pages of the project",
    texts: projectPages(700),
    parameters: {},
    others: { stem: false, removeStopWords: false, asciiFolding: false },
  },
  8,
);
