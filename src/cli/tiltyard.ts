#!/usr/bin/env node
/** The command `tiltyard`. It loads its program after the cache for compiled code is on. */

import { keepCompiledCode } from "./compileCache.js";

keepCompiledCode();
const { main } = await import("./main.js");
await main();
