/** BITMAP indexes of both engines: see support/indexInterop. */

import { testIndexKind } from "../../support/indexInterop.js";

testIndexKind("BITMAP");
