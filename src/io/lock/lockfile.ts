/**
 * proper-lockfile, loaded so that a program's own handlers of signals go on to work as they did
 * (signalOrder.ts).
 */

import { putNewListenersFirst } from "./signalOrder.js";

// After the module above, which has to see which listeners there are without it.

import lockfile from "proper-lockfile";

putNewListenersFirst();

export default lockfile;
