import { testIndexKind } from "../../support/indexInterop.js";

testIndexKind("FM");
