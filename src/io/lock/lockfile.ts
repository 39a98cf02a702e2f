/** Loads proper-lockfile so that a program's own signal handlers keep working (signalOrder.ts). */

import { putNewListenersFirst } from "./signalOrder.js";

// This import follows signalOrder.js, which records the earlier listeners.

import lockfile from "proper-lockfile";

putNewListenersFirst();

export default lockfile;
