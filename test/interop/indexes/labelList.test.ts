import { testIndexKind } from "../../support/indexInterop.js";

testIndexKind("LABEL_LIST");
