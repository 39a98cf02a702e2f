/** Headers of requests to a server. */

export {};
