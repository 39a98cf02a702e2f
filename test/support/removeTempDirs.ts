/**
 * Removes the directories of each test file after its tests. It is a setup file because those run for every
 * test file; a module that several files import runs once.
 */

import { afterAll } from "vitest";
import { removeTempDirs } from "./tempDir.js";

afterAll(removeTempDirs);
