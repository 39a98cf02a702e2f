/**
 * The inspector: a handler that serves a page for looking at tables, and what the page asks for.
 *
 *     import { inspectorHandler } from "tiltyard/inspector";
 *     import { toNodeListener } from "tiltyard/rest";
 *
 *     createServer(toNodeListener(inspectorHandler(ns))).listen(8080, "127.0.0.1");
 *
 * @module tiltyard/inspector
 */

export { type InspectorHandler, type InspectorOptions, inspectorHandler } from "./inspector/handler.js";
export type { Principal } from "./namespace/request.js";
