import { testIndexKind } from "../../support/indexInterop.js";

testIndexKind("ZONEMAP");
